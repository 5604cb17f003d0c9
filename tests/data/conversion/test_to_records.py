from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from PIL import Image

from holdfast.config.label_map import ids_by_text, load_label_map
from holdfast.data.conversion.books import IN_LEFT_OUT
from holdfast.data.conversion.judge import Fault, Verdict
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.record_masks import MaskFormat
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.data.sources.tfrecord import RecordLayout, record_parser
from holdfast.errors import HoldfastError

SCENE = SyntheticScene(size=48)


class StopError(Exception):
    """Stands for a kill."""


@pytest.fixture(scope="module")
def source():
    return make_synthetic(20, SCENE)


def examples(folder, split):
    paths = sorted(str(path) for path in Path(folder).glob(f"{split}.record-*"))
    return [
        tf.train.Example.FromString(record.numpy()).features.feature
        for record in tf.data.TFRecordDataset(paths)
    ]


def ids(folder, split):
    return [one["image/source_id"].bytes_list.value[0].decode() for one in examples(folder, split)]


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def test_all_images_and_boxes_come_back_once(source, tmp_path):
    result = convert(source, str(tmp_path), num_shards=3)
    before = {sample.source_id: sample for sample in source}
    assert sorted(ids(tmp_path, "train") + ids(tmp_path, "val")) == sorted(before)
    for split in ("train", "val"):
        for one in examples(tmp_path, split):
            sample = before[one["image/source_id"].bytes_list.value[0].decode()]
            assert one["image/encoded"].bytes_list.value[0] == sample.image
            y_min = one["image/object/bbox/ymin"].float_list.value
            np.testing.assert_array_equal(np.array(y_min, np.float32), sample.boxes[:, 0])
            labels = one["image/object/class/label"].int64_list.value
            assert list(labels) == (sample.classes + 1).tolist()
    assert result.images == 20
    assert result.boxes == sum(len(sample.boxes) for sample in before.values())
    assert result.left_out == ()


def test_our_own_reader_gives_back_boxes_classes_masks_and_keypoints(source, tmp_path):
    result = convert(source, str(tmp_path))
    layout = RecordLayout(
        class_ids=ids_by_text(source.label_map), masks=MaskFormat.PNG, num_keypoints=5
    )
    parse = record_parser(layout)
    before = {sample.source_id: sample for sample in source}
    for split in result.splits.values():
        for record in tf.data.TFRecordDataset(tf.io.gfile.glob(split.pattern)):
            sample = parse(record).sample
            expected = before[sample.source_id.numpy().decode()]
            for name, value in expected._asdict().items():
                if value is not None and name not in ("image", "source_id"):
                    np.testing.assert_array_equal(getattr(sample, name), value, err_msg=name)


def test_shards_are_named_as_input_readers_expect(source, tmp_path):
    result = convert(source, str(tmp_path), num_shards=2)
    assert set(contents(tmp_path)) == {
        *(f"{split}.record-0000{index}-of-00002" for split in ("train", "val") for index in (0, 1)),
        "label_map.pbtxt",
        "convert.json",
    }
    assert len(tf.io.gfile.glob(result.splits["train"].pattern)) == 2


def test_the_label_map_can_be_read(source, tmp_path):
    result = convert(source, str(tmp_path))
    assert load_label_map(result.label_map_path) == source.label_map


