"""An image with what was found drawn on it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from holdfast.evaluation.pasted_masks import dense_mask
from holdfast.files import write_bytes
from holdfast.lettering import Color
from holdfast.pictures import Objects, Pixels, draw_objects
from holdfast.prediction.predicted_image import PredictedImage

_SURE = 0.2  # least score of a keypoint that is drawn; below it is a guess
_JPEG = (".jpg", ".jpeg", ".jfif")
_QUALITY = 92


def drawn_image(
    pixels: Pixels,
    found: PredictedImage,
    colors: Mapping[str, Color],
    edges: Sequence[tuple[int, int]] = (),
    *,
    least_side: int = 0,
) -> Pixels:
    """Draw masks, boxes, keypoints and labels; colors are by class name.

    least_side: an image whose sides are all smaller is enlarged by a whole number, so that labels
    do not cover it.
    """
    times = max(1, -(-least_side // max(pixels.shape[:2])))
    pixels = pixels.repeat(times, axis=0).repeat(times, axis=1)
    texts = [f"{name} {score:.2f}" for name, score in zip(found.names, found.scores, strict=True)]
    masks = points = None
    if found.masks:
        masks = np.stack([dense_mask(part, found.height, found.width) for part in found.masks])
        masks = masks.repeat(times, axis=1).repeat(times, axis=2)
    if found.keypoints is not None:
        is_sure = found.keypoints[..., 2:] >= _SURE
        points = np.where(is_sure, found.keypoints[..., :2], np.nan).astype(np.float32)
    by_text = dict(zip(texts, (colors[name] for name in found.names), strict=True))
    return draw_objects(pixels, Objects(found.boxes, texts, masks, points, edges), by_text)


class PictureFolder:
    """Pictures that lie in a folder as their images lie in another."""

    least_side = 400  # of a picture: smaller images are enlarged

    def __init__(self, folder: Path, *, root: Path) -> None:
        self._folder, self._root = folder, root

    def add(self, found: PredictedImage, picture: Pixels) -> None:
        """Write the picture of an image."""
        save_picture(self._folder / picture_name(found.path.relative_to(self._root)), picture)

    def finish(self) -> None:
        """Do nothing: each picture was written whole."""

    def close(self) -> None:
        """Do nothing: no picture is half written."""


def picture_name(relative: Path) -> Path:
    """Name the picture of an image: as the image, unless few programs show its format.

    >>> picture_name(Path("a/b.JPG")).as_posix(), picture_name(Path("c.webp")).as_posix()
    ('a/b.JPG', 'c.webp.png')
    """
    if relative.suffix.lower() in (*_JPEG, ".png"):
        return relative
    return relative.with_name(f"{relative.name}.png")


def save_picture(path: Path, picture: Pixels) -> None:
    """Write a picture in the format of its name; a killed process leaves no half file."""
    stream = io.BytesIO()
    if path.suffix.lower() in _JPEG:
        Image.fromarray(picture).save(stream, "JPEG", quality=_QUALITY)
    else:
        Image.fromarray(picture).save(stream, "PNG")
    write_bytes(path, stream.getvalue())
