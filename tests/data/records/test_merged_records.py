"""An image that was written once for each box is one image with all boxes, wherever it is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.data.input.evaluation_input import evaluation_input
from holdfast.data.input.pipeline import Pipeline
from holdfast.data.input.resize import fixed_shape
from holdfast.data.input.training_input import InputSettings, training_pipeline
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.inspection import Records, inspect_data, records_of
from holdfast.data.survey.statistics import Statistics

from ..example_records import GOOD_BOX, png, record, write

IMAGES = 6


def boxes_of(image: int) -> np.ndarray:
    """Give an image 1 to 6 boxes, no two alike."""
    numbers = np.random.default_rng(image).uniform(0.0, 0.4, (image + 1, 2, 2))
    return np.float32(np.hstack([numbers[:, 0], numbers[:, 0] + 0.1 + numbers[:, 1]]))


@pytest.fixture
def one_each(tmp_path) -> Records:
    """Two files with a record for each box, those of an image in both of them, in no order."""
    parts: list[list[bytes]] = [[], []]
    for image in range(IMAGES):
        for index, box in enumerate(boxes_of(image).tolist()):
            part = record(
                [box],
                labels=[1 + index % 2],
                image=png(seed=image),
                source_id=str(image),
                image__object__weight=[float(index)],
            )
            parts[index % 2].append(part)
    parts[0].insert(3, record(image=b"broken", source_id="broken"))
    parts[1].append(parts[0][0])  # the very same again
    files = [write(tmp_path / f"{name}.record", part) for name, part in zip("ab", parts, strict=1)]
    return records_of(files, None)


def statistics_of(records: Records) -> Statistics:
    return inspect_data(records).statistics


def as_truth(boxes: np.ndarray, classes: np.ndarray, weights: np.ndarray) -> list[tuple]:
    rows = np.hstack([boxes, classes[:, None], weights[:, None]]).astype(np.float32)
    return sorted(map(tuple, rows.tolist()))


def expected(image: int) -> list[tuple]:
    index = np.arange(image + 1)
    return as_truth(boxes_of(image), index % 2, index)


def pipeline(records: Records, *, seed: int = 0, batch_size: int = 2, fields=()) -> Pipeline:
    settings = InputSettings(
        batch_size=batch_size,
        num_classes=2,
        height=16,
        width=16,
        has_fixed_shape=True,
        seed=seed,
        truth_fields=frozenset(fields),
    )
    statistics = statistics_of(records)
    return training_pipeline(records, statistics, settings, resize=resize)


def resize(image, masks):
    return fixed_shape(image, masks, height=16, width=16)


def test_statistics_count_images_once_and_all_of_their_boxes(one_each):
    inspection = inspect_data(one_each)
    found = inspection.statistics
    boxes = sum(image + 1 for image in range(IMAGES))
    assert (found.images, found.boxes) == (IMAGES, boxes)
    assert (found.images_left_out, found.boxes_left_out) == (2, 2)  # broken, and the very same
    assert found.boxes_per_image.maximum == IMAGES
    assert found.boxes_per_image.worst[0].source_id == str(IMAGES - 1)
    assert [each.boxes for each in found.boxes_per_image.worst] == [6, 5, 4, 3, 2]
    assert sum(found.classes.values()) == boxes
    (note,) = inspection.notes
    assert f"{boxes - IMAGES} records (" in note
    assert f"merged into {IMAGES - 1} images." in note


def test_what_was_remembered_merges_alike(one_each):
    first, again = statistics_of(one_each), statistics_of(one_each)
    assert repr(first) == repr(again)


def test_training_sees_every_image_once_an_epoch_with_all_boxes(one_each):
    batches = pipeline(one_each).batches().take(IMAGES)  # two epochs
    seen: list[str] = []
    for batch in batches.as_numpy_iterator():
        for index, name in enumerate(batch.source_ids):
            count = int(name) + 1
            truth = (getattr(batch.truth, key)[index] for key in ("boxes", "classes", "weights"))
            boxes, classes, weights = truth
            assert as_truth(boxes[:count], classes[:count], weights[:count]) == expected(int(name))
            assert not weights[count:].any()
            seen.append(name.decode())
    assert sorted(seen[:IMAGES]) == sorted(seen[IMAGES:]) == [str(each) for each in range(IMAGES)]


def test_the_seed_decides_the_order_of_merged_images(one_each):
    def order(seed: int) -> list[bytes]:
        taken = pipeline(one_each, seed=seed).batches().take(6).as_numpy_iterator()
        return [name for batch in taken for name in batch.source_ids]

    assert order(3) == order(3)
    assert order(3) != order(4)


def test_evaluation_sees_the_same(one_each):
    data = evaluation_input(
        one_each,
        statistics_of(one_each),
        resize=resize,
        num_classes=2,
        height=16,
        width=16,
        has_fixed_shape=True,
    )
    found = {}
    for batch in data.batches().as_numpy_iterator():
        count, truth = batch.truth.counts[0], batch.truth
        lists = (each[0, :count] for each in (truth.boxes, truth.classes, truth.weights))
        found[int(batch.source_ids[0])] = as_truth(*lists)
    assert found == {image: expected(image) for image in range(IMAGES)}


def test_records_that_repeat_earlier_boxes_add_the_new_ones_alone(tmp_path):
    """Generators that forget to empty their lists write boxes 1, then 1 and 2, then 1, 2 and 3."""
    every = boxes_of(2).tolist()
    records = [record(every[: count + 1]) for count in range(3)]
    found = statistics_of(records_of([write(tmp_path / "a.record", records)], None))
    assert (found.images, found.boxes) == (1, 3)
    (left_out,) = found.left_out
    assert (left_out.images, left_out.boxes) == (0, 3)
    batch = next(iter(pipeline(_opened(tmp_path), batch_size=1).batches()))
    np.testing.assert_array_equal(batch.truth.boxes[0], np.float32(every))


def _opened(folder: Path) -> Records:
    return records_of([str(folder / "a.record")], None)


def test_lists_of_several_entries_for_each_box_are_joined_and_those_of_some_are_not(tmp_path):
    keypoints = {
        "image__object__keypoint__x": [0.1, 0.2],
        "image__object__keypoint__y": [0.3, 0.4],
    }
    other = [0.2, 0.2, 0.9, 0.9]
    records = [
        record([GOOD_BOX], **keypoints, image__object__weight=[0.5]),
        record([other, GOOD_BOX], **{key: [0.6, 0.7, 0.1, 0.2] for key in keypoints}),
    ]
    layout = RecordLayout(num_keypoints=2)
    opened = records_of([write(tmp_path / "a.record", records)], None, layout)
    batch = next(iter(pipeline(opened, batch_size=1, fields=["keypoints"]).batches()))
    np.testing.assert_array_equal(batch.truth.boxes[0], np.float32([GOOD_BOX, other]))
    points = np.float32([[[0.3, 0.1], [0.4, 0.2]], [[0.6, 0.6], [0.7, 0.7]]])
    np.testing.assert_array_equal(batch.truth.keypoints[0], points)
    np.testing.assert_array_equal(batch.truth.weights[0], [1.0, 1.0])


def test_an_image_that_was_written_without_boxes_first_gets_those_of_later_records(tmp_path):
    opened = records_of([write(tmp_path / "a.record", [record([]), record([GOOD_BOX])])], None)
    batch = next(iter(pipeline(opened, batch_size=1).batches()))
    np.testing.assert_array_equal(batch.truth.boxes[0], np.float32([GOOD_BOX]))