def test_one_seed_gives_the_same_bytes_and_another_does_not(source, tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        convert(source, str(tmp_path / name), seed=seed)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert ids(tmp_path / "a", "val") != ids(tmp_path / "c", "val")


def test_a_conversion_that_was_stopped_goes_on_where_it_was(source, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    convert(source, str(whole), num_shards=4)

    def stop(done, total):
        if done == 10:
            raise StopError

    with pytest.raises(StopError):
        convert(source, str(parts), num_shards=4, progress=stop)
    finished = {path.name: path.stat().st_mtime_ns for path in parts.glob("train.record-*")}
    assert len(finished) == 2
    result = convert(source, str(parts), num_shards=4)
    assert result.shards_kept == 2
    assert contents(parts) == contents(whole)
    for name, changed in finished.items():
        assert (parts / name).stat().st_mtime_ns == changed


def test_what_a_kill_leaves_behind_is_cleared_away(source, tmp_path):
    convert(source, str(tmp_path))
    expected = contents(tmp_path)
    shard = tmp_path / "train.record-00000-of-00001"
    shard.rename(tmp_path / f".{shard.name}.4711")
    assert convert(source, str(tmp_path)).shards_kept == 1
    assert contents(tmp_path) == expected


def test_a_damaged_shard_is_written_again(source, tmp_path):
    convert(source, str(tmp_path))
    expected = contents(tmp_path)
    with open(tmp_path / "val.record-00000-of-00001", "ab") as stream:
        stream.write(b"!")
    assert convert(source, str(tmp_path)).shards_kept == 1
    assert contents(tmp_path) == expected


def test_other_settings_replace_the_shards_of_the_last_call(source, tmp_path):
    convert(source, str(tmp_path), num_shards=4)
    convert(source, str(tmp_path), num_shards=2)
    assert len(list(tmp_path.glob("*-of-00004"))) == 0
    assert len(list(tmp_path.glob("*-of-00002"))) == 4


def test_progress_counts_all_images_also_those_done_before(source, tmp_path):
    for _ in range(2):
        seen = []
        convert(source, str(tmp_path), progress=lambda done, total, seen=seen: seen.append(done))
        assert seen[-1] == 20
        assert seen == sorted(seen)


def test_files_of_others_are_not_overwritten(source, tmp_path):
    (tmp_path / "train.record-00000-of-00001").write_text("precious")
    with pytest.raises(HoldfastError, match="is there already"):
        convert(source, str(tmp_path))
    assert (tmp_path / "train.record-00000-of-00001").read_text() == "precious"


def test_a_label_map_of_others_is_not_overwritten(source, tmp_path):
    (tmp_path / "label_map.pbtxt").write_text("item { id: 1 name: 'mine' }")
    with pytest.raises(HoldfastError, match=r"label_map\.pbtxt is there already"):
        convert(source, str(tmp_path))


def test_a_file_that_is_no_manifest_is_told(source, tmp_path):
    (tmp_path / "convert.json").write_text("[]")
    with pytest.raises(HoldfastError, match="not a record of a conversion"):
        convert(source, str(tmp_path))


def test_the_conversion_of_another_data_set_is_neither_replaced_nor_deleted(source, voc, tmp_path):
    out = tmp_path / "out"
    convert(source, str(out))
    before = contents(out)
    with pytest.raises(HoldfastError, match=r"conversion of 20@48[\s\S]*another folder"):
        convert(open_source(str(voc)), str(out))
    assert contents(out) == before


def test_a_conversion_of_unknown_origin_is_not_replaced(source, tmp_path):
    convert(source, str(tmp_path))
    manifest = json.loads((tmp_path / "convert.json").read_text())
    del manifest["source"]
    (tmp_path / "convert.json").write_text(json.dumps(manifest))
    before = contents(tmp_path)
    with pytest.raises(HoldfastError, match="does not say which data"):
        convert(source, str(tmp_path), num_shards=3)
    assert contents(tmp_path) == before


def test_one_place_may_be_named_in_several_ways(voc, tmp_path, monkeypatch):
    out = str(tmp_path / "out")
    convert(open_source(str(voc)), out)
    monkeypatch.chdir(tmp_path)
    for name in ("voc", "./voc/", "voc/../voc"):
        assert convert(open_source(name), out).shards_kept == 2


@pytest.mark.parametrize("name", ["{outside}", "../precious.txt", "notes.txt", "sub/train.record"])
def test_a_manifest_that_was_tampered_with_deletes_no_file_but_shards(source, tmp_path, name):
    out, outside = tmp_path / "out", tmp_path / "precious.txt"
    convert(source, str(out))
    (out / "sub").mkdir()
    others = [outside, out / "notes.txt", out / "sub/train.record"]
    for path in others:
        path.write_text("precious")
    manifest = json.loads((out / "convert.json").read_text())
    manifest["shards"][name.format(outside=outside)] = None
    (out / "convert.json").write_text(json.dumps(manifest))
    convert(source, str(out), num_shards=2)
    assert [path.read_text() for path in others] == ["precious"] * 3


@pytest.mark.parametrize("val", [-0.1, 1.0, 20])
def test_a_share_that_is_none_is_refused(source, tmp_path, val):
    with pytest.raises(HoldfastError, match="share"):
        convert(source, str(tmp_path), val=val)


def test_without_val_all_images_are_for_training(source, tmp_path):
    result = convert(source, str(tmp_path), val=0)
    assert set(result.splits) == {"train"}
    assert result.images == 20


def with_splits(source, *names):
    entries = tuple(
        dataclasses.replace(entry, split=names[index % len(names)])
        for index, entry in enumerate(source.entries)
    )
    return dataclasses.replace(source, entries=entries)


def test_splits_of_the_data_are_kept(source, tmp_path):
    result = convert(with_splits(source, "train", "train", "val", "test"), str(tmp_path))
    images = {name: split.images for name, split in result.splits.items()}
    assert images == {"train": 10, "val": 5, "test": 5}


def test_splits_of_the_data_are_not_kept_if_asked(source, tmp_path):
    divided = with_splits(source, "val", "test")
    result = convert(divided, str(tmp_path), keep_splits=False)
    assert set(result.splits) == {"train", "val"}


def test_a_single_split_is_split_anew_and_said(source, tmp_path):
    result = convert(with_splits(source, "train"), str(tmp_path))
    assert set(result.splits) == {"train", "val"}
    assert "no split but train" in result.notes[0]


def test_images_in_no_split_are_left_out_and_named(source, tmp_path):
    result = convert(with_splits(source, "train", "val", None, "val"), str(tmp_path))
    (group,) = result.left_out
    assert group.reason == "in none of the data's own splits"
    assert group.images == result.images_left_out == 5
    assert result.images == 15


def test_images_of_equal_id_are_left_out_and_named(source, tmp_path):
    twice = dataclasses.replace(source, entries=source.entries + source.entries[:2])
    result = convert(twice, str(tmp_path))
    assert result.images == 20
    assert [(group.reason, group.images) for group in result.left_out] == [
        ("another image has the same source id", 2)
    ]


@pytest.fixture
def voc(tmp_path):
    """Six images of two classes; the fourth is missing, the fifth has a broken annotation."""
    folder = tmp_path / "voc"
    folder.mkdir()
    for number in range(6):
        name = "cat" if number % 2 else "dog"
        thing = (
            f"<object><name>{name}</name><bndbox><xmin>1</xmin><ymin>2</ymin>"
            "<xmax>5</xmax><ymax>6</ymax></bndbox></object>"
        )
        size = "<size><width>16</width><height>16</height></size>"
        (folder / f"{number}.xml").write_text(f"<annotation>{size}{thing}</annotation>")
        Image.new("RGB", (16, 16)).save(folder / f"{number}.jpg")
    (folder / "3.jpg").unlink()
    (folder / "4.xml").write_text("<annotation><object>")
    return folder


def test_what_cannot_be_read_is_left_out_counted_and_named(voc, tmp_path):
    result = convert(open_source(str(voc)), str(tmp_path / "out"), val=0)
    assert (result.images, result.boxes) == (4, 4)
    assert result.images_left_out == 2
    (group,) = result.left_out
    assert (group.reason, group.images, group.boxes) == ("cannot be read", 2, 1)
    assert "3.xml: Its image '3' was not found in the data set." in group.examples
    assert any("4.xml (4.jpg): It is not valid XML" in example for example in group.examples)


def test_strict_stops_at_the_first_thing_also_when_it_goes_on(voc, tmp_path):
    out = str(tmp_path / "out")
    with pytest.raises(HoldfastError, match=r"\d\.xml: .*cannot be read[\s\S]*--strict"):
        convert(open_source(str(voc)), out, strict=True)
    convert(open_source(str(voc)), out)
    with pytest.raises(HoldfastError, match="cannot be read"):
        convert(open_source(str(voc)), out, strict=True)


def test_data_that_was_corrected_is_converted_again(voc, tmp_path):
    out = str(tmp_path / "out")
    assert convert(open_source(str(voc)), out, val=0).images == 4
    shutil.copy(voc / "0.jpg", voc / "3.jpg")
    assert convert(open_source(str(voc)), out, val=0).images == 5
    shutil.copy(voc / "0.xml", voc / "4.xml")
    result = convert(open_source(str(voc)), out, val=0)
    assert (result.images, result.left_out) == (6, ())


def test_the_judge_decides_what_is_left_of_a_sample(source, tmp_path):
    def judge(sample):
        if sample.source_id == "scene-000003":
            return Verdict(None, (Fault("ugly", 1),))
        return Verdict(sample.with_objects(lambda field: field[1:]), (Fault("first", 1),))

    result = convert(source, str(tmp_path), judge=judge)
    before = {sample.source_id: len(sample.boxes) for sample in source}
    assert result.images == 19
    assert result.images_left_out == 1
    counts = {group.reason: (group.images, group.boxes) for group in result.left_out}
    assert counts == {
        "first": (19, 19),
        "ugly": (1, 1),
        IN_LEFT_OUT: (1, before["scene-000003"] - 1),
    }
    assert result.boxes + sum(boxes for _, boxes in counts.values()) == sum(before.values())


def test_remarks_are_counted_and_survive_a_second_call(voc, tmp_path):
    text = (voc / "0.xml").read_text().replace("<width>16", "<width>17")
    (voc / "0.xml").write_text(text)
    for _ in range(2):
        (group,) = convert(open_source(str(voc)), str(tmp_path / "out")).remarks
        assert (group.images, group.examples) == (1, ("0.xml (0.jpg)",))
        assert group.reason.startswith("image size in the annotation is not")


def test_the_manifest_names_everything_that_was_left_out(voc, tmp_path):
    convert(open_source(str(voc)), str(tmp_path / "out"), val=0)
    manifest = json.loads((tmp_path / "out/convert.json").read_text())
    (record,) = manifest["shards"].values()
    assert {incident["place"] for incident in record["left_out"]} == {"3.xml", "4.xml"}


def test_only_one_image_is_read_ahead_of_what_is_written(tmp_path):
    """Images are read one by one: never a second before the first is done."""
    source = make_synthetic(6, SCENE)
    open_readings = []

    def counted(entry):
        def read():
            assert len(open_readings) == len(done)
            open_readings.append(entry.source_id)
            return entry.read()

        return dataclasses.replace(entry, read=read)

    done = []
    watched = dataclasses.replace(source, entries=tuple(map(counted, source.entries)))
    convert(watched, str(tmp_path), progress=lambda count, total: done.append(count))
    assert len(done) == 6


@pytest.mark.parametrize(
    ("name", "images", "boxes", "bad"),
    [
        ("bccd", 364, 4888, 2),
        ("raccoon", 200, 217, 0),
        ("fruits_nuts_coco_seg", 18, 165, 0),
        ("rbc_coco", 240, 5638, 0),
        ("okra_yolo", 112, 285, 0),
    ],
)
def test_real_data_sets_are_converted_whole(shared, tmp_path, name, images, boxes, bad):
    result = convert(open_source(str(shared / "datasets" / name)), str(tmp_path))
    assert result.images == images
    assert result.boxes == boxes - bad
    assert sum(group.boxes for group in result.left_out) == bad
    found = [one for split in result.splits for one in examples(tmp_path, split)]
    assert len(found) == images
    written = sum(len(one["image/object/bbox/xmin"].float_list.value) for one in found)
    assert written == boxes - bad
    assert {one["image/format"].bytes_list.value[0] for one in found} <= {b"jpeg", b"png"}
