"""A detector that is ready to be used, whatever it was loaded from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.geometry.image_tiles import Tiling
from holdfast.models.inference.detections import Detections
from holdfast.models.inference.tiled_detection import detect_in_tiles
from holdfast.prediction.shown_detections import shown

# B images, N detections an image

Pixels = NDArray[np.uint8]  # (H, W, 3)


class Network(Protocol):
    """What runs: a detector with its weights, or an exported one."""

    @property
    def batches(self) -> bool:
        """Whether images of any size can be detected in together."""

    def ready(self, image: Pixels) -> Any:
        """Do with one image what needs no network; several threads may."""

    def detect(self, images: Sequence[Any]) -> Detections:
        """Detect in images that are ready: NumPy arrays."""


@dataclass(frozen=True, kw_only=True)
class LoadedModel:
    """A detector to be called with images; `holdfast.load_model` gives it.

    names: label-map id -> name of the class; {} where no label map was found.
    edges: pairs of keypoints that a line joins in pictures.
    """

    network: Network
    names: Mapping[int, str]
    description: str
    edges: tuple[tuple[int, int], ...] = ()

    def __call__(self, images: Pixels | Sequence[Pixels]) -> Detections:
        """Detect in uint8 images (B, H, W, 3), or a list of (H, W, 3) of unequal size.

        Gives NumPy arrays; boxes are normalized to the images, classes count from 0. In a notebook
        what is given shows itself as a picture.
        """
        for image in images:
            _refuse_other(np.asarray(image))
        ready = [self.network.ready(np.asarray(image)) for image in images]
        if not ready:
            raise HoldfastError("There is no image to detect in.", fix="Give at least one.")
        if self.network.batches or len(ready) == 1:
            found = self.network.detect(ready)
        else:
            found = joined([self.network.detect([image]) for image in ready])
        return shown(found, list(images), self.names, self.edges)

    def in_tiles(self, image: Pixels, tiling: Tiling, *, at_once: int = 1) -> Detections:
        """Detect in each tile of an image, and put the detections together again."""
        _refuse_other(image)
        return detect_in_tiles(image, self, tiling, at_once=at_once)

    def name_of(self, number: int) -> str:
        """Name the class of a label-map id: by the id itself where it has no name."""
        return self.names.get(number, str(number))


def joined(found: Sequence[Detections]) -> Detections:
    """Make one batch of several; those with fewer places get zeros behind the last."""
    places = max(each.boxes.shape[1] for each in found)

    def field(index: int) -> Any:
        values = [each[index] for each in found]
        if values[0] is None:
            return None
        if values[0].ndim == 1:
            return np.concatenate(values)
        return np.concatenate([_with_places(each, places) for each in values])

    return Detections(*(field(index) for index in range(len(Detections._fields))))


def _with_places(values: NDArray[Any], places: int) -> NDArray[Any]:
    margins = [(0, 0), (0, places - values.shape[1]), *[(0, 0)] * (values.ndim - 2)]
    return np.pad(values, margins)


def _refuse_other(image: NDArray[Any]) -> None:
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[-1] != 3 or 0 in image.shape:
        raise HoldfastError(
            f"An image has the shape {image.shape} and the type {image.dtype}.",
            fix="Give uint8 images (H, W, 3) in RGB, or a batch of them.",
        )
