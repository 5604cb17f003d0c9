from __future__ import annotations

from types import SimpleNamespace

import pytest

from holdfast.config.facts.extractors import EXTRACTORS, Extractor
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.network_fields import check_network
from holdfast.errors import Problem
from holdfast.registry import Registry

from ..texts import config, edited, line_of, on_lines

RESIZER = "image_resizer { fixed_shape_resizer { height: 320 width: 320 } }"
EXTRACTOR = '"ssd_mobilenet_v2_fpn_keras"'


def judged(*replacements: tuple[str, str]) -> list[Problem]:
    text = edited(*replacements)
    return on_lines(list(check_network(config(text=text))), text)


def resized(resizer: str, batch_size: int = 8) -> list[Problem]:
    return judged(
        (RESIZER, f"image_resizer {{ {resizer} }}"),
        ("batch_size: 8", f"batch_size: {batch_size}"),
    )


def test_a_network_that_fits_together_gives_nothing_to_say():
    assert judged() == []


def test_without_a_known_detector_there_is_nothing_to_judge():
    assert list(check_network(TrainEvalPipelineConfig())) == []
    text = 'model { experimental_model { name: "mine" } }'
    assert list(check_network(config(text=text))) == []


# Classes.


def test_no_or_fewer_classes_are_refused():
    for number in ("0", "-1"):
        (problem,) = judged(("num_classes: 3", f"num_classes: {number}"))
        assert (problem.severity, problem.line) == ("error", 3)
        assert problem.path == "model.ssd.num_classes"
        assert problem.message == f"{number} classes cannot be learned"
    assert judged(("num_classes: 3", "num_classes: 1")) == []


# The name of the extractor.


def test_an_unknown_extractor_is_refused_with_the_nearest_names():
    (problem,) = judged((EXTRACTOR, '"ssd_mobilenet_v2_fpn_kears"'))
    assert problem.severity == "error"
    assert problem.path == "model.ssd.feature_extractor.type"
    assert problem.line == line_of(EXTRACTOR)
    assert problem.message == "there is no extractor 'ssd_mobilenet_v2_fpn_kears'"
    assert problem.fix.startswith("did you mean ssd_mobilenet_v2_fpn_keras or ")


def test_an_extractor_like_no_other_is_refused_with_a_place_to_look():
    (problem,) = judged((EXTRACTOR, '"yolo"'))
    assert problem.message == "there is no extractor 'yolo'"
    assert problem.fix


def test_an_extractor_of_another_architecture_is_refused():
    (problem,) = judged((EXTRACTOR, '"faster_rcnn_resnet50_keras"'))
    assert problem.severity == "error"
    assert problem.message == "'faster_rcnn_resnet50_keras' belongs to faster_rcnn, not to ssd"


def test_a_network_that_holdfast_does_not_build_is_refused_with_its_substitute():
    (problem,) = judged(
        (EXTRACTOR, '"ssd_mobilenet_v2_mnasfpn"'),
        (RESIZER, "image_resizer { fixed_shape_resizer { height: 384 width: 384 } }"),
        ("        min_level: 3\n        max_level: 7\n", "min_level: 3 max_level: 6\n"),
    )
    assert problem.severity == "error"
    assert problem.message == "Holdfast does not build 'ssd_mobilenet_v2_mnasfpn'"
    assert problem.fix == "the nearest it builds is 'ssd_mobilenet_v2_fpn'"


# Anchors.


def test_anchors_for_another_number_of_feature_maps_are_refused():
    text = edited(("        max_level: 7\n", "        max_level: 6\n"))
    (problem,) = on_lines(list(check_network(config(text=text))), text)
    assert (problem.severity, problem.path) == ("error", "model.ssd.anchor_generator")
    assert problem.line == line_of("anchor_generator {\n      multi", text)
    assert problem.message == (
        "the network gives 5 feature maps (levels 3 to 7), the anchors are for 4"
    )
    assert problem.fix == "make the anchor generator's layers 5"


