"""Recipes: the published networks, filled in so that they train."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.checkpoints.legacy.legacy_reader import open_checkpoint
from holdfast.checkpoints.own.own_names import own_names
from holdfast.checkpoints.variable_matching import match
from holdfast.config.check_config import check_config
from holdfast.config.facts.networks import network_of
from holdfast.config.load import load_config
from holdfast.config.recipes.anchor_choices import anchor_choices
from holdfast.config.recipes.box_sides import (
    SMALLEST_SIDE,
    MedianSizes,
    Sides,
    box_at_input,
    judge_box_sides,
)
from holdfast.config.recipes.fill import (
    Filling,
    FittedAnchors,
    Start,
    fill,
    recipe_model,
    trained_by,
)
from holdfast.config.recipes.recipe import Recipe, Trained
from holdfast.config.recipes.recipe_table import RECIPES, find_recipe
from holdfast.config.recipes.schedule import (
    FEWEST_FINE_TUNING_STEPS,
    FEWEST_STEPS,
    MOST_STEPS,
    WantedPace,
    plan_schedule,
)
from holdfast.config.schema.hyperparams import Activation
from holdfast.config.schema.input_reader import InputReader, TFRecordInputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import CheckpointVersion
from holdfast.config.text.encode import to_json
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector
from holdfast.projects.start_weights import predicted_scores

from .protobuf_oracle import oracle_json

PROJECT = Path(__file__).resolve().parent.parent.parent
ZOO = {
    "ssd_mobilenet_v2_320": "tf2/ssd_mobilenet_v2_320x320_coco17_tpu-8",
    "ssd_mobilenet_v2": "tf1/ssd_mobilenet_v2_coco",
    "ssdlite_mobilenet_v2": "tf1/ssdlite_mobilenet_v2_coco",
    "fpnlite_320": "tf2/ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
    "fpnlite_640": "tf2/ssd_mobilenet_v2_fpnlite_640x640_coco17_tpu-8",
    "retinanet_50_640": "tf2/ssd_resnet50_v1_fpn_640x640_coco17_tpu-8",
    "efficientdet_d0": "tf2/ssd_efficientdet_d0_512x512_coco17_tpu-8",
    "efficientdet_d1": "tf2/ssd_efficientdet_d1_640x640_coco17_tpu-8",
    "efficientdet_d2": "tf2/ssd_efficientdet_d2_768x768_coco17_tpu-8",
    "faster_rcnn_resnet50_640": "tf2/faster_rcnn_resnet50_v1_640x640_coco17_tpu-8",
    "faster_rcnn_inception_v2": "tf1/faster_rcnn_inception_v2_coco",
    "mask_rcnn_inception_v2": "tf1/mask_rcnn_inception_v2_coco",
    "mask_rcnn_resnet50": "tf1/mask_rcnn_resnet50_atrous_coco",
    "centernet_resnet50": "tf2/centernet_resnet50_v1_fpn_512x512_kpts_coco17_tpu-8",
    "centernet_mobilenet_v2": "../user_configs/user315",  # the archive's own
}
# The zoo has this network's config with keypoints only, and no detections beyond them.
KEYPOINTS = ("keypoint_estimation_task", "keypoint_label_map_path")
# What a recipe changes on purpose: nothing that a variable's name or shape depends on.
EXTRACTOR = "model.ssd.feature_extractor.conv_hyperparams.batch_norm.decay"
PREDICTOR = "model.ssd.box_predictor.{}_box_predictor.conv_hyperparams.batch_norm.decay"
SHORTER = {EXTRACTOR: 0.97, PREDICTOR.format("weight_shared_convolutional"): 0.97}
OF_TF1 = {
    "model.ssd.feature_extractor.override_base_feature_extractor_hyperparams": True,
    EXTRACTOR: 0.97,
    PREDICTOR.format("convolutional"): 0.97,
    "model.ssd.box_predictor.convolutional_box_predictor.class_prediction_bias_init": -4.6,
    "model.ssd.matcher.argmax_matcher.unmatched_threshold": 0.4,
    "model.ssd.encode_background_as_zeros": True,
    "model.ssd.normalize_loc_loss_by_codesize": True,
    "model.ssd.loss": "{ classification_loss { weighted_sigmoid_focal { alpha: 0.25 gamma: 2.0 } } "
    "localization_loss { weighted_smooth_l1 { } } "
    "classification_weight: 1.0 localization_weight: 1.0 }",
}
TRAINED = {"model.faster_rcnn.feature_extractor.batch_norm_trainable": True}
_MASKS = "model.faster_rcnn.second_stage_box_predictor.mask_rcnn_box_predictor.conv_hyperparams"
LEARNED_AT_ONCE = {
    f"{_MASKS}.initializer": "{ variance_scaling_initializer { factor: 2.0 mode: FAN_IN } }",
}
CHANGED = {
    "ssd_mobilenet_v2_320": {},
    # The zoo's config is of another network than its checkpoint, see the checkpoint's own config.
    "ssd_mobilenet_v2": OF_TF1
    | {
        "model.ssd.feature_extractor.use_depthwise": True,
        "model.ssd.box_predictor.convolutional_box_predictor.kernel_size": 3,
    },
    "ssdlite_mobilenet_v2": OF_TF1,
    "faster_rcnn_resnet50_640": {},
    # From random weights statistics must be learned; from a checkpoint they stay, as published.
    "faster_rcnn_inception_v2": TRAINED,
    "mask_rcnn_inception_v2": TRAINED | LEARNED_AT_ONCE,
    "mask_rcnn_resnet50": TRAINED | LEARNED_AT_ONCE,
    "centernet_resnet50": {},
    "centernet_mobilenet_v2": {"model.center_net.object_center_params.max_box_predictions": 100},
}
every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
SINGLE_STAGE = {
    name: recipe for name, recipe in RECIPES.items() if recipe_model(recipe, 1).ssd is not None
}
every_single_stage = pytest.mark.parametrize("recipe", SINGLE_STAGE.values(), ids=SINGLE_STAGE)
TWO_STAGES = {name: recipe for name, recipe in RECIPES.items() if recipe.stages > 1}


def reader(name: str, **values: object) -> InputReader:
    records = TFRecordInputReader(input_path=(name,))
    return InputReader(label_map_path="map.pbtxt", tf_record_input_reader=records, **values)


def filling(recipe: Recipe, num_images: int = 1000, **changes: object) -> Filling:
    masks = {"load_instance_masks": True} if recipe.stages == 3 else {}
    values = {
        "num_classes": 2,
        "num_images": num_images,
        "most_boxes": 7,
        "schedule": plan_schedule(recipe, num_images, trained=trained_by(changes.get("start"))),
        "train_reader": reader("train.record", **masks),
        "eval_reader": reader("val.record", shuffle=False, num_epochs=1, **masks),
        "start": None,
    }
    return Filling(**(values | changes))


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the filled recipes name."""
    (tmp_path / "map.pbtxt").write_text('item { id: 1 name: "cat" } item { id: 2 name: "dog" }')
    for name in ("train.record", "val.record", "ckpt-0.index"):
        (tmp_path / name).write_bytes(b"something")
    return tmp_path


