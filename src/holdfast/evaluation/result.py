"""What an evaluation found out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ClassScore:
    """How well one class is found; COCO's average precision, None without any object."""

    ap: float | None  # mean over the IoU thresholds 0.5, 0.55, … 0.95
    ap50: float | None  # at IoU 0.5
    objects: int  # crowds are not counted
    # Of masks and keypoints, where these are evaluated.
    mask_ap: float | None = None
    mask_ap50: float | None = None
    keypoint_ap: float | None = None
    keypoint_ap50: float | None = None


SHAPE_SCORES = ("mask_ap", "mask_ap50", "keypoint_ap", "keypoint_ap50")


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """Metrics of one pass over the data.

    COCO's metrics are -1 where no object counts for them, Pascal's are NaN, as in the OD API.
    """

    metrics: Mapping[str, float]  # by the OD API's names; losses are there too, if asked for
    per_class: Mapping[str, ClassScore]  # by name, in the order of the label map
    images: int
    seconds: float | None = None

    def document(self) -> dict[str, Any]:
        """Give what `--json` prints; a number that is not finite becomes null.

        >>> result = EvaluationResult(metrics={"a": math.nan, "b": 0.5}, per_class={}, images=1)
        >>> result.document()
        {'metrics': {'a': None, 'b': 0.5}, 'per_class': {}, 'images': 1, 'seconds': None}
        """
        return {
            "metrics": {
                name: value if math.isfinite(value) else None
                for name, value in self.metrics.items()
            },
            "per_class": {name: self._scores(score) for name, score in self.per_class.items()},
            "images": self.images,
            "seconds": self.seconds,
        }

    def _scores(self, score: ClassScore) -> dict[str, Any]:
        """Give the scores of a class; those that no class has are not listed."""
        unset = {
            name
            for name in SHAPE_SCORES
            if all(getattr(each, name) is None for each in self.per_class.values())
        }
        return {name: value for name, value in asdict(score).items() if name not in unset}
