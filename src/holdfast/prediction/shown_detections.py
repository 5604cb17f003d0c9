"""Detections that a notebook shows as a picture."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.models.inference.detections import Detections
from holdfast.pictures import Cell, Pixels, contact_sheet, label_colors
from holdfast.prediction.drawn_image import drawn_image
from holdfast.prediction.predicted_image import predicted_image

_LEAST_SCORE = 0.5  # as that of `holdfast predict`
_LEAST_SIDE = 400  # smaller images are shown enlarged
_MOST_SHOWN = 12
_COLUMNS = 3


class ShownDetections(Detections):
    """Detections that know their images; all else is as without them."""

    images: Sequence[Pixels]
    names: Mapping[int, str]
    edges: Sequence[tuple[int, int]]

    def _repr_png_(self) -> bytes:
        """Draw what is surer than 0.5: what notebooks call to show a value."""
        count = min(len(self.images), _MOST_SHOWN)
        pictures = [self._picture(row) for row in range(count)]
        sheet = pictures[0]
        if count > 1:
            cells = [Cell(picture) for picture in pictures]
            sheet = contact_sheet(cells, columns=min(count, _COLUMNS))
        stream = io.BytesIO()
        Image.fromarray(sheet).save(stream, "PNG")
        return stream.getvalue()

    def _picture(self, row: int) -> Pixels:
        pixels = np.asarray(self.images[row])
        size = pixels.shape[0], pixels.shape[1]
        found = predicted_image(Path(), size, self, row, names=self.names, least_score=_LEAST_SCORE)
        known = [self.names[number] for number in sorted(self.names)]
        colors = label_colors([*known, *found.names])
        return drawn_image(pixels, found, colors, self.edges, least_side=_LEAST_SIDE)


def shown(
    found: Detections,
    images: Sequence[NDArray[Any]],
    names: Mapping[int, str],
    edges: Sequence[tuple[int, int]],
) -> ShownDetections:
    """Give detections that show themselves on their images."""
    detections = ShownDetections(*found)
    detections.images, detections.names, detections.edges = images, names, edges
    return detections