def written(folder: Path, text: str) -> Path:
    path = folder / "pipeline.config"
    path.write_text(text)
    return path


@every_recipe
def test_a_recipe_is_the_network_of_the_zoo(recipe, corpus):
    published = load_config(
        corpus / "zoo_configs" / f"{ZOO[recipe.name]}.config", CHANGED.get(recipe.name, SHORTER)
    )
    model = published.model
    if model.center_net is not None:
        model = model.replace(center_net=model.center_net.without(*KEYPOINTS))
    assert recipe_model(recipe, num_classes=90) == model


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("ssd_mobilenet_v2_320", "47"),
        ("fpnlite_320", "16"),
    ],
)
def test_a_built_recipe_has_all_variables_of_the_zoos_checkpoint(name, index, corpus):
    detector = build_detector(recipe_model(find_recipe(name), num_classes=90))
    checkpoint = open_checkpoint(corpus / "checkpoint_indexes" / f"checkpoint{index}")
    report = match(detector, checkpoint, "full")
    assert len(report.loaded) == len(checkpoint.shapes) > 300
    assert not report.missing + report.mismatched + report.unused
    own = {each.names[0]: tuple(each.variable.shape) for each in own_names(detector, "full")}
    assert predicted_scores(own) == predicted_scores(checkpoint.shapes) == 90 + 1


