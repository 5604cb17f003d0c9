"""Which keypoints the tasks of a CenterNet are about, by its label map of keypoints."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from holdfast.config.label_map import load_label_map
from holdfast.config.paths import find_files
from holdfast.config.schema.center_net import CenterNet, KeypointEstimation
from holdfast.config.schema.label_map_items import StringIntLabelMapItem
from holdfast.errors import HoldfastError, nearest

USUAL_DEVIATION = 1.0  # of a keypoint's Gaussian, relative to that of its object's box


class TaskKeypoints(NamedTuple):
    """The keypoints of one task."""

    class_index: int  # 0-based
    indices: tuple[int, ...]  # among all keypoints of the data
    deviations: tuple[float, ...]  # of their Gaussians


def task_keypoints(config: CenterNet, folder: Path) -> dict[str, TaskKeypoints]:
    """Look the keypoints of each task up, by its name; {} without such tasks.

    folder: of the config, from which the label map is looked up after the working directory.
    """
    if not config.keypoint_estimation_task:
        return {}
    written = config.keypoint_label_map_path
    found = find_files(written, folder).files if written else ()
    if not found:
        raise HoldfastError(
            f"There is no label map of keypoints {written!r}.",
            fix="Correct model.center_net.keypoint_label_map_path.",
        )
    items = {item.name: item for item in load_label_map(found[0]).item if item.keypoints}
    known = {
        task.task_name: _of_task(task, items, str(found[0]))
        for task in config.keypoint_estimation_task
    }
    _refuse_shared(known)
    return known


def _of_task(
    task: KeypointEstimation, items: dict[str, StringIntLabelMapItem], source: str
) -> TaskKeypoints:
    item = items.get(task.keypoint_class_name)
    if item is None:
        similar = nearest(task.keypoint_class_name, items, 1) or list(items)[:1]
        raise HoldfastError(
            f"{source} has no class {task.keypoint_class_name!r} with keypoints.",
            fix=f"Did you mean keypoint_class_name: {similar[0]!r}?"
            if similar
            else "Write `keypoints { id: 0 label: … }` in the items of the label map.",
        )
    labels = [keypoint.label for keypoint in item.keypoints]
    for label in task.keypoint_label_to_std:
        if label not in labels:
            similar = nearest(label, labels, 1)
            raise HoldfastError(
                f"keypoint_label_to_std names {label!r}, which is no keypoint of {item.name!r}.",
                fix=f"Did you mean {similar[0]!r}?" if similar else f"Use {', '.join(labels)}.",
            )
    return TaskKeypoints(
        class_index=item.id - 1,
        indices=tuple(keypoint.id for keypoint in item.keypoints),
        deviations=tuple(
            task.keypoint_label_to_std.get(label, USUAL_DEVIATION) for label in labels
        ),
    )


def _refuse_shared(known: dict[str, TaskKeypoints]) -> None:
    """Raise where two tasks want the same class or keypoint, as the OD API does."""
    classes: dict[int, str] = {}
    keypoints: dict[int, str] = {}
    for name, task in known.items():
        for what, values, seen in (
            ("class", (task.class_index,), classes),
            ("keypoint", task.indices, keypoints),
        ):
            for value in values:
                if value in seen:
                    raise HoldfastError(
                        f"The keypoint tasks {seen[value]!r} and {name!r} share a {what}.",
                        fix="Give each task a class of its own, and its keypoints their own ids.",
                    )
                seen[value] = name
