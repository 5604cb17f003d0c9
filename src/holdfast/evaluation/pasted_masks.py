"""Masks of the whole image: detected crops pasted into it, and all of them as COCO's run lengths.

A dense mask exists for one object at a time, and only between the columns that it covers.
"""

from __future__ import annotations

import io
from typing import NamedTuple

import numpy as np
from faster_coco_eval.core import mask as mask_api
from numpy.typing import NDArray
from PIL import Image

# H, W height and width of the image, h, w those of a crop

THRESHOLD = 0.5  # of a mask's value; what is above belongs to the object
_SMALLEST_SIDE = np.float32(1e-4)  # of a box, normalized, so that nothing is divided by 0


class MaskRuns(NamedTuple):
    """A mask as COCO compresses it: column by column, the lengths of runs of 0 and 1 in turn."""

    height: int
    width: int
    counts: bytes

    def coco(self) -> dict[str, object]:
        """Give the form that COCO's tools read."""
        return {"size": [self.height, self.width], "counts": self.counts}


class PastedPart(NamedTuple):
    """The rectangle of the image outside of which a mask is 0."""

    pixels: NDArray[np.uint8]  # (rows, columns) 0 or 1
    top: int
    left: int


def paste_mask(
    crop: NDArray[np.float32], box: NDArray[np.float32], height: int, width: int
) -> PastedPart:
    """Stretch a crop (h, w) over its box, normalized to the image, and cut it at the threshold.

    It is the OD API's way: the corner pixels of the crop lie on the corners of the box, whose frame
    runs from the first to the last pixel of the image; between pixels values are bilinear.
    """
    box = box.astype(np.float32)
    rows, top = _places(box[0], box[2], height, crop.shape[0])
    columns, left = _places(box[1], box[3], width, crop.shape[1])
    if not len(rows) or not len(columns):
        return PastedPart(np.zeros((0, 0), np.uint8), 0, 0)
    blended = _blended(_blended(crop.astype(np.float32), columns, axis=1), rows, axis=0)
    return PastedPart((blended > THRESHOLD).astype(np.uint8), top, left)


def dense_mask(part: PastedPart, height: int, width: int) -> NDArray[np.uint8]:
    """Give the mask of the whole image, (H, W)."""
    mask = np.zeros((height, width), np.uint8)
    rows, columns = part.pixels.shape
    mask[part.top : part.top + rows, part.left : part.left + columns] = part.pixels
    return mask


def encode_part(part: PastedPart, height: int, width: int) -> MaskRuns:
    """Compress the mask of an image, of which only a part is not 0.

    >>> part = PastedPart(np.ones((2, 1), np.uint8), top=1, left=2)
    >>> encode_part(part, height=4, width=3) == encode_part(
    ...     PastedPart(dense_mask(part, 4, 3), 0, 0), height=4, width=3)
    True
    """
    rows, columns = part.pixels.shape
    strip = np.zeros((columns, height), np.uint8)  # whole columns, one behind the other
    strip[:, part.top : part.top + rows] = part.pixels.T
    flat = strip.ravel()
    starts = np.flatnonzero(np.diff(flat, prepend=np.uint8(0), append=np.uint8(0)))
    ends = [0, *(part.left * height + starts).tolist(), height * width]
    runs = np.diff(np.array(ends, np.int64))
    # The last run is one of 0, and is left out where there is none.
    counts = runs[:-1] if runs[-1] == 0 and len(runs) > 1 else runs
    plain = {"size": [height, width], "counts": counts.tolist()}
    return MaskRuns(height, width, mask_api.frPyObjects(plain, height, width)["counts"])


def decode_stored(encoded: bytes, height: int, width: int) -> NDArray[np.uint8]:
    """Decode a stored mask of 0 and 1, (H, W); "" is an object without one."""
    if not encoded:
        return np.zeros((height, width), np.uint8)
    with Image.open(io.BytesIO(encoded)) as image:
        mask: NDArray[np.uint8] = (np.asarray(image.convert("L")) > 0).astype(np.uint8)
    return mask


class _Places(NamedTuple):
    """Where pixels of the image lie in a crop."""

    before: NDArray[np.int64]  # the pixel of the crop before each
    after: NDArray[np.int64]
    share: NDArray[np.float32]  # of the one after

    def __len__(self) -> int:
        return len(self.before)


def _places(first: np.float32, last: np.float32, side: int, crop_side: int) -> tuple[_Places, int]:
    """Find the pixels of the image between two sides of a box, and which one is the first."""
    extent = max(np.float32(last - first), _SMALLEST_SIDE)
    begin, end = (np.float32(0) - first) / extent, (np.float32(1) - first) / extent
    steps = np.float32(crop_side - 1)
    # All in float32, in the order of TensorFlow's crop_and_resize: pixels at a border hang on it.
    if side > 1:
        scale = np.float32(end - begin) * steps / np.float32(side - 1)
        places = begin * steps + np.arange(side, dtype=np.float32) * scale
    else:
        places = np.array([np.float32(0.5) * (begin + end) * steps], np.float32)
    inside = np.flatnonzero((places >= 0) & (places <= steps))
    places = places[inside]
    before = np.floor(places).astype(np.int64)
    share = (places - before).astype(np.float32)
    first_pixel = int(inside[0]) if len(inside) else 0
    return _Places(before, np.ceil(places).astype(np.int64), share), first_pixel


def _blended(values: NDArray[np.float32], places: _Places, axis: int) -> NDArray[np.float32]:
    low, high = values.take(places.before, axis), values.take(places.after, axis)
    share = places.share if axis == 1 else places.share[:, None]
    blended: NDArray[np.float32] = low + (high - low) * share
    return blended