@every_recipe
def test_a_filled_recipe_passes_the_check_without_a_warning(recipe, folder):
    report = check_config(written(folder, fill(recipe, filling(recipe))))
    assert report.errors + report.warnings == ()


@every_recipe
def test_protobuf_reads_the_same_in_it(recipe, folder):
    text = fill(recipe, filling(recipe))
    config = load_config(written(folder, text))
    assert oracle_json(text, TrainEvalPipelineConfig) == to_json(config)


@every_recipe
def test_it_trains_as_its_comments_say(recipe, folder):
    text = fill(recipe, filling(recipe))
    train = load_config(written(folder, text)).train_config
    rate = train.optimizer.chosen("optimizer").learning_rate.cosine_decay_learning_rate
    published, batch, own, own_batch = map(
        float,
        re.search(
            r"Published: ([\d.]+) for a batch of (\d+). .*, that is ([\d.]+) for (\d+)",
            text.replace("\n  #", ""),
        ).groups(),
    )
    assert own_batch == train.batch_size
    assert own == rate.learning_rate_base
    power = 0.5 if recipe.published.is_of_adam else 1.0
    assert own == pytest.approx(published * (own_batch / batch) ** power, rel=1e-3)
    epochs = float(re.search(r"About (\d+) epochs of the 1000 training images", text)[1])
    assert epochs == pytest.approx(train.num_steps * train.batch_size / 1000, abs=0.5)
    assert rate.total_steps == train.num_steps


@every_recipe
def test_lines_are_as_long_as_one_can_read(recipe):
    text = fill(recipe, filling(recipe))
    assert max(len(line) for line in text.splitlines() if "http:" not in line) <= 100


@every_recipe
def test_it_names_the_zoos_weights(recipe):
    lines = [line.strip() for line in fill(recipe, filling(recipe)).splitlines()]
    assert "#   --pretrained" in lines
    assert f"# which fetches {recipe.zoo}" in lines
    assert not any(line.startswith("fine_tune_checkpoint") for line in lines)


@every_recipe
def test_it_starts_from_a_checkpoint(recipe, folder):
    start = Start(
        checkpoint="ckpt-0", kind="detection", version=CheckpointVersion.V2, reason="A detector."
    )
    path = written(folder, fill(recipe, filling(recipe, start=start)))
    train = load_config(path).train_config
    assert train.fine_tune_checkpoint == "ckpt-0"
    assert train.fine_tune_checkpoint_type == "detection"
    assert train.fine_tune_checkpoint_version is CheckpointVersion.V2
    assert check_config(path).errors == ()


@every_single_stage
def test_a_detectors_batch_norm_stays_as_it_is_and_a_classifiers_is_trained(recipe, folder):
    def frozen(kind: str) -> bool:
        start = Start(checkpoint="ckpt-0", kind=kind, version=CheckpointVersion.V2, reason="It is.")
        text = fill(recipe, filling(recipe, start=start))
        ssd = load_config(written(folder, text)).model.ssd
        return ssd.freeze_batchnorm or not ssd.feature_extractor.conv_hyperparams.batch_norm.train

    assert frozen("full")
    assert not frozen("classification")


def test_a_resnet_of_keras_is_built_as_keras_trained_it(folder):
    recipe = find_recipe("retinanet_50_640")
    start = Start(
        checkpoint="r.h5",
        kind="classification",
        version=CheckpointVersion.V2,
        reason="Keras.",
        of_keras=True,
    )
    ssd = load_config(written(folder, fill(recipe, filling(recipe, start=start)))).model.ssd
    assert ssd.feature_extractor.conv_hyperparams.activation is Activation.RELU
    assert ssd.feature_extractor.conv_hyperparams.batch_norm.epsilon == pytest.approx(1.001e-5)
    head = ssd.box_predictor.weight_shared_convolutional_box_predictor
    assert head.conv_hyperparams.activation is Activation.RELU_6


@pytest.mark.parametrize(
    "recipe", [*SINGLE_STAGE.values(), *TWO_STAGES.values()], ids=lambda each: each.name
)
def test_fitted_anchors_replace_the_published_ones_and_say_why(recipe, folder):
    *_, generator = anchor_choices(network_of(recipe_model(recipe, 2)).generator)
    anchors = FittedAnchors(generator=generator, reason="They fit.")
    text = fill(recipe, filling(recipe, anchors=anchors))
    assert network_of(load_config(written(folder, text)).model).generator == generator
    assert "# They fit.\n" in text


