from __future__ import annotations

from collections import Counter

import pytest

from holdfast.data.conversion.from_records import convert_to
from holdfast.data.conversion.open_sources import DataOptions, open_sources
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.choose_classes import ClassChoice
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.errors import HoldfastError

SCENE = SyntheticScene(size=48)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same kind of data in three forms: COCO with splits, records with and without."""
    folder = tmp_path_factory.mktemp("sources")
    convert_to("coco", make_synthetic(6, SCENE, seed=1), str(folder / "coco"))
    convert(make_synthetic(10, SCENE, seed=2), str(folder / "records"))
    convert(make_synthetic(10, SCENE, seed=3), str(folder / "plain"), val=0)
    (folder / "plain/train.record-00000-of-00001").rename(folder / "plain/all.tfrecord")
    return folder


def splits(source):
    return Counter((entry.place.partition(":")[0], entry.split) for entry in source.entries)


def test_formats_may_differ_and_splits_of_each_are_kept(folders):
    source = open_sources([str(folders / "coco"), str(folders / "records")], DataOptions())
    assert source.format == "coco + tfrecord"
    kept = splits(source)
    assert sum(kept.values()) == 16
    assert all(kept["coco", split] and kept["records", split] for split in ("train", "val"))


def test_a_source_without_splits_is_split_beside_others_that_have_some(folders):
    places = [str(folders / "coco"), str(folders / "plain")]
    source = open_sources(places, DataOptions(val=0.3))
    assert splits(source)["plain", "val"] == 3
    assert splits(source)["plain", "train"] == 7
    assert any("plain: It has no splits" in note for note in source.notes)


def test_images_of_equal_id_of_two_sources_are_all_written(folders, tmp_path):
    places = [str(folders / "coco"), str(folders / "records")]
    result = convert(open_sources(places, DataOptions()), str(tmp_path))
    assert result.images == 16
    assert result.left_out == ()


def test_classes_are_chosen_from_all_sources(folders):
    how = DataOptions(choice=ClassChoice(("shape",), ("star,ellipse=shape",)))
    source = open_sources([str(folders / "coco"), str(folders / "records")], how)
    assert [item.name for item in source.label_map.item] == ["shape"]
    assert source.selection


def test_options_that_fit_no_source_are_errors(folders):
    with pytest.raises(HoldfastError, match="--label-map goes with TFRecords"):
        open_sources([str(folders / "coco")], DataOptions(label_map="map.pbtxt"))
    with pytest.raises(HoldfastError, match="--images applies to annotations"):
        open_sources([str(folders / "records")], DataOptions(images="."))


def test_the_folder_of_the_images_is_passed_on(folders, tmp_path):
    (tmp_path / "notes").mkdir()
    for path in (folders / "coco/annotations").iterdir():
        (tmp_path / "notes" / path.name).write_bytes(path.read_bytes())
    how = DataOptions(images=str(folders / "coco"))
    source = open_sources([str(tmp_path / "notes")], how)
    assert len([entry.read() for entry in source.entries]) == 6


def test_a_folder_with_records_and_annotations_is_read_by_its_annotations(folders, tmp_path):
    convert_to("voc", make_synthetic(3, SCENE), str(tmp_path / "data"))
    convert(make_synthetic(4, SCENE), str(tmp_path / "data/records"))
    assert open_sources([str(tmp_path / "data")], DataOptions()).format == "voc"
    how = DataOptions(format_name="tfrecord")
    assert len(open_sources([str(tmp_path / "data")], how)) == 4
