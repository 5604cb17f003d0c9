"""Statistics of one pass, compared with NumPy over all images at once and with real data."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.inspection import inspect_data, open_data
from holdfast.data.survey.observe import observe_records
from holdfast.data.survey.statistics import Statistics, gather

from ..example_records import GOOD_BOX, pixels_of, png, record, write

BAD_BOX = (0.5, 0.5, 0.5, 0.5)


def statistics_of(folder: Path, *records: bytes) -> Statistics:
    file = write(folder / "a.record", records)
    return gather(observe_records([file], RecordLayout()))


def test_counts_of_kept_and_left_out_are_all_that_was_written(tmp_path):
    found = statistics_of(
        tmp_path,
        record([GOOD_BOX, BAD_BOX], texts=["a", "b"], source_id="0", image=png(seed=0)),
        record([GOOD_BOX, GOOD_BOX], texts=["a", "c"], source_id="1", image=png(seed=1)),
        record([GOOD_BOX] * 3, source_id="2", image=b"broken"),
        record([GOOD_BOX] * 2, labels=[1], source_id="3"),
        record([], source_id="4", image=png(seed=4)),
        record([GOOD_BOX], texts=["a"], source_id="1", image=png(seed=1)),
    )
    assert (found.images, found.boxes) == (3, 3)
    assert found.classes == {"a": 2, "c": 1}
    assert (found.images + found.images_left_out, found.boxes + found.boxes_left_out) == (6, 10)
    rows = [(each.reason, each.images, each.boxes, each.images_affected) for each in found.left_out]
    assert rows == [
        ("no height or no width", 0, 1, 1),
        ("numbers of coordinates and labels differ", 1, 2, 1),
        ("the image cannot be decoded", 1, 3, 1),
        ("the same image with the same id and boxes was there before", 1, 1, 1),
    ]
    file = f"{tmp_path}/a.record"
    assert found.left_out[0].examples == (f"{file}, record 0 (0)",)
    assert found.left_out[1].examples == (f"{file}, record 3 (3): class/label 1, others 2",)
    assert found.records_left_out == ((file, 2), (file, 3), (file, 5))


def test_at_most_five_places_are_named(tmp_path):
    bad = [record(image=b"broken", source_id=str(number)) for number in range(8)]
    (left_out,) = statistics_of(tmp_path, *bad).left_out
    assert (left_out.images, len(left_out.examples)) == (8, 5)


def test_sizes_are_those_of_numpy(tmp_path):
    sizes = [(20, 10), (30, 30), (8, 40)]  # width, height
    boxes = np.float32([[0.1, 0.2, 0.5, 0.6], [0.0, 0.0, 1.0, 0.5], [0.25, 0.25, 0.75, 0.3]])
    images = [png(*size, seed=number) for number, size in enumerate(sizes)]
    records = [
        record(boxes[: number + 1].tolist(), image=image, source_id=str(number))
        for number, image in enumerate(images)
    ]
    found = statistics_of(tmp_path, *records)
    assert found.image_sizes.width.maximum == 30
    assert found.image_sizes.height.median == 30
    orientations = (found.image_sizes.landscape, found.image_sizes.portrait)
    assert (*orientations, found.image_sizes.square) == (1, 1, 1)
    extents = np.array([(sizes[image], boxes[box]) for image, box in _pairs()], dtype=object)
    widths = [size[0] * (box[3] - box[1]) for size, box in extents]
    heights = [size[1] * (box[2] - box[0]) for size, box in extents]
    assert found.box_sizes.width_pixels.median == pytest.approx(np.median(widths))
    assert found.box_sizes.height_pixels.percent_95 == pytest.approx(np.percentile(heights, 95))
    ratios = np.divide(widths, heights)
    assert found.box_sizes.aspect_ratio.percent_25 == pytest.approx(np.percentile(ratios, 25))
    assert found.box_sizes.height.minimum == pytest.approx(0.4)
    assert found.boxes_per_image.mean == 2
    assert [each.boxes for each in found.boxes_per_image.worst] == [3, 2, 1]
    assert found.boxes_per_image.worst[0].source_id == "2"
    assert found.largest_image_bytes == 30 * 30 * 3
    assert found.largest_image.endswith("(1)")
    assert found.stored_bytes == tuple(sorted(map(len, records)))


def _pairs() -> list[tuple[int, int]]:
    return [(image, box) for image in range(3) for box in range(image + 1)]


def test_pixel_mean_and_deviation_count_each_image_alike(tmp_path):
    images = [png(20, 10, seed=1), png(20, 10, seed=2)]
    found = statistics_of(
        tmp_path, *(record(image=image, source_id=str(n)) for n, image in enumerate(images))
    )
    pixels = np.concatenate([pixels_of(image).reshape(-1, 3) for image in images])
    np.testing.assert_allclose(found.pixel_mean, pixels.mean(axis=0))
    np.testing.assert_allclose(found.pixel_deviation, pixels.std(axis=0))


def test_one_id_for_images_of_other_content_is_noted_and_all_are_kept(tmp_path):
    found = statistics_of(tmp_path, *(record(image=png(seed=number)) for number in range(3)))
    assert found.images == 3
    (remark,) = found.remarks
    assert (remark.text, remark.images) == ("has the id of another image with other content", 2)


def test_no_image_at_all_gives_empty_statistics(tmp_path):
    found = statistics_of(tmp_path)
    assert found == Statistics(images=0, boxes=0, classes={})


# Real data.

NAMES = [f"records{number:02d}.tfrecord" for number in range(1, 22)]
LEFT_OUT = {
    "records07.tfrecord": {"no height or no width": (0, 2)},
    "records08.tfrecord": {"the same image with the same id and boxes was there before": (17, 49)},
    "records09.tfrecord": {"the class id is 0 or negative": (0, 1)},
}


@pytest.mark.parametrize("name", NAMES)
def test_real_records_count_as_their_index_says(corpus, name):
    with open(corpus / "records" / "index.tsv", encoding="utf-8") as stream:
        rows = {row["file"]: row for row in csv.DictReader(stream, delimiter="\t")}
    row = rows[name]
    found = statistics_of_file(corpus / "records" / name)
    assert found.images + found.images_left_out == int(row["examples"])
    assert found.boxes + found.boxes_left_out == int(row["boxes"])
    reasons = {each.reason: (each.images, each.boxes) for each in found.left_out}
    assert reasons == LEFT_OUT.get(name, {})
    # The index counts numbers only; these two name their classes by text alone.
    text_only = {"records03.tfrecord": 4, "records05.tfrecord": 2}
    lost = 1 if name == "records09.tfrecord" else 0
    assert len(found.classes) == text_only.get(name, int(row["classes"]) - lost)


def statistics_of_file(path: Path) -> Statistics:
    return gather(observe_records([str(path)], RecordLayout()))


DATA_SETS = {
    "bccd": (364, {"RBC": 4153, "WBC": 372, "Platelets": 361}, 2),
    "raccoon": (200, {"raccoon": 217}, 0),
    "fruits_nuts_coco_seg": (18, {"date": 71, "hazelnut": 53, "fig": 41}, 0),
    "rbc_coco": (240, {"rbc": 5387, "wbc": 251}, 0),
    "okra_yolo": (112, {"class_1": 107, "class_9": 93, "class_5": 85}, 0),
}


@pytest.mark.parametrize("name", DATA_SETS)
def test_real_data_sets_count_as_their_authors_say(shared, name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = inspect_data(open_data(str(shared / "datasets" / name))).statistics
    images, classes, left_out = DATA_SETS[name]
    assert (found.images, found.images_left_out) == (images, 0)
    assert (found.classes, found.boxes_left_out) == (classes, left_out)
