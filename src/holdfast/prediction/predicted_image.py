"""What was found in one image: chosen by score and class, and in the forms that others read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.evaluation.pasted_masks import PastedPart, encode_part, paste_mask
from holdfast.models.inference.detections import Detections

# N objects, K keypoints each, h x w cells of a mask


class Moment(NamedTuple):
    """Where a frame stands in its video."""

    frame: int  # counts from 0
    seconds: float  # after the first frame


class PredictedImage(NamedTuple):
    """The objects of one image, by falling score."""

    path: Path
    height: int
    width: int
    boxes: NDArray[np.float32]  # (N, 4) y_min, x_min, y_max, x_max, normalized to the image
    ids: NDArray[np.int32]  # (N,) of the label map
    names: tuple[str, ...]  # N
    scores: NDArray[np.float32]  # (N,)
    masks: tuple[PastedPart, ...] | None = None  # N
    keypoints: NDArray[np.float32] | None = None  # (N, K, 3) y, x, score
    moment: Moment | None = None  # of a frame of a video

    def document(self) -> dict[str, Any]:
        """Give what `--json` says of the image."""
        moment = {} if self.moment is None else self.moment._asdict()
        return {
            "file": str(self.path),
            **moment,
            "width": self.width,
            "height": self.height,
            "detections": [self._object(row) for row in range(len(self.ids))],
        }

    def coco_results(self) -> list[dict[str, Any]]:
        """Give COCO's results: boxes as x, y, width, height in pixels.

        image_id is the number that the file is named after, as COCO's are, else the file's name;
        of a video the number of the frame.
        """
        stem = self.path.stem
        image = int(stem) if stem.isdecimal() else self.path.name
        if self.moment is not None:
            image = self.moment.frame
        return [self._coco_object(row, image) for row in range(len(self.ids))]

    def _object(self, row: int) -> dict[str, Any]:
        found: dict[str, Any] = {
            "box": self.boxes[row].tolist(),
            "id": int(self.ids[row]),
            "name": self.names[row],
            "score": float(self.scores[row]),
        }
        if self.masks is not None:
            found["mask"] = self._run_lengths(row)
        if self.keypoints is not None:
            found["keypoints"] = self.keypoints[row].tolist()
        return found

    def _coco_object(self, row: int, image: int | str) -> dict[str, Any]:
        sides = np.array([self.height, self.width] * 2, np.float64)
        top, left, bottom, right = (self.boxes[row] * sides).tolist()
        found: dict[str, Any] = {
            "image_id": image,
            "category_id": int(self.ids[row]),
            "bbox": [left, top, right - left, bottom - top],
            "score": float(self.scores[row]),
        }
        if self.masks is not None:
            found["segmentation"] = self._run_lengths(row)
        if self.keypoints is not None:
            points = self.keypoints[row].astype(np.float64) * [self.height, self.width, 1.0]
            found["keypoints"] = points[:, [1, 0, 2]].ravel().tolist()  # x, y, score
        return found

    def _run_lengths(self, row: int) -> dict[str, Any]:
        assert self.masks is not None
        runs = encode_part(self.masks[row], self.height, self.width)
        return {"size": [self.height, self.width], "counts": runs.counts.decode("ascii")}


def predicted_image(
    path: Path,
    size: tuple[int, int],
    found: Detections,
    row: int,
    *,
    names: Mapping[int, str],
    least_score: float,
    ids: Collection[int] | None = None,
) -> PredictedImage:
    """Choose the objects of one image of a batch.

    size: height and width of the image. least_score: what is below is left out. ids: classes that
    are kept; None: all.
    """
    count = int(found.count[row])
    scores, numbers = found.scores[row, :count], found.classes[row, :count] + 1
    kept = scores >= least_score
    if ids is not None:
        kept &= np.isin(numbers, list(ids))
    boxes = found.boxes[row, :count][kept]
    numbers = numbers[kept]
    masks = None
    if found.masks is not None:
        crops = found.masks[row, :count][kept]
        masks = tuple(paste_mask(*each, *size) for each in zip(crops, boxes, strict=True))
    return PredictedImage(
        path=path,
        height=size[0],
        width=size[1],
        boxes=boxes,
        ids=numbers.astype(np.int32),
        names=tuple(names.get(number, str(number)) for number in numbers.tolist()),
        scores=scores[kept],
        masks=masks,
        keypoints=_points(found, row, kept),
    )


def _points(found: Detections, row: int, kept: NDArray[np.bool_]) -> NDArray[np.float32] | None:
    """Give the keypoints of the chosen objects with their scores, 1 where a model gives none."""
    if found.keypoints is None:
        return None
    points = found.keypoints[row, : len(kept)][kept]
    scores = np.ones(points.shape[:2], np.float32)
    if found.keypoint_scores is not None:
        scores = found.keypoint_scores[row, : len(kept)][kept]
    joined: NDArray[np.float32] = np.concatenate([points, scores[..., None]], axis=-1)
    return joined
