"""What an image looks like in 64 numbers: a perceptual hash, and the search for images alike.

An image is made gray and 32 x 32 pixels; its appearance is the 8 x 8 lowest frequencies of the
discrete cosine transform (pHash; Zauner 2010), without the mean and scaled to length 1. Their
signs are the hash. Compression, size, brightness and contrast hardly change it; a mirrored or
turned image has the same numbers with other signs, or rows and columns exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.data.sources.decode_gate import GATE
from holdfast.data.sources.image_files import Size, decoding_bytes, open_image

_SIDE, _FREQUENCIES = 32, 8
_LEAST_CONTRAST = 1.0  # standard deviation in gray levels; below, there is nothing to compare
_WIDE_MODES = ("I", "F", "I;16", "I;16B", "I;16L")  # more than 8 bits, which "L" would cut off
_MOST_PIXELS = 50_000_000  # to decode for a glance; a JPEG is decoded small
_ROWS, _COLUMNS = 8, 8192  # of hashes compared at a time: what stays in a processor's cache
_PIXELS = np.arange(_SIDE)
_COSINES = np.cos(
    np.pi * np.arange(_FREQUENCIES)[:, None] * (2 * _PIXELS[None] + 1) / (2 * _SIDE)
)  # (8, 32)

Appearance = NDArray[np.float32]  # (8, 8), length 1


class Alike(NamedTuple):
    """How alike two images have to be: by their hashes, and by the numbers behind these."""

    most_bits: int  # that differ, of 63
    least_cosine: float


# Measured on the shared sets (docs/data.md): copies of an image differ by up to 12 bits;
# the cosine of unrelated images with so few is below 0.6.
SAME = Alike(12, 0.88)
# For neighbors of a numbered series alone, where chance has few tries.
NEIGHBORS = Alike(18, 0.8)


def appearance_of(encoded: bytes) -> Appearance | None:
    """Give the appearance of an encoded image.

    None if it does not decode, is too large for a glance, or has one color and nothing to see.
    """
    try:
        with open_image(encoded) as image:
            # A JPEG is decoded small at once, in an eighth of the time.
            image.draft("L", (2 * _SIDE, 2 * _SIDE))
            if image.width * image.height > _MOST_PIXELS:
                return None
            with GATE.room_for(decoding_bytes(Size(*image.size))):
                gray = image.convert("F" if image.mode in _WIDE_MODES else "L")
                small = gray.resize((_SIDE, _SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
    except Exception:  # a damaged image raises whatever its decoder stumbles over
        return None
    pixels = np.asarray(small, np.float64)
    if not pixels.std() >= _LEAST_CONTRAST:
        return None
    frequencies = _COSINES @ pixels @ _COSINES.T  # (8, 8)
    frequencies[0, 0] = 0.0
    length = np.linalg.norm(frequencies)
    return np.asarray(frequencies / length, np.float32) if length > 0 else None


def alike(first: Appearance, second: Appearance, bound: Alike) -> bool:
    """Tell whether two images are alike as they stand, neither mirrored nor turned."""
    bits = np.count_nonzero((first > 0) != (second > 0))
    return bool(bits <= bound.most_bits and np.vdot(first, second) >= bound.least_cosine)


def pairs_alike(
    appearances: NDArray[np.float32], labels: NDArray[np.int64], bound: Alike = SAME
) -> Iterator[tuple[int, int]]:
    """Yield pairs of images (N, 8, 8) that are alike, however mirrored or turned.

    Images of equal label are not compared: the caller may join labels while pairs come, so that
    of many images alike only as many pairs are yielded as it takes to connect them.
    """
    hashes = _hashes(appearances)
    for turned in _turned(appearances):
        for rows, columns in _near(hashes, _hashes(turned), labels, bound.most_bits):
            cosines = np.einsum("pij,pij->p", appearances[rows], turned[columns])
            sure = cosines >= bound.least_cosine
            yield from zip(rows[sure].tolist(), columns[sure].tolist(), strict=True)


def _hashes(appearances: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Give the signs of the numbers (N, 8, 8) as the bits of one number (N,)."""
    signs = appearances.reshape(-1, _FREQUENCIES**2) > 0
    return np.packbits(signs, axis=1).view(np.uint64)[:, 0]


def _turned(appearances: NDArray[np.float32]) -> Iterator[NDArray[np.float32]]:
    """Yield what the images would look like in all 8 orientations.

    Mirroring changes the sign of the odd frequencies; a quarter turn is a mirrored transpose.
    """
    odd = np.where(np.arange(_FREQUENCIES) % 2, np.float32(-1), np.float32(1))
    for upright in (appearances, appearances.transpose(0, 2, 1)):
        for rows in (np.ones_like(odd), odd):
            for columns in (np.ones_like(odd), odd):
                yield np.ascontiguousarray(upright * rows[:, None] * columns)


def _near(
    first: NDArray[np.uint64],
    second: NDArray[np.uint64],
    labels: NDArray[np.int64],
    most_bits: int,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the places row < column at which few bits differ and the labels still do."""
    for top in range(0, len(first), _ROWS):
        for left in range(top, len(second), _COLUMNS):
            differ = first[top : top + _ROWS, None] ^ second[None, left : left + _COLUMNS]
            near = np.bitwise_count(differ) <= most_bits
            if not near.any():
                continue
            rows, columns = np.nonzero(near)
            rows, columns = rows + top, columns + left
            news = (rows < columns) & (labels[rows] != labels[columns])
            yield rows[news], columns[news]
