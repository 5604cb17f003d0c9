from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import (
    IndivisibleLevel,
    InputShape,
    indivisible_levels,
    input_multiple,
    input_shape,
    smallest_side,
)
from holdfast.config.schema.model import DetectionModel

from ..detection_models import center_net, faster_rcnn, square, ssd


def keep_aspect_ratio(extra: str = "") -> DetectionModel:
    resizer = f"keep_aspect_ratio_resizer {{ min_dimension: 600 max_dimension: 1024 {extra} }}"
    return faster_rcnn("faster_rcnn_resnet50", rest=f"image_resizer {{ {resizer} }}")


def test_a_fixed_shape_is_the_input_shape():
    assert input_shape(ssd("ssd_mobilenet_v2", size=320)) == square(320)


def test_padding_to_the_maximum_gives_a_fixed_square():
    assert input_shape(keep_aspect_ratio("pad_to_max_dimension: true")) == square(1024)


def test_without_padding_the_largest_image_is_minimum_by_maximum():
    assert input_shape(keep_aspect_ratio()) == InputShape(600, 1024, fixed=False)


def test_a_batch_that_mixes_upright_and_lying_images_needs_the_maximum_twice():
    assert input_shape(keep_aspect_ratio(), batch_size=2) == InputShape(1024, 1024, fixed=False)


def test_pad_to_multiple_enlarges_the_input():
    assert input_shape(ssd("ssd_mobilenet_v2", "pad_to_multiple: 32")) == square(320)


def test_faster_rcnn_fpn_always_pads_to_32_and_plain_faster_rcnn_never():
    rest = "image_resizer { fixed_shape_resizer { height: 600 width: 601 } }"
    assert input_shape(faster_rcnn("faster_rcnn_resnet50", rest=rest)) == (600, 601, True)
    padded = faster_rcnn("faster_rcnn_resnet50_fpn_keras", "pad_to_multiple: 1", rest)
    assert input_shape(padded) == (608, 608, True)


@pytest.mark.parametrize(
    ("resizer", "expected"),
    [
        ("identity_resizer {}", None),
        ("pad_to_multiple_resizer { multiple: 32 }", None),
        ("conditional_shape_resizer { condition: SMALLER size_threshold: 500 }", None),
        ("conditional_shape_resizer { size_threshold: 500 }", InputShape(500, 500, fixed=False)),
    ],
)
def test_resizers_without_a_limit_have_no_shape(resizer: str, expected: InputShape | None):
    detector = faster_rcnn("faster_rcnn_resnet50", rest=f"image_resizer {{ {resizer} }}")
    assert input_shape(detector) == expected


def test_without_a_resizer_or_a_detector_there_is_no_shape():
    assert input_shape(faster_rcnn("faster_rcnn_resnet50")) is None
    assert input_shape(DetectionModel()) is None


def test_an_fpn_cannot_add_maps_that_do_not_double():
    (found,) = indivisible_levels(ssd("ssd_mobilenet_v2_fpn_keras"), square(300))
    assert found == IndivisibleLevel(4, 300, 19, 20, 288, 320)


def test_a_bifpn_needs_all_its_levels_to_double():
    failing = indivisible_levels(ssd("ssd_efficientnet-b0_bifpn_keras"), square(320))
    assert failing == (IndivisibleLevel(6, 320, 5, 6, 256, 384),)


def test_height_and_width_fail_on_their_own():
    shape = InputShape(320, 300, fixed=True)
    (found,) = indivisible_levels(ssd("ssd_mobilenet_v2_fpn_keras"), shape)
    assert found.input_size == 300


def test_no_smaller_size_is_offered_below_what_the_network_accepts():
    (found, *_) = indivisible_levels(ssd("ssd_efficientnet-b0_bifpn_keras"), square(200))
    assert (found.smaller_input, found.larger_input) == (None, 256)
    (found, *_) = indivisible_levels(ssd("ssd_efficientnet-b0_bifpn_keras"), square(100))
    assert (found.smaller_input, found.larger_input) == (None, 256)


