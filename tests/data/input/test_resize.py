"""Resizers give the OD API's numbers, for every case it was asked about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from holdfast.config.schema.image_resizer import ImageResizer
from holdfast.config.text.decode import decode
from holdfast.data.input import resize
from holdfast.errors import HoldfastError

RESIZERS: Mapping[str, Callable[..., resize.Resized]] = {
    "fixed_shape_resizer": resize.fixed_shape,
    "keep_aspect_ratio_resizer": resize.keep_aspect_ratio,
    "conditional_shape_resizer": resize.conditional_shape,
    "pad_to_multiple_resizer": resize.pad_to_multiple,
    "identity_resizer": resize.identity,
}
GOLDEN_CASES = [
    *(f"fixed_{size}_{method}" for size in ("20x30", "60x80") for method in resize.Interpolation),
    *(f"keep_min50_max64_{method}" for method in resize.Interpolation),
    "keep_min20_max30",
    "keep_min20_max100",
    "keep_min64_max64_pad",
    "keep_min40_max64_pad_channel",
    "keep_gray",
    "fixed_gray",
    "identity",
    "conditional_greater",
    "conditional_smaller",
    "pad_to_multiple_16",
]


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    text = (shared / "goldens/_units/resizers_cases.json").read_text()
    return dict(json.loads(text))


@pytest.fixture(scope="module")
def arrays(shared: Path) -> Mapping[str, np.ndarray]:
    return dict(np.load(shared / "goldens/_units/resizers.npz"))


def build(config: str) -> Callable[..., resize.Resized]:
    """Read a config and hand its set fields over as plain keywords."""
    message = decode(config, ImageResizer).message
    name = message.which("image_resizer_oneof")
    assert name is not None
    resizer = getattr(message, name)
    fields = {field: getattr(resizer, field) for field in resizer.fields_set}
    plain = {k: v.name if isinstance(v, IntEnum) else v for k, v in fields.items()}
    return partial(RESIZERS[name], **plain)


def test_every_golden_case_is_tested(cases: dict[str, Any]) -> None:
    assert sorted(cases) == sorted(GOLDEN_CASES)


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_pixels_masks_and_size_equal_the_golden(
    name: str, cases: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    resizer = build(cases[name]["config"])
    image, masks, size = resizer(arrays["input_image"], arrays["input_masks"])
    np.testing.assert_allclose(image, arrays[f"{name}/image"], rtol=0, atol=2e-4)
    np.testing.assert_array_equal(masks, arrays[f"{name}/masks"])
    np.testing.assert_array_equal(size, arrays[f"{name}/true_shape"])
    assert masks.dtype == tf.uint8


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_other_inputs_get_the_golden_shapes_inside_a_traced_map(
    name: str, cases: dict[str, Any]
) -> None:
    resizer = build(cases[name]["config"])
    expected = cases[name]["shapes_of_other_inputs"]
    sizes = [tuple(map(int, key.split("x"))) for key in expected]
    shape = tf.TensorSpec([None, None, 3], tf.uint8)
    images = tf.data.Dataset.from_generator(
        lambda: (np.zeros((*size, 3), np.uint8) for size in sizes), output_signature=shape
    )
    for (padded, true), (image, size) in zip(
        expected.values(), images.map(lambda image: resizer(image)[::2]), strict=True
    ):
        assert list(image.shape) == padded
        assert size.numpy().tolist() == true


@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_uint8_gives_the_pixels_of_float32(
    name: str, cases: dict[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    whole = arrays["input_image"].astype(np.uint8)
    resizer = build(cases[name]["config"])
    from_uint8 = resizer(whole).image
    from_float = resizer(whole.astype(np.float32)).image
    np.testing.assert_allclose(tf.cast(from_uint8, tf.float32), from_float, rtol=0, atol=1e-4)


def test_copied_pixels_stay_uint8() -> None:
    image = np.zeros((5, 6, 3), np.uint8)
    assert resize.identity(image).image.dtype == np.uint8
    assert resize.pad_to_multiple(image, multiple=4).image.dtype == tf.uint8
    nearest = resize.fixed_shape(image, height=4, width=4, resize_method="NEAREST_NEIGHBOR")
    assert nearest.image.dtype == tf.uint8
    padded = resize.keep_aspect_ratio(
        image,
        min_dimension=4,
        max_dimension=8,
        resize_method="NEAREST_NEIGHBOR",
        pad_to_max_dimension=True,
        per_channel_pad_value=(0.5, 0.5, 0.5),
    )
    assert padded.image.dtype == tf.float32
    assert padded.image[-1, -1, 0] == 0.5


def test_fixed_sizes_are_known_before_the_graph_runs() -> None:
    shape = tf.TensorSpec([None, None, 3], tf.uint8)
    fixed = tf.function(lambda image: resize.fixed_shape(image, height=20, width=30).image)
    padded = tf.function(
        lambda image: (
            resize.keep_aspect_ratio(
                image, min_dimension=40, max_dimension=64, pad_to_max_dimension=True
            ).image
        )
    )
    assert fixed.get_concrete_function(shape).output_shapes == [20, 30, 3]
    assert padded.get_concrete_function(shape).output_shapes == [64, 64, 3]


def test_no_masks_and_no_objects_are_two_things() -> None:
    image = np.zeros((5, 6, 3), np.uint8)
    empty = np.zeros((0, 5, 6), np.uint8)
    for resizer in RESIZERS.values():
        assert resizer(image).masks is None
        result = resizer(image, empty)
        assert result.masks.shape == (0, *result.image.shape[:2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (partial(resize.keep_aspect_ratio, min_dimension=9, max_dimension=8), "larger than"),
        (partial(resize.pad_to_multiple, multiple=0), "multiple is 0"),
        (
            partial(
                resize.keep_aspect_ratio, pad_to_max_dimension=True, per_channel_pad_value=(1.0,)
            ),
            "1 values",
        ),
    ],
)
def test_impossible_settings_are_refused(call: Callable[..., resize.Resized], message: str) -> None:
    with pytest.raises(HoldfastError, match=message):
        call(np.zeros((5, 6, 3), np.uint8))