def test_anchors_on_other_levels_train_in_wrong_places_which_is_a_warning():
    (problem,) = judged(
        ("        min_level: 3\n        max_level: 7\n", "min_level: 2 max_level: 6\n")
    )
    assert problem.severity == "warning"
    assert "has stride 8, the anchors have 4 x 4" in problem.message
    assert problem.fix == "use stride 8 (level 3)"


def test_anchors_of_two_stage_detectors_are_judged_too():
    text = (
        "model { faster_rcnn { num_classes: 3\n"
        " feature_extractor { type: 'faster_rcnn_resnet50_keras' }\n"
        " first_stage_anchor_generator { grid_anchor_generator {\n"
        "  scales: 1 aspect_ratios: 1 height_stride: 16 width_stride: 16 } } } }"
    )
    assert list(check_network(config(text=text))) == []
    wrong = edited(("height_stride: 16", "height_stride: 8"), text=text)
    (problem,) = on_lines(list(check_network(config(text=wrong))), wrong)
    assert (problem.severity, problem.line) == ("warning", 3)
    assert problem.path == "model.faster_rcnn.first_stage_anchor_generator"
    assert "has stride 16, the anchors have 8 x 16" in problem.message


def test_a_single_feature_map_is_named_by_its_level():
    text = (
        "model { faster_rcnn { feature_extractor { type: 'faster_rcnn_resnet50_keras' } "
        "first_stage_anchor_generator { multiscale_anchor_generator { aspect_ratios: 1 } } } }"
    )
    (problem,) = check_network(config(text=text))
    assert problem.message == "the network gives 1 feature maps (levels 4), the anchors are for 5"


# The resizer.


def test_images_of_unequal_shape_in_one_batch_are_a_warning():
    keep = "keep_aspect_ratio_resizer { min_dimension: 320 max_dimension: 640 }"
    (problem,) = resized(keep)
    assert (problem.severity, problem.line) == ("warning", line_of(RESIZER))
    assert problem.path == "model.ssd.image_resizer.keep_aspect_ratio_resizer"
    assert problem.message.startswith("a batch of 8 mixes image shapes")
    assert problem.fix == "set pad_to_max_dimension: true, or batch_size: 1"


def test_images_of_unequal_shape_are_fine_one_by_one_or_padded():
    keep = "keep_aspect_ratio_resizer { min_dimension: 320 max_dimension: 640 %s }"
    assert resized(keep % "", batch_size=1) == []
    assert resized(keep % "pad_to_max_dimension: true") == []


def test_the_smallest_batch_that_can_mix_shapes_is_two():
    keep = "keep_aspect_ratio_resizer { min_dimension: 320 max_dimension: 640 }"
    (problem,) = resized(keep, batch_size=2)
    assert problem.message.startswith("a batch of 2 mixes image shapes")


def test_without_a_training_there_is_no_batch_to_mix_shapes():
    text = "model { ssd { image_resizer { keep_aspect_ratio_resizer { } } } }"
    assert list(check_network(config(text=text))) == []


def test_an_unset_batch_size_counts_as_the_default_of_32():
    keep = "image_resizer { keep_aspect_ratio_resizer { } }"
    (problem,) = judged((RESIZER, keep), ("  batch_size: 8\n", ""))
    assert problem.message.startswith("a batch of 32")


def test_a_smallest_side_above_the_largest_is_refused_as_by_the_od_api():
    text = (
        "keep_aspect_ratio_resizer { min_dimension: 640 max_dimension: %d "
        "pad_to_max_dimension: true }"
    )
    (problem,) = resized(text % 320)
    assert problem.severity == "error"
    assert problem.path.endswith("keep_aspect_ratio_resizer.min_dimension")
    assert problem.message == "min_dimension 640 is larger than max_dimension 320"
    assert resized(text % 640) == []


# The size of the input.


