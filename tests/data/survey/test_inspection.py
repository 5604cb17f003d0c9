"""What data a path leads to, and how bad data reaches the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.config.schema.label_map_items import StringIntLabelMap, StringIntLabelMapItem
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.source import Source
from holdfast.data.survey.inspection import Records, inspect_data, open_data
from holdfast.errors import HoldfastError

from ..example_records import GOOD_BOX, png, record, write

LABEL_MAP = StringIntLabelMap(
    item=(
        StringIntLabelMapItem(id=1, name="/m/01", display_name="cat"),
        StringIntLabelMapItem(id=4, name="dog"),
    )
)


def yolo(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "a.png").write_bytes(png())
    (folder / "a.txt").write_text("0 0.5 0.5 0.2 0.4\n")


def test_a_folder_of_records_is_records_and_one_of_annotations_is_a_source(tmp_path):
    write(tmp_path / "records" / "a.record", [record()])
    yolo(tmp_path / "yolo")
    assert isinstance(open_data(str(tmp_path / "records")), Records)
    assert isinstance(open_data(str(tmp_path / "yolo")), Source)


def test_a_folder_of_both_asks_which(tmp_path):
    yolo(tmp_path)
    write(tmp_path / "a.record", [record()])
    with pytest.raises(HoldfastError, match="holds TFRecords and yolo annotations") as caught:
        open_data(str(tmp_path))
    assert "--format tfrecord or --format yolo" in caught.value.fix
    assert isinstance(open_data(str(tmp_path), "tfrecord"), Records)
    assert isinstance(open_data(str(tmp_path), "yolo"), Source)


@pytest.mark.parametrize("name", ["gone.record", "gone*.record", "gone"])
def test_a_path_to_nothing_is_an_error(tmp_path, name):
    with pytest.raises(HoldfastError, match="gone"):
        open_data(f"{tmp_path}/{name}")


def test_classes_are_named_by_the_label_map_whichever_text_the_records_use(tmp_path):
    file = write(
        tmp_path / "a.record",
        [
            record([GOOD_BOX] * 3, labels=[1, 4, 2], source_id="1"),
            record([GOOD_BOX] * 3, labels=[], texts=["cat", "/m/01", "cow"], source_id="2"),
        ],
    )
    found = inspect_data(open_data(file, label_map=LABEL_MAP)).statistics
    assert found.classes == {"cat": 3, "dog": 1}
    (left_out,) = found.left_out
    assert (left_out.reason, left_out.boxes) == ("the class is not in the label map", 2)


def test_an_empty_file_among_others_is_noted_and_alone_it_is_an_error(tmp_path):
    empty = write(tmp_path / "empty.record", [])
    write(tmp_path / "full.record", [record()])
    found = inspect_data(open_data(str(tmp_path)))
    assert (found.statistics.images, found.notes) == (1, (f"{empty} holds no record.",))
    with pytest.raises(HoldfastError, match=r"empty\.record holds no record"):
        inspect_data(open_data(empty))
    with pytest.raises(HoldfastError, match=r"empty\.record holds no record"):
        inspect_data(open_data(str(tmp_path)), strict=True)


SIDES = {f"image/object/bbox/{side}": f"image/object/box/{side}" for side in ("xmin", "ymin")}
SIDES |= {f"image/object/bbox/{side}": f"image/object/box/{side}" for side in ("xmax", "ymax")}


def test_misspelled_box_keys_are_named(tmp_path):
    file = write(tmp_path / "a.record", [record(labels=[], rename=SIDES)])
    found = inspect_data(open_data(file))
    assert (found.statistics.images, found.statistics.boxes) == (1, 0)
    for right, wrong in SIDES.items():
        assert f"Holdfast does not read the key `{wrong}`: did you mean `{right}`?" in found.notes


def test_labels_without_boxes_of_the_right_name_are_counts_that_differ(tmp_path):
    file = write(tmp_path / "a.record", [record(rename=SIDES)])
    found = inspect_data(open_data(file))
    assert [each.images for each in found.statistics.left_out] == [1]
    assert any("did you mean `image/object/bbox/xmin`?" in note for note in found.notes)


def test_a_misspelled_image_key_is_named(tmp_path):
    file = write(tmp_path / "a.record", [record(rename={"image/encoded": "image/encodes"})])
    found = inspect_data(open_data(file))
    assert found.statistics.images == 0
    assert (
        "Holdfast does not read the key `image/encodes`: did you mean `image/encoded`?"
        in found.notes
    )


def test_good_records_with_keys_of_their_own_are_not_bothered(tmp_path):
    file = write(tmp_path / "a.record", [record(image__camera=[3])])
    assert inspect_data(open_data(file)).notes == ()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (
            record([GOOD_BOX, (0.5, 0.2, 0.1, 0.6)], source_id="bad.png"),
            r"record 1 \(bad\.png\): box 1: minimum and maximum are swapped",
        ),
        (record(image=b"x", source_id="bad.png"), r"record 1 \(bad\.png\): the image cannot be"),
        (
            record(),
            r"record 1 \(one\.png\): the same image with the same id and boxes was there before",
        ),
    ],
)
def test_strict_stops_at_the_first_and_names_it(tmp_path, bad, said):
    file = write(tmp_path / "a.record", [record(), bad, record(image=b"")])
    inspect_data(open_data(file))  # what is remembered must not hide it
    with pytest.raises(HoldfastError, match=said):
        inspect_data(open_data(file), strict=True)


def test_strict_lets_good_data_pass(tmp_path):
    file = write(tmp_path / "a.record", [record()])
    assert inspect_data(open_data(file), strict=True).statistics.images == 1


def test_progress_goes_up_to_its_total(tmp_path):
    records = [record(source_id=str(number)) for number in range(5)]
    reports: list[tuple[int, int]] = []
    data = open_data(write(tmp_path / "a.record", records))
    inspect_data(data, progress=lambda *report: reports.append(report))
    assert [done for done, _ in reports] == sorted({done for done, _ in reports})
    assert all(done <= total for done, total in reports)
    assert len(reports) == 5


def test_a_table_that_is_not_annotations_is_not_called_a_damaged_record_file(tmp_path):
    (tmp_path / "prices.csv").write_text("fruit,price\napple,3\n")
    with pytest.raises(HoldfastError, match="holds no annotations in a format that Holdfast knows"):
        open_data(str(tmp_path / "prices.csv"))


def test_an_archive_is_not_called_a_damaged_record_file(tmp_path):
    (tmp_path / "data.zip").write_bytes(b"PK")
    with pytest.raises(HoldfastError, match="is an archive"):
        open_data(str(tmp_path / "data.zip"))


def test_an_address_of_the_web_is_an_error_of_holdfast():
    with pytest.raises(HoldfastError, match="does not read https"):
        open_data("https://x.org/cats.zip")


def test_masks_and_keypoints_are_told_of_records_and_of_sources(tmp_path):
    source = open_data("2@48", "synthetic")
    found = inspect_data(source)
    assert (found.has_masks, found.num_keypoints) == (True, 5)
    convert(source, str(tmp_path / "records"), val=0.0)
    found = inspect_data(open_data(str(tmp_path / "records")))
    assert (found.has_masks, found.num_keypoints) == (True, 5)
    write(tmp_path / "plain" / "a.record", [record()])
    found = inspect_data(open_data(str(tmp_path / "plain")))
    assert (found.has_masks, found.num_keypoints) == (False, 0)
