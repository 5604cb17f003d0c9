"""COCO's keypoint metrics of one class, by the OD API's names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from holdfast.errors import HoldfastError
from holdfast.evaluation.metrics.coco_class import (
    KEYPOINT_MEASURES,
    NO_OBJECTS,
    Comparison,
    Rows,
    class_measures,
    found_rows,
    labeled_rows,
)
from holdfast.evaluation.metrics.compared_objects import (
    ComparedObjects,
    FoundObjects,
    LabeledObjects,
    choose_objects,
)

DEFAULT_SIGMA = 0.05  # the OD API's, for every keypoint, where the config gives none


@dataclass(frozen=True, kw_only=True)
class KeypointMetrics:
    """The keypoints of one class that are measured."""

    class_id: int  # in the label map
    class_name: str
    places: tuple[int, ...] | None = None  # which of the data's keypoints; None: all
    sigmas: tuple[float, ...] | None = None  # one for each place


class KeypointEvaluator:
    """Collects labeled and found objects of one class, then measures their keypoints.

    It keeps 8 bytes for each keypoint, and about 30 for each object.
    """

    def __init__(self, measured: KeypointMetrics) -> None:
        self._measured = measured
        self._labeled: list[Rows] = []
        self._found: list[Rows] = []

    def add(self, labeled: LabeledObjects, found: FoundObjects) -> None:
        """Take the objects of some images; every image comes once."""
        self._labeled.append(labeled_rows(self._of_class(labeled)))
        self._found.append(found_rows(self._of_class(found)))

    def result(self) -> dict[str, float]:
        """Give the metrics by name; -1 where no object has labeled keypoints."""
        values = [NO_OBJECTS] * len(KEYPOINT_MEASURES)
        if self._labeled:
            labeled, found = np.concatenate(self._labeled), np.concatenate(self._found)
            count = labeled["keypoints"].shape[1]
            sigmas = self._measured.sigmas or (DEFAULT_SIGMA,) * count
            comparison = Comparison(
                kind="keypoints",
                prefix="Keypoints_",
                measures=KEYPOINT_MEASURES,
                sigmas=sigmas,
            )
            if len(labeled):
                values = class_measures(labeled, found, comparison).tolist()
        names = (each.name for each in KEYPOINT_MEASURES)
        return {
            f"Keypoints_{name} ByCategory/{self._measured.class_name}": value
            for name, value in zip(names, values, strict=True)
        }

    def _of_class(self, objects: ComparedObjects) -> ComparedObjects:
        """Keep the objects of the class, with the keypoints that are measured."""
        if objects.keypoints is None:
            whose = "data" if isinstance(objects, LabeledObjects) else "detector"
            raise HoldfastError(
                f"Keypoints are to be evaluated, and the {whose} gives none.",
                fix="Remove them from metrics_set and parameterized_metric in eval_config, or set "
                "eval_input_reader.num_keypoints and take a detector with a keypoint task.",
            )
        of_class = choose_objects(objects, objects.classes == self._measured.class_id - 1)
        keypoints, places = of_class.keypoints, self._measured.places
        # A detector of one class may give its keypoints alone, not those of the whole data.
        if keypoints is not None and places is not None and keypoints.shape[1] != len(places):
            keypoints = keypoints[:, list(places)]
        return of_class._replace(keypoints=keypoints, masks=None)
