"""From images to the network's input: resized, normalized, padded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from keras import ops

from holdfast.data.input.resize import Resized
from holdfast.geometry.tensor import Tensor
from holdfast.models.backbones.normalization import Normalization

# B images; h, w after the resize, H, W after the padding


@dataclass(frozen=True, kw_only=True)
class Preprocessing:
    """How a detector wants its images.

    padding: what the network sees beyond the image, one number a channel. The single-stage
    detectors of the OD API pad with 0 what is already normalized. None: there is never a margin.
    """

    resize: Callable[[Tensor, Tensor], Resized]  # image, masks
    normalization: Normalization
    padding: tuple[float, ...] | None = (0.0, 0.0, 0.0)

    def prepare(self, images: Tensor | Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """Turn uint8 (B, h, w, 3), or a list of images of any size, into inputs and sizes (B, 3).

        Images that come out of the resizer in unequal size are padded to the largest.
        """
        if isinstance(images, Sequence):
            resized = [self.resize(ops.convert_to_tensor(image), None) for image in images]
            height = max(int(each.image.shape[0]) for each in resized)
            width = max(int(each.image.shape[1]) for each in resized)
            pixels = ops.stack([_padded(each.image, height, width) for each in resized])
            sizes = ops.stack([each.size for each in resized])
        else:
            pixels, sizes = ops.map(self._resized, ops.convert_to_tensor(images))
        return self.normalize(pixels, sizes), sizes

    @property
    def input_range(self) -> tuple[float, float]:
        """Between which numbers all inputs are, 0 among them."""
        pairs = zip(self.normalization.scale, self.normalization.offset, strict=True)
        ends = [0.0, *(self.padding or ())]
        ends += [pixel * scale + offset for scale, offset in pairs for pixel in (0.0, 255.0)]
        return min(ends), max(ends)

    def normalize(self, images: Tensor, sizes: Tensor) -> Tensor:
        """Normalize images (B, H, W, 3) that are resized and padded already; sizes are (B, 3)."""
        scale = np.array(self.normalization.scale, np.float32)
        offset = np.array(self.normalization.offset, np.float32)
        if self.normalization.is_reversed:
            images = images[..., ::-1]
        inputs = ops.cast(images, "float32") * scale + offset
        if self.padding is None:
            return inputs
        rows = ops.arange(ops.shape(inputs)[1])[None, :] < sizes[:, 0, None]  # (B, H)
        columns = ops.arange(ops.shape(inputs)[2])[None, :] < sizes[:, 1, None]  # (B, W)
        is_image = ops.logical_and(rows[:, :, None], columns[:, None, :])  # (B, H, W)
        return ops.where(is_image[..., None], inputs, np.array(self.padding, np.float32))

    def _resized(self, image: Tensor) -> tuple[Tensor, Tensor]:
        resized = self.resize(image, None)
        return ops.cast(resized.image, "float32"), resized.size


def _padded(image: Tensor, height: int, width: int) -> Tensor:
    margins = [(0, height - int(image.shape[0])), (0, width - int(image.shape[1])), (0, 0)]
    return ops.pad(ops.cast(image, "float32"), margins)