def test_explicit_padding_lets_mobilenets_take_any_size_but_not_resnets():
    explicit = "use_explicit_padding: true"
    assert indivisible_levels(ssd("ssd_mobilenet_v1_fpn", explicit), square(300)) == ()
    assert indivisible_levels(ssd("ssd_resnet50_v1_fpn", explicit), square(300))


def test_networks_without_a_top_down_path_take_any_size():
    for detector in (ssd("ssd_mobilenet_v2"), faster_rcnn("faster_rcnn_resnet50")):
        assert indivisible_levels(detector, square(301)) == ()
        assert input_multiple(detector) is None


def test_center_net_compares_with_targets_of_a_quarter_of_the_size():
    (found,) = indivisible_levels(center_net("resnet_v1_50_fpn"), square(510))
    assert found == IndivisibleLevel(2, 510, 127, 128, 480, 512)


def test_nothing_is_said_about_shapes_that_vary():
    shape = InputShape(300, 300, fixed=False)
    assert indivisible_levels(ssd("ssd_mobilenet_v2_fpn_keras"), shape) == ()


@pytest.mark.parametrize(
    ("detector", "multiple"),
    [
        (ssd("ssd_resnet50_v1_fpn_keras"), 32),
        (ssd("ssd_resnet50_v1_fpn_keras", "fpn { min_level: 3 max_level: 4 }"), 16),
        (ssd("ssd_resnet50_v1_fpn_keras", "fpn { min_level: 5 max_level: 7 }"), None),
        (ssd("ssd_mobilenet_v2_mnasfpn"), 64),
        (ssd("ssd_efficientnet-b3_bifpn_keras"), 128),
        (faster_rcnn("faster_rcnn_resnet50_fpn_keras"), 32),
        (center_net("resnet_v2_50"), 32),
        (center_net("mobilenet_v2_fpn"), 32),
        (center_net("hourglass_10"), 8),
        (center_net("hourglass_20"), 16),
        (center_net("hourglass_32"), 32),
        (center_net("hourglass_52"), 128),
        (center_net("hourglass_104"), 128),
    ],
)
def test_multiples_of_the_input_multiple_always_work(
    detector: DetectionModel, multiple: int | None
):
    assert input_multiple(detector) == multiple
    for count in range(1, 12):
        assert indivisible_levels(detector, square(count * (multiple or 37))) == ()


@given(st.integers(33, 3000), st.integers(2, 5), st.integers(2, 7))
def test_an_fpn_fails_exactly_where_adding_fails(size: int, first: int, last: int):
    detector = ssd("ssd_mobilenet_v2_fpn", f"fpn {{ min_level: {first} max_level: {last} }}")
    maps = [found.height for found in feature_maps(detector, square(size))][: 6 - first]
    adds = all(fine == 2 * coarse for fine, coarse in pairwise(maps))
    assert adds == (indivisible_levels(detector, square(size)) == ())


@given(st.integers(1, 3000), st.sampled_from(["ssd_mobilenet_v2_fpn", "ssd_mobilenet_v2_mnasfpn"]))
def test_the_sizes_offered_instead_work_and_are_the_nearest_multiples(size: int, extractor: str):
    detector = ssd(extractor)
    for found in indivisible_levels(detector, square(size)):
        assert indivisible_levels(detector, square(found.larger_input)) == ()
        assert found.larger_input > size
        if found.smaller_input is not None:
            assert found.smaller_input < size
            assert indivisible_levels(detector, square(found.smaller_input)) == ()


@pytest.mark.parametrize(
    ("detector", "smallest"),
    [
        (ssd("ssd_mobilenet_v2"), 33),
        (ssd("ssd_resnet50_v1_fpn"), 129),
        (ssd("ssd_efficientnet-b0_bifpn_keras"), 129),
        (faster_rcnn("faster_rcnn_resnet50"), 33),
        (center_net("hourglass_104"), 1),
    ],
)
def test_smallest_side(detector: DetectionModel, smallest: int):
    assert smallest_side(detector) == smallest
