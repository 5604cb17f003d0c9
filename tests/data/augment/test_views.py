"""Decoding last gives what decoding first gives, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from holdfast.data.augment import AUGMENTATIONS
from holdfast.data.augment.views import View, view_of, with_pixels
from holdfast.data.input.decode_images import decode_image
from holdfast.data.sample import Sample

from .scenes import SPECS, scene
from .test_every_augmentation import CASES

HEIGHT, WIDTH = 61, 87
SEEDS = [(number, 3) for number in range(8)]
VIEW_AUGMENTATIONS = [
    "convert_class_logits_to_softmax",
    "drop_label_probabilistically",
    "random_crop_image",
    "random_crop_to_aspect_ratio",
    "random_horizontal_flip",
    "random_jitter_boxes",
    "random_vertical_flip",
    "remap_labels",
    "scale_boxes_to_pixel_coordinates",
    "ssd_random_crop",
    "ssd_random_crop_fixed_aspect_ratio",
]
CHAINS = [
    ["random_horizontal_flip", "ssd_random_crop"],
    ["ssd_random_crop", "random_horizontal_flip", "random_crop_to_aspect_ratio"],
    ["random_vertical_flip", "random_crop_image", "random_horizontal_flip", "random_crop_image"],
    [
        "random_horizontal_flip",
        "ssd_random_crop",
        "random_horizontal_flip",
        "random_distort_color",
        "random_vertical_flip",
        "random_crop_image",
    ],
    ["random_rotation90", "random_horizontal_flip"],
    ["random_crop_image", "random_pad_image", "random_crop_image"],
]


def encoded_scene(encode: Any) -> Sample:
    """Put noise, where every pixel counts, in place of the picture."""
    noise = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
    return scene(HEIGHT, WIDTH)._replace(image=encode(noise).numpy())


SCENES = [encoded_scene(tf.io.encode_jpeg), encoded_scene(tf.io.encode_png)]


def both_ways(names: Sequence[str], decode_after: int) -> Iterator[tuple[Sample, Sample]]:
    """Run a chain on views, and on pixels; after so many augmentations views are views no more."""

    def run(sample: Sample, seed: Any) -> Sample:
        for index, name in enumerate(names):
            on_view = isinstance(sample.image, View)
            sample = AUGMENTATIONS[name](sample, seed + index, **CASES[name].arguments)
            assert isinstance(sample.image, View) == (on_view and index < decode_after)
        return with_pixels(sample)

    def pair(fields: dict[str, Any], seed: Any) -> tuple[Sample, Sample]:
        sample = Sample(**fields)
        on_view = run(sample._replace(image=view_of(sample.image)), seed)
        return on_view, run(sample._replace(image=decode_image(sample.image)), seed)

    def elements() -> Iterator[tuple[dict[str, Any], Any]]:
        for sample in SCENES:
            for seed in SEEDS:
                fields = {name: getattr(sample, name) for name in SPECS}
                yield fields, np.array(seed, np.int32)

    specs = SPECS | {"image": tf.TensorSpec([], tf.string)}
    signature = (specs, tf.TensorSpec([2], tf.int32))
    data = tf.data.Dataset.from_generator(elements, output_signature=signature)
    yield from data.map(pair).as_numpy_iterator()


def assert_same(pairs: Iterator[tuple[Sample, Sample]]) -> None:
    seen = 0
    for on_view, on_pixels in pairs:
        for name, expected in on_pixels._asdict().items():
            np.testing.assert_array_equal(getattr(on_view, name), expected, err_msg=name)
        seen += 1
    assert seen == len(SCENES) * len(SEEDS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_every_augmentation_takes_a_view_and_some_leave_it_one(name: str) -> None:
    assert_same(both_ways([name], decode_after=int(name in VIEW_AUGMENTATIONS)))


@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_a_chain_decodes_before_the_first_that_needs_pixels(chain: list[str]) -> None:
    is_pixel = [name not in VIEW_AUGMENTATIONS for name in chain]
    assert_same(both_ways(chain, is_pixel.index(True) if any(is_pixel) else len(chain)))


@pytest.mark.parametrize(
    ("name", "is_cut"), [("random_horizontal_flip", False), ("ssd_random_crop", True)]
)
def test_the_header_is_read_only_where_something_is_cut(name: str, is_cut: bool) -> None:
    def run(encoded: Any) -> Any:
        sample = scene()._replace(image=view_of(encoded), keypoints=None, visibilities=None)
        return with_pixels(AUGMENTATIONS[name](sample, [1, 2])).image

    function = tf.function(run).get_concrete_function(tf.TensorSpec([], tf.string))
    needed = tf.compat.v1.graph_util.extract_sub_graph(
        function.graph.as_graph_def(), [output.op.name for output in function.graph.outputs]
    )
    branches = {body.signature.name: body for body in needed.library.function}
    used = {value.func.name for node in needed.node for value in node.attr.values()} - {""}
    kinds = {node.op for name in used for node in branches[name].node_def}
    assert ("ExtractJpegShape" in kinds) == is_cut


def test_a_broken_file_is_an_error_whatever_it_pretends_to_be() -> None:
    for encoded in (b"", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"nothing"):
        with pytest.raises(tf.errors.InvalidArgumentError):
            view_of(tf.constant(encoded))
