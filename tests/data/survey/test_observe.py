"""Every image is seen once, and whatever is wrong with it has an outcome that names the place."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from holdfast.data.input import decode_images
from holdfast.data.sources import decode_gate
from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.tfrecord import RecordLayout
from holdfast.data.survey.box_validity import Reason
from holdfast.data.survey.observe import (
    Observation,
    observe_records,
    observe_source,
    repeated_images_merged,
)
from holdfast.errors import HoldfastError

from ..example_records import GOOD_BOX, claiming, pixels_of, png, record, write

NAMES = {1: "cat", 2: "dog", 5: "bird"}
LAYOUT = RecordLayout(class_ids={"cat": 1, "dog": 2, "bird": 5}, known_ids=tuple(NAMES))


def gray(width: int, height: int) -> bytes:
    pixels = np.random.default_rng(0).integers(0, 2, (height, width), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def observe(folder: Path, *records: bytes, names: Any = NAMES) -> list[Observation]:
    file = write(folder / "a.record", records)
    layout = LAYOUT if names else RecordLayout()
    return list(repeated_images_merged(observe_records([file], layout, names)))


BAD_BOXES = {
    "no height": ((0.5, 0.2, 0.5, 0.6), Reason.DEGENERATE),
    "no width": ((0.1, 0.2, 0.5, 0.2), Reason.DEGENERATE),
    "beyond the rim": ((0.1, 0.2, 0.5, 1.3), Reason.OUTSIDE),
    "wholly outside": ((1.2, 0.2, 1.5, 0.6), Reason.OUTSIDE),
    "negative": ((-0.3, 0.2, 0.5, 0.6), Reason.OUTSIDE),
    "not a number": ((0.1, float("nan"), 0.5, 0.6), Reason.NOT_A_NUMBER),
    "infinite": ((0.1, 0.2, float("inf"), 0.6), Reason.NOT_A_NUMBER),
    "swapped": ((0.5, 0.2, 0.1, 0.6), Reason.SWAPPED),
    "pixels": ((10.0, 20.0, 50.0, 60.0), Reason.PIXELS),
}


@pytest.mark.parametrize(("box", "reason"), BAD_BOXES.values(), ids=BAD_BOXES)
def test_a_bad_box_is_left_out_and_the_others_of_the_image_stay(tmp_path, box, reason):
    (seen,) = observe(tmp_path, record([GOOD_BOX, box, GOOD_BOX], labels=[1, 2, 2]))
    assert seen.place == f"{tmp_path}/a.record, record 0"
    assert seen.source_id == "one.png"
    assert seen.reason is Reason.KEPT
    assert seen.box_reasons == (Reason.KEPT, reason, Reason.KEPT)
    assert seen.class_names == ("cat", "dog")
    np.testing.assert_array_equal(seen.boxes, np.float32([GOOD_BOX] * 2))


BAD_CLASSES = {
    "above the label map": ({"labels": [6]}, Reason.UNKNOWN_CLASS),
    "in a gap of the label map": ({"labels": [3]}, Reason.UNKNOWN_CLASS),
    "too large for int32": ({"labels": [2**40]}, Reason.UNKNOWN_CLASS),
    "an unknown text": ({"labels": [1], "texts": ["cow"]}, Reason.UNKNOWN_CLASS),
    "zero": ({"labels": [0]}, Reason.NO_CLASS),
    "negative": ({"labels": [-(2**40)]}, Reason.NO_CLASS),
}


@pytest.mark.parametrize(("classes", "reason"), BAD_CLASSES.values(), ids=BAD_CLASSES)
def test_a_class_outside_of_the_label_map_leaves_its_box_out(tmp_path, classes, reason):
    (seen,) = observe(tmp_path, record(**classes))
    assert (seen.reason, seen.box_reasons) == (Reason.KEPT, (reason,))


def test_text_without_label_is_a_class(tmp_path):
    (seen,) = observe(tmp_path, record(labels=[], texts=["bird"]))
    assert (seen.box_reasons, seen.class_names) == ((Reason.KEPT,), ("bird",))


def test_text_goes_before_the_label_as_in_the_od_api(tmp_path):
    (seen,) = observe(tmp_path, record(labels=[1], texts=["bird"]))
    assert seen.class_names == ("bird",)


def test_without_label_map_classes_are_named_by_text_or_else_by_id(tmp_path):
    named, texts, numbers = observe(
        tmp_path,
        record(labels=[7], texts=["cow"], source_id="1"),
        record(labels=[], texts=["owl"], source_id="2"),
        record(labels=[7], source_id="3"),
        names=None,
    )
    assert (named.class_names, texts.class_names, numbers.class_names) == (
        ("cow",),
        ("owl",),
        ("7",),
    )


WRONG_COUNTS = {
    "fewer labels": ({"labels": [1]}, "class/label 1"),
    "no labels": ({"labels": []}, "class/label 0"),
    "fewer coordinates": ({"image__object__bbox__ymin": [0.1]}, "bbox/ymin 1"),
    "fewer flags": ({"image__object__difficult": [1]}, "difficult 1"),
    "more weights": ({"image__object__weight": [1.0] * 3}, "weight 3"),
}


@pytest.mark.parametrize(("features", "detail"), WRONG_COUNTS.values(), ids=WRONG_COUNTS)
def test_counts_that_differ_leave_the_image_out_with_all_its_boxes(tmp_path, features, detail):
    (seen,) = observe(tmp_path, record([GOOD_BOX] * 2, **features))
    assert seen.reason is Reason.COUNTS_DIFFER
    assert seen.box_reasons == (Reason.COUNTS_DIFFER,) * 2
    assert seen.detail.startswith(detail)
    assert (len(seen.boxes), seen.class_names) == (0, ())


BAD_IMAGES = {
    "none": (b"", Reason.NO_IMAGE),
    "no image": (b"this is text", Reason.NOT_DECODABLE),
    "cut off": (png()[:60], Reason.NOT_DECODABLE),
}


@pytest.mark.parametrize(("image", "reason"), BAD_IMAGES.values(), ids=BAD_IMAGES)
def test_an_image_that_does_not_decode_is_left_out_with_its_boxes(tmp_path, image, reason):
    (seen,) = observe(tmp_path, record([GOOD_BOX] * 2, image=image))
    assert (seen.reason, seen.box_reasons) == (reason, (reason, reason))
    assert (seen.height, seen.width, len(seen.boxes)) == (0, 0, 0)


def test_a_misspelled_image_key_leaves_the_image_out(tmp_path):
    (seen,) = observe(tmp_path, record(rename={"image/encoded": "image/encode"}))
    assert seen.reason is Reason.NO_IMAGE


def test_what_is_no_example_or_has_values_of_another_type_is_left_out_and_the_rest_is_read(
    tmp_path,
):
    broken, wrong_type, good = observe(
        tmp_path,
        b"\xff\xff\xff",
        record(image__object__bbox__xmin=[1]),  # integers where numbers with a fraction belong
        record(),
    )
    assert (broken.reason, wrong_type.reason) == (Reason.UNREADABLE,) * 2
    assert broken.place == f"{tmp_path}/a.record, record 0"
    assert "image/object/bbox/xmin" in wrong_type.detail
    assert good.reason is Reason.KEPT


def test_the_same_id_with_the_same_image_is_a_duplicate_and_with_another_it_is_none(tmp_path):
    first, other, again, nameless, nameless_again = observe(
        tmp_path,
        record(image=png(seed=1)),
        record(image=png(seed=2)),
        record([GOOD_BOX] * 2, image=png(seed=1)),
        record(image=png(seed=3), source_id=""),
        record(image=png(seed=4), source_id=""),
    )
    assert again.reason is Reason.DUPLICATE_ID
    assert again.box_reasons == (Reason.DUPLICATE_ID,) * 2
    assert again.record == (f"{tmp_path}/a.record", 2)
    kept = (first, other, nameless, nameless_again)
    assert {each.reason for each in kept} == {Reason.KEPT}


def test_a_rim_outside_of_the_image_is_clipped_and_counted(tmp_path):
    (seen,) = observe(tmp_path, record([(-0.005, 0.2, 0.5, 1.005), GOOD_BOX]))
    np.testing.assert_array_equal(seen.boxes, np.float32([(0.0, 0.2, 0.5, 1.0), GOOD_BOX]))
    assert seen.clipped == 1


def test_pixels_are_measured_exactly(tmp_path):
    image = png(33, 17, seed=5)
    (seen,) = observe(tmp_path, record(image=image))
    pixels = pixels_of(image).reshape(-1, 3).astype(np.float64)
    np.testing.assert_allclose(seen.pixel_mean, pixels.mean(axis=0))
    np.testing.assert_allclose(seen.pixel_square_mean, (pixels**2).mean(axis=0))
    assert (seen.height, seen.width) == (17, 33)


def test_many_records_come_in_the_order_of_the_files(tmp_path):
    groups = [[record(source_id=f"{shard}-{number}") for number in range(30)] for shard in range(2)]
    files = [write(tmp_path / f"{shard}.record", group) for shard, group in enumerate(groups)]
    seen = list(observe_records(files, LAYOUT, NAMES))
    assert [each.source_id for each in seen] == [f"{s}-{n}" for s in range(2) for n in range(30)]
    assert [each.record for each in seen[29:31]] == [(files[0], 29), (files[1], 0)]
    assert [each.stored_bytes for each in seen[:30]] == [len(each) for each in groups[0]]


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_compression_is_found_out(tmp_path, compression):
    file = write(tmp_path / "a.record", [record()] * 3, compression)
    assert len(list(observe_records([file], LAYOUT, NAMES))) == 3


def test_an_empty_file_shows_nothing(tmp_path):
    assert observe(tmp_path) == []


@pytest.mark.parametrize("damage", ["cut off", "cut off in the length", "one bit"])
def test_a_damaged_file_is_an_error_that_names_the_record(tmp_path, damage):
    file = Path(write(tmp_path / "a.record", [record()] * 3))
    content = bytearray(file.read_bytes())
    match damage:
        case "cut off":
            del content[-20:]
        case "cut off in the length":
            del content[len(content) * 2 // 3 + 5 :]
        case "one bit":
            content[len(content) * 5 // 6] ^= 1
    file.write_bytes(content)
    with pytest.raises(HoldfastError, match=r"a\.record, record 2: the file is damaged") as caught:
        list(observe_records([str(file)], LAYOUT, NAMES))
    assert "2 records before it could be read" in caught.value.fix


def test_a_compressed_file_that_was_cut_off_is_an_error(tmp_path):
    records = [record(image=png(seed=number)) for number in range(3)]
    file = Path(write(tmp_path / "a.record", records, "GZIP"))
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(HoldfastError, match=r"a\.record, record \d: the file is damaged"):
        list(observe_records([str(file)], LAYOUT, NAMES))


@pytest.mark.parametrize("content", [b"a" * 100, png(), b"short"])
def test_a_file_of_another_kind_is_an_error(tmp_path, content):
    (tmp_path / "a.record").write_bytes(content)
    with pytest.raises(HoldfastError, match="not a TFRecord file, or damaged"):
        list(observe_records([f"{tmp_path}/a.record"], LAYOUT, NAMES))


def test_a_source_is_observed_as_its_files_say(tmp_path):
    (tmp_path / "a.png").write_bytes(png(40, 20))
    (tmp_path / "a.txt").write_text("0 0.5 0.5 0.2 0.4\n1 0.5 0.5 0 0.4\n")
    (tmp_path / "b.png").write_bytes(png()[:50])
    (tmp_path / "b.txt").write_text("0 0.5 0.5 0.2 0.4\n")
    good, bad = observe_source(open_source(str(tmp_path)))
    assert good.box_reasons == (Reason.KEPT, Reason.DEGENERATE)
    np.testing.assert_allclose(good.boxes, [[0.3, 0.4, 0.7, 0.6]], atol=1e-6)
    assert (good.height, good.width, good.class_names) == (20, 40, ("class_0",))
    assert bad.reason in (Reason.UNREADABLE, Reason.NOT_DECODABLE)
    assert len(bad.box_reasons) == 1
    assert "b" in bad.place


def test_without_decoding_only_what_pixels_tell_is_missing(tmp_path):
    file = write(
        tmp_path / "a.record",
        [
            record([GOOD_BOX, (0.5, 0.2, 0.1, 0.6)], image=png(30, 20)),
            record(image=b"no image"),
            record(image=b""),
        ],
    )
    seen, announced = (
        list(observe_records([file], RecordLayout(), decodes=decodes)) for decodes in (True, False)
    )
    zeros = np.zeros(3)
    for one, other in zip(seen, announced, strict=True):
        np.testing.assert_array_equal(one.boxes, other.boxes)
        empty = {"boxes": None, "pixel_mean": None, "pixel_square_mean": None}
        assert one._replace(**empty) == other._replace(**empty)
        np.testing.assert_array_equal(other.pixel_mean, zeros)
    assert (announced[0].height, announced[0].width) == (20, 30)


@pytest.mark.parametrize("decodes", [True, False])
def test_an_image_made_to_fill_the_memory_is_left_out_and_named(tmp_path, decodes):
    bomb = record(image=claiming(20_000, 15_000), source_id="bomb.png")
    file = write(tmp_path / "a.record", [record(), bomb])
    good, bad = observe_records([file], LAYOUT, NAMES, decodes=decodes)
    assert good.reason is Reason.KEPT
    assert (bad.reason, bad.place) == (Reason.NOT_DECODABLE, f"{file}, record 1")
    assert "more than 200 times" in bad.detail
    assert "leave it out" in bad.detail


def test_images_are_decoded_within_the_budget(tmp_path, monkeypatch):
    """However many threads there are."""
    side = 64
    budget = 3 * side * side * decode_gate.BYTES_PER_PIXEL
    monkeypatch.setattr(decode_images, "GATE", decode_gate.DecodeGate(budget))
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    lock, inside, most = threading.Lock(), [0], [0]
    decode = decode_images.decode_image

    def counted(encoded):
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        try:
            time.sleep(0.005)  # longer than it takes to start the others
            return decode(encoded)
        finally:
            with lock:
                inside[0] -= 1

    monkeypatch.setattr(decode_images, "decode_image", counted)
    records = [record(image=png(side, side, seed=each), source_id=str(each)) for each in range(40)]
    seen = observe(tmp_path, *records)
    assert [each.source_id for each in seen] == [str(each) for each in range(40)]
    assert 1 < most[0] <= 3


@pytest.mark.parametrize(
    ("mask", "fault"),
    [
        (None, None),
        (b"", "mask 1: it cannot be decoded"),
        (b"no image", "mask 1: it cannot be decoded"),
        (gray(20, 11), "mask 1: it has 20 x 11 pixels"),
        (gray(20, 10)[:-30], "mask 1: it cannot be decoded"),
    ],
    ids=["good", "empty", "broken", "other size", "cut short"],
)
def test_an_image_with_a_mask_that_cannot_be_used_is_left_out(tmp_path, mask, fault):
    good = gray(20, 10)
    masks = [good, good if mask is None else mask]
    file = write(
        tmp_path / "a.record", [record([GOOD_BOX] * 2, labels=[1, 1], image__object__mask=masks)]
    )
    layout = RecordLayout(masks=MaskFormat.PNG)
    (seen,) = observe_records([file], layout)
    assert seen.reason is (Reason.KEPT if fault is None else Reason.BAD_MASK)
    assert seen.detail == (fault or "")
    assert len(seen.box_reasons) == 2
