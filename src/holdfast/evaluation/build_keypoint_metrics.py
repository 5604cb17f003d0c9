"""Turn eval_config into the keypoints that are measured."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from holdfast.config.schema.eval import CocoKeypointMetrics, EvalConfig
from holdfast.errors import HoldfastError, nearest
from holdfast.evaluation.metrics.coco_keypoints import KeypointMetrics

# label-map id -> names of the class's keypoints and their places among all of the data's
Keypoints = Mapping[int, Mapping[str, int]]


def build_keypoint_metrics(
    evaluation: EvalConfig,
    classes: Mapping[int, str],
    keypoints: Keypoints,
    learned: Collection[str] = (),
) -> tuple[KeypointMetrics, ...]:
    """Say whose keypoints are measured: what parameterized_metric names, else those of every class.

    classes: label-map id -> name. Where no class of the label map has named keypoints, every class
    has all of the data's. learned: names of the classes whose keypoints are learned; (): of all.
    """
    settings = [each.coco_keypoint_metrics for each in evaluation.parameterized_metric]
    if named := [each for each in settings if each is not None]:
        return tuple(_named(named, classes, keypoints))
    return tuple(
        KeypointMetrics(
            class_id=number,
            class_name=name,
            places=tuple(sorted(keypoints[number].values())) if keypoints else None,
        )
        for number, name in classes.items()
        if (number in keypoints or not keypoints) and (name in learned or not learned)
    )


def _named(
    settings: list[CocoKeypointMetrics], classes: Mapping[int, str], keypoints: Keypoints
) -> Iterator[KeypointMetrics]:
    ids = {name: number for number, name in classes.items()}
    for each in settings:
        if each.class_label not in ids:
            similar = (*nearest(each.class_label, ids), *ids, "")[0]
            raise HoldfastError(
                f"coco_keypoint_metrics.class_label: no class is called {each.class_label!r}.",
                fix=f"Write class_label: {similar!r}, or another name of the label map.",
            )
        number = ids[each.class_label]
        points = keypoints.get(number, {})
        labels = sorted(points, key=lambda label: points[label])
        yield KeypointMetrics(
            class_id=number,
            class_name=each.class_label,
            places=tuple(points[label] for label in labels) or None,
            sigmas=_sigmas(each, labels),
        )


def _sigmas(setting: CocoKeypointMetrics, labels: list[str]) -> tuple[float, ...] | None:
    """Give the sigma of each keypoint in the order of its place; None where the config has none."""
    sigmas = setting.keypoint_label_to_sigmas
    if not sigmas:
        return None
    if lacking := [label for label in labels if label not in sigmas]:
        raise HoldfastError(
            f"keypoint_label_to_sigmas has none for {lacking[0]!r}.",
            fix=f"Give one for each keypoint of the label map: {', '.join(labels)}.",
        )
    if not labels:
        raise HoldfastError(
            f"The label map names no keypoints of {setting.class_label!r}, and "
            "keypoint_label_to_sigmas does.",
            fix="Write keypoints { id: 0 label: … } into the class's item of the label map.",
        )
    return tuple(sigmas[label] for label in labels)
