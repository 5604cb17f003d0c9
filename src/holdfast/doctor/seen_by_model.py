"""What a run's detector finds in the training images, beside what is labeled there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.checkpoints.transfer import load_checkpoint
from holdfast.config.facts.input_sizes import input_shape
from holdfast.data.input.build_input import build_resizer
from holdfast.data.input.decode_images import decoded_image
from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.doctor.appearances import encoded_images
from holdfast.doctor.detection_cache import keep_detections, kept_detections
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.whole_images import WholeImage
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import build_evaluation_step, evaluates_averages
from holdfast.models.detectors.build_detector import build_detector

if TYPE_CHECKING:
    from holdfast.doctor.case import Case

MOST_IMAGES = 1000  # seconds to minutes of work; shares are known well by then
LEAST_SCORE = 0.01  # what is less certain says nothing
_BATCH = 8
_NO_TRUTH = LabeledTruth(*(None,) * len(LabeledTruth._fields))

Pixels = NDArray[np.uint8]


class FoundBoxes(NamedTuple):
    """What a detector found in an image, by falling score; D detections."""

    boxes: NDArray[np.float32]  # (D, 4) y_min, x_min, y_max, x_max, normalized to the image
    classes: NDArray[np.int32]  # (D,) ids of the label map
    scores: NDArray[np.float32]  # (D,)


NOTHING = FoundBoxes(np.zeros((0, 4), np.float32), np.zeros(0, np.int32), np.zeros(0, np.float32))


class SeenImage(NamedTuple):
    """An image as it is labeled, and what the detector sees in it; D detections."""

    image: WholeImage
    boxes: NDArray[np.float32]  # (D, 4)
    class_names: tuple[str, ...]  # D
    scores: NDArray[np.float32]  # (D,) falling


def seen_by_model(case: Case) -> tuple[SeenImage, ...]:
    """Run the detector of a run's last checkpoint over training images, an even part of many.

    What was found is kept in the run's folder, if that can be written: the next look at the same
    checkpoint and images takes no time.
    """
    images = case.train.images
    chosen = images[:: -(-max(len(images), 1) // MOST_IMAGES)]
    found = kept_detections(case.run_path, case.weights.checkpoint.step, chosen)
    if found is None:
        found = list(_detected(case, chosen))
        keep_detections(case.run_path, case.weights.checkpoint.step, chosen, found)
    names = case.train.records.names or {}
    return tuple(
        SeenImage(
            image=image,
            boxes=each.boxes,
            class_names=tuple(names.get(number, str(number)) for number in each.classes.tolist()),
            scores=each.scores,
        )
        for image, each in zip(chosen, found, strict=True)
    )


def _detected(case: Case, images: Sequence[WholeImage]) -> Iterator[FoundBoxes]:
    """Detect in images, in their order; one that does not decode has no detections."""
    run = _batch_runner(case)
    detected = dict.fromkeys((image.place for image in images), NOTHING)
    shape = input_shape(case.model)
    size = _BATCH if shape is not None and shape.fixed else 1
    with case.watch("detect in the training images", "images") as progress:
        waiting, done = _pixels(case, images), 0
        while group := list(islice(waiting, size)):
            # Always a whole batch: another shape would be traced again.
            filled = [pixels for _, pixels in (group + group[:1] * size)[:size]]
            for (place, _), found in zip(group, run(filled), strict=False):
                detected[place] = found
            done += len(group)
            progress(done, len(images))
    yield from detected.values()


def _batch_runner(case: Case) -> Callable[[Sequence[Pixels]], Iterator[FoundBoxes]]:
    """Build the run's detector, and give the function that detects in a batch of images."""
    resizer = case.detector.image_resizer
    if resizer is None:
        raise MissingError("the config has no image_resizer")
    detector = build_detector(case.config)
    checkpoint = case.weights
    has_averages = any(name.startswith("average/") for name in checkpoint.tensors)
    averages = has_averages and evaluates_averages(case.config)
    report = load_checkpoint(detector, checkpoint.checkpoint.path, use_moving_average=averages)
    if report.missing or report.mismatched:
        raise MissingError("the run's checkpoint does not fill the detector of its config")
    step, resize = build_evaluation_step(case.config, detector), build_resizer(resizer)

    def run(images: Sequence[Pixels]) -> Iterator[FoundBoxes]:
        resized = [resize(image, None) for image in images]
        batch = EvaluationBatch(
            images=np.stack([np.asarray(each.image, np.float32) for each in resized]),
            sizes=np.stack([np.asarray(each.size) for each in resized]),
            original_sizes=np.array([image.shape[:2] for image in images], np.int32),
            truth=_NO_TRUTH,
            source_ids=np.array([b""] * len(images)),
            is_real=np.ones(len(images), np.bool_),
        )
        found = step(batch).detections
        fields = (np.asarray(each) for each in (found.boxes, found.classes, found.scores))
        for boxes, classes, scores in zip(*fields, strict=True):
            kept = scores >= LEAST_SCORE
            yield FoundBoxes(boxes[kept], classes[kept].astype(np.int32) + 1, scores[kept])

    return run


def _pixels(case: Case, images: Sequence[WholeImage]) -> Iterator[tuple[tuple[str, int], Pixels]]:
    places = [image.place for image in images]
    for place, encoded in encoded_images(case.train.records, places):
        try:
            with decoded_image(encoded) as pixels:
                yield place, pixels
        except HoldfastError:
            continue