@every_recipe
def test_crowded_images_get_room_for_all_their_boxes(recipe, folder):
    config = load_config(written(folder, fill(recipe, filling(recipe, most_boxes=130))))
    assert config.train_input_reader.max_number_of_boxes == 130
    assert config.eval_input_reader[0].max_number_of_boxes == 130
    if config.model.center_net is not None:
        assert config.model.center_net.object_center_params.max_box_predictions == 200
    elif recipe.stages == 1:
        suppression = config.model.ssd.post_processing.batch_non_max_suppression
        assert suppression.max_total_detections == suppression.max_detections_per_class == 200
    else:
        after = config.model.faster_rcnn.second_stage_post_processing
        assert after.batch_non_max_suppression.max_detections_per_class == 200
        assert after.batch_non_max_suppression.max_total_detections == 300


@pytest.mark.parametrize("recipe", TWO_STAGES.values(), ids=TWO_STAGES)
@pytest.mark.parametrize("kind", ["full", "classification"])
def test_two_stages_keep_the_statistics_of_any_checkpoint(recipe, kind, folder):
    start = Start(checkpoint="ckpt-0", kind=kind, version=CheckpointVersion.V2, reason="It is.")
    config = load_config(written(folder, fill(recipe, filling(recipe, start=start))))
    assert not config.model.faster_rcnn.feature_extractor.batch_norm_trainable


def test_a_recipe_of_masks_evaluates_them(folder):
    recipe = find_recipe("mask_rcnn_inception_v2")
    config = load_config(written(folder, fill(recipe, filling(recipe))))
    assert config.eval_config.metrics_set == ("coco_detection_metrics", "coco_mask_metrics")


def test_images_that_keep_their_ratio_are_seen_by_the_side_that_limits_them():
    recipe = find_recipe("faster_rcnn_inception_v2")  # 600 to 1024
    wide = MedianSizes(image=Sides(500, 2000), box=Sides(100, 100))
    assert box_at_input(recipe, wide).height == pytest.approx(51.2)
    assert box_at_input(recipe, sizes(100)).height == pytest.approx(60.0)


def test_scores_of_regions_are_counted_in_checkpoints_of_two_stages():
    shapes = {
        "FirstStageBoxPredictor/ClassPredictor/biases": (24,),
        "FirstStageBoxPredictor/BoxEncodingPredictor/biases": (48,),
        "SecondStageBoxPredictor/ClassPredictor/biases": (91,),
        "SecondStageBoxPredictor/BoxEncodingPredictor/biases": (360,),
    }
    assert predicted_scores(shapes) == 91


def test_quotes_and_dollars_in_paths_survive(folder):
    recipe = find_recipe("fpnlite_320")
    name = 'a "b" ${num_steps} $c \\d.record'
    path = written(folder, fill(recipe, filling(recipe, train_reader=reader(name))))
    reading = load_config(path).train_input_reader.tf_record_input_reader
    assert reading.input_path == (name,)


def test_without_held_out_images_there_is_no_evaluation(folder):
    recipe = find_recipe("fpnlite_320")
    config = load_config(written(folder, fill(recipe, filling(recipe, eval_reader=None))))
    assert config.eval_input_reader == ()


@given(
    recipe=st.sampled_from(list(RECIPES.values())),
    num_images=st.integers(1, 1_000_000),
    epochs=st.integers(1, 300),
    trained=st.sampled_from(Trained),
)
def test_a_schedule_suits_any_number_of_images(recipe, num_images, epochs, trained):
    schedule = plan_schedule(recipe, num_images, WantedPace(epochs=epochs), trained=trained)
    assert 1 <= schedule.batch_size <= min(num_images, recipe.batch_size)
    fewest = FEWEST_FINE_TUNING_STEPS if trained is Trained.DETECTOR else FEWEST_STEPS
    assert fewest <= schedule.num_steps <= MOST_STEPS
    assert 0 < schedule.warmup_steps <= schedule.num_steps / 10
    assert 0 < schedule.warmup_learning_rate < schedule.learning_rate
    assert 1 <= schedule.averaged_steps <= schedule.num_steps / 10
    pair = recipe.rate(trained).rate
    ratio = schedule.batch_size / pair.batch_size
    expected = pair.learning_rate * (ratio**0.5 if pair.is_of_adam else ratio)
    assert schedule.learning_rate == pytest.approx(expected)
    if fewest < schedule.num_steps < MOST_STEPS:  # else a bound decides
        steps_an_epoch = num_images / schedule.batch_size
        assert 0 <= schedule.num_steps - epochs * steps_an_epoch < 100 + 1e-6 * schedule.num_steps


