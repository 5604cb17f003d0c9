"""A few images of the data, decoded once and made small: what checks of pixels look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.data.input.decode_images import decoded_image
from holdfast.data.records.record_keys import encoded_image
from holdfast.doctor.pixel_measures import PixelMeasures, measured
from holdfast.doctor.whole_images import WholeImage, whole_images
from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.doctor.data_case import SampledImage

LONGEST_SIDE = 384  # of a thumbnail: a box of a hundredth of the image still has a few pixels


class ImageLook(NamedTuple):
    """What was seen of one image."""

    image: WholeImage
    thumbnail: NDArray[np.uint8]  # (H, W, 3), the longer side LONGEST_SIDE or less
    measures: PixelMeasures  # of the image at its full size
    bits: int = 8  # of a channel, as stored; what is read has 8


def look_at_sample(
    sample: Sequence[SampledImage], images: Sequence[WholeImage]
) -> tuple[ImageLook, ...]:
    """Decode the images of a sample; their boxes are those of the whole images."""
    by_place = {image.place: image for image in images}
    looks = []
    for each in sample:
        (own,) = whole_images([each.observation._replace(merged_into=None)])
        encoded = encoded_image(each.record)
        try:
            with decoded_image(encoded) as pixels:
                small, seen = _thumbnail(pixels), measured(pixels)
        except HoldfastError:
            continue
        looks.append(ImageLook(by_place.get(own.place, own), small, seen, _bits(encoded)))
    return tuple(looks)


def _bits(encoded: bytes) -> int:
    """Read the bits of a channel from the header of a PNG; all others that are decoded have 8."""
    return encoded[24] if encoded.startswith(b"\x89PNG") and len(encoded) > 24 else 8


def _thumbnail(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width = pixels.shape[:2]
    scale = min(1.0, LONGEST_SIDE / max(height, width))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BOX))
