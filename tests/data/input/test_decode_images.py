"""A part of a JPEG is, bit for bit, what would be cut from the whole, however it is stored."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from holdfast.data.input.decode_images import cut_pixels, decode_image, decode_part_of_jpeg

MODES = {"gray": "L", "cmyk": "CMYK"}
SUBSAMPLING = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2, "4:4:0": 1, "4:1:1": 2, "1:4": 2}
# Pillow does not write these, but with as many blocks in a unit as another kind they can be
# declared: the picture is scrambled, and as good as any other.
DECLARED = {"4:4:0": 0x12, "4:1:1": 0x41, "1:4": 0x14}
KINDS = [*SUBSAMPLING, *MODES, "progressive", "restarts"]


@cache
def jpeg(kind: str, height: int, width: int) -> bytes:
    noise = np.random.default_rng(height * width).integers(0, 256, (height, width, 4), np.uint8)
    image = Image.fromarray(noise, "CMYK").convert(MODES.get(kind, "RGB"))
    options: dict[str, int] = {"quality": 85}
    if kind not in MODES:
        options["subsampling"] = SUBSAMPLING.get(kind, 2)
    if kind == "progressive":
        options["progressive"] = 1
    if kind == "restarts":
        options["restart_marker_blocks"] = 3
    file = io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ImageFile, "MAXBLOCK", 2**20)  # noise does not fit in Pillow's own buffer
        image.save(file, "JPEG", **options)
    encoded = bytearray(file.getvalue())
    if kind in DECLARED:
        frame_header = encoded.index(b"\xff\xc0")
        encoded[frame_header + 11] = DECLARED[kind]
    return bytes(encoded)


def assert_equals_cut(encoded: bytes, corner: tuple[int, int], size: tuple[int, int]) -> None:
    whole = decode_image(encoded)
    part = decode_part_of_jpeg(encoded, tf.shape(whole)[:2], tf.constant(corner), tf.constant(size))
    np.testing.assert_array_equal(part, cut_pixels(whole, corner, size))


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(KINDS), data=st.data())
def test_any_part_equals_what_is_cut_from_the_whole(kind: str, data: st.DataObject) -> None:
    sides = (64, 96) if kind in DECLARED else data.draw(st.sampled_from([(61, 83), (48, 64)]))
    corner = [data.draw(st.integers(0, side - 1)) for side in sides]
    rest = [side - begin for side, begin in zip(sides, corner, strict=True)]
    size = [data.draw(st.integers(1, each)) for each in rest]
    assert_equals_cut(jpeg(kind, *sides), tuple(corner), tuple(size))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 7, 9, 17, 33])
@pytest.mark.parametrize("kind", ["4:4:4", "4:2:2", "4:2:0", "progressive", "gray", "cmyk"])
def test_narrow_images_and_parts_are_equal_too(kind: str, width: int) -> None:
    encoded = jpeg(kind, 9, width)
    for left in range(width):
        for part in {1, 2, 3, width - left}:
            if left + part <= width:
                assert_equals_cut(encoded, (2, left), (5, part))