def test_a_size_that_the_pyramid_cannot_divide_is_a_warning_with_sizes_that_work():
    (problem,) = resized("fixed_shape_resizer { height: 300 width: 300 }")
    assert (problem.severity, problem.path) == ("warning", "model.ssd.image_resizer")
    assert problem.line == line_of(RESIZER)
    assert problem.message == (
        "an input of 300 gives 19 cells on level 4, and the level above comes to 20: "
        "the OD API cannot add them"
    )
    assert problem.fix == "use 288 or 320"
    for size in (288, 320):
        assert resized(f"fixed_shape_resizer {{ height: {size} width: {size} }}") == []


def test_height_and_width_are_judged_each():
    problems = resized("fixed_shape_resizer { height: 300 width: 500 }")
    assert [each.message.partition(" gives")[0] for each in problems] == [
        "an input of 300",
        "an input of 500",
    ]
    assert len(resized("fixed_shape_resizer { height: 320 width: 500 }")) == 1


def test_padding_to_a_multiple_makes_every_size_work():
    assert (
        judged(
            (RESIZER, "image_resizer { fixed_shape_resizer { height: 300 width: 300 } }"),
            (EXTRACTOR, f"{EXTRACTOR} pad_to_multiple: 32"),
        )
        == []
    )


def test_a_network_without_a_pyramid_takes_any_size():
    generator = "      multiscale_anchor_generator {\n        min_level: 3\n        max_level: 7\n"
    ssd_layers = (
        (EXTRACTOR, '"ssd_mobilenet_v2_keras"'),
        (generator, "      ssd_anchor_generator { num_layers: 6\n"),
        ("        anchor_scale: 4\n", ""),
        ("        scales_per_octave: 2\n", ""),
        (RESIZER, "image_resizer { fixed_shape_resizer { height: 301 width: 301 } }"),
    )
    assert judged(*ssd_layers) == []


def test_an_anchor_generator_without_aspect_ratios_is_refused():
    (problem,) = judged(("aspect_ratios: [1.0, 2.0, 0.5]", ""))
    assert (problem.severity, problem.message) == ("error", "it generates no anchors")
    assert problem.path == "model.ssd.anchor_generator"


def test_mining_under_a_focal_loss_is_refused_as_in_the_od_api():
    miner = "hard_example_miner { } classification_loss"
    (problem,) = judged(("classification_loss", miner))
    assert problem.path == "model.ssd.loss.hard_example_miner"
    sigmoid = ("weighted_sigmoid_focal { gamma: 2.0 alpha: 0.25 }", "weighted_sigmoid { }")
    assert judged(("classification_loss", miner), sigmoid) == []


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backbone of a user's own with levels 4 and 5."""
    monkeypatch.setattr("holdfast.registry._TABLES", {})
    monkeypatch.setattr(EXTRACTORS, "_entries", dict(EXTRACTORS._entries))
    backbones: Registry[object] = Registry("backbone")
    backbones.register("tiny")(
        SimpleNamespace(levels={4: "a", 5: "b"}, levels_of={}, takes={"settings"})
    )
    EXTRACTORS.register("ssd_tiny_fpn")(Extractor("ssd", "tiny", "fpn", "weight_shared", "tf2"))


@pytest.mark.usefixtures("tiny")
def test_levels_that_a_backbone_of_ones_own_lacks_are_an_error():
    problems = judged((EXTRACTOR, '"ssd_tiny_fpn"'))
    assert [each.message for each in problems] == [
        "it takes levels 3 to 5 of the backbone tiny, which has 4 to 5"
    ]
    assert problems[0].fix == "change min_level and max_level"


@pytest.mark.usefixtures("tiny")
def test_a_setting_that_a_backbone_of_ones_own_would_ignore_is_an_error():
    problems = judged((EXTRACTOR, '"ssd_tiny_fpn" depth_multiplier: 0.5'))
    assert problems[-1].path == "model.ssd.feature_extractor.depth_multiplier"
    assert problems[-1].message == "ssd_tiny_fpn does not obey it"


def test_an_unknown_extractor_is_told_of_the_import_option():
    (problem,) = judged((EXTRACTOR, '"ssd_tiny_fpn"'))
    assert "A network of your own needs --import MODULE" in problem.fix