@pytest.mark.parametrize("batch_size", [0, -1, 11])
def test_a_batch_that_the_images_cannot_fill_is_refused(batch_size):
    with pytest.raises(HoldfastError, match="10 training images") as caught:
        plan_schedule(find_recipe("fpnlite_320"), 10, WantedPace(batch_size=batch_size))
    assert caught.value.fix == "Choose from 1 to 10."


def test_the_user_may_say_how_many_steps():
    schedule = plan_schedule(find_recipe("fpnlite_320"), 1000, WantedPace(steps=7, epochs=100))
    assert (schedule.num_steps, schedule.warmup_steps) == (7, 0)


def test_no_images_are_refused():
    recipe = find_recipe("fpnlite_320")
    with pytest.raises(HoldfastError, match="no image"):
        plan_schedule(recipe, 0)


def sizes(box: float, image: float = 1000) -> MedianSizes:
    return MedianSizes(image=Sides(image, image), box=Sides(box, box))


@pytest.mark.parametrize(
    ("name", "box", "better"),
    [
        ("fpnlite_320", 20, "fpnlite_640"),  # 6.4 pixels; of the same kind
        ("efficientdet_d0", 13, "efficientdet_d1"),
        ("efficientdet_d0", 11, "efficientdet_d2"),  # d1 would not be enough
        ("ssd_mobilenet_v2_320", 26, "fpnlite_320"),  # 7.8 pixels at 300, 8.3 at 320
        ("fpnlite_320", 11, "efficientdet_d2"),  # fpnlite_640 would not be enough
    ],
)
def test_small_boxes_are_warned_of_with_a_recipe_that_sees_them_larger(name, box, better):
    problem = judge_box_sides(find_recipe(name), sizes(box))
    assert problem is not None
    assert problem.severity == "warning"
    assert problem.fix.startswith(f"{better} sees them at ")
    assert box_at_input(find_recipe(better), sizes(box)).mean >= SMALLEST_SIDE


def test_boxes_too_small_for_every_recipe_call_for_tiles():
    assert "efficientdet_d2" in judge_box_sides(find_recipe("fpnlite_320"), sizes(5)).fix
    assert "tiles" in judge_box_sides(find_recipe("fpnlite_320"), sizes(5)).fix
    assert "no recipe" in judge_box_sides(find_recipe("efficientdet_d2"), sizes(5)).fix


@pytest.mark.parametrize(("name", "box"), [("fpnlite_320", 25), ("efficientdet_d2", 10.5)])
def test_larger_boxes_are_not_warned_of(name, box):
    assert judge_box_sides(find_recipe(name), sizes(box)) is None


def test_an_unknown_recipe_is_refused_with_the_nearest():
    with pytest.raises(HoldfastError) as caught:
        find_recipe("EfficentDet_D0")
    assert "Did you mean efficientdet_d0?" in caught.value.fix


def test_the_docs_list_every_recipe_with_its_numbers():
    page = (PROJECT / "docs" / "new.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \| ([\d.]+) \| (\d+) \|$", page, re.MULTILINE)
    assert rows == [
        (each.name, str(each.input_size), f"{each.coco_map:g}", str(each.batch_size))
        for each in RECIPES.values()
    ]


def test_a_classifier_s_weights_have_a_rate_of_their_own_where_one_was_tried():
    schedule = plan_schedule(find_recipe("centernet_resnet50"), 100, trained=Trained.BACKBONE)
    assert schedule.learning_rate == pytest.approx(0.0005 * 2**0.5)
    untried = find_recipe("fpnlite_320")
    assert untried.rate(Trained.BACKBONE) == untried.rate(Trained.NOTHING)
