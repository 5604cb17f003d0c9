from __future__ import annotations

import numpy as np
import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.records.record_source import open_record_source
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.errors import HoldfastError

from ..example_records import GOOD_BOX, png, record, write

OTHER_BOX = (0.3, 0.3, 0.7, 0.9)
LABEL_MAP = 'item { id: 2 name: "cat" } item { id: 5 name: "/m/dog" display_name: "dog" }'


def class_names(source):
    return {item.id: item.name for item in source.label_map.item}


def found(source):
    names = class_names(source)
    return {
        sample.source_id: [names.get(number + 1) for number in sample.classes.tolist()]
        for sample in source
    }


def test_what_was_converted_is_read_back_whole(tmp_path):
    made = make_synthetic(9, SyntheticScene(size=48))
    convert(made, str(tmp_path), num_shards=2)
    source = open_record_source(str(tmp_path))
    assert source.label_map == made.label_map
    assert source.masks
    before = {entry.source_id: entry for entry in made.entries}
    assert {entry.source_id for entry in source.entries} == before.keys()
    for entry in source.entries:
        expected, sample = before[entry.source_id].read().sample, entry.read().sample
        assert entry.filename == before[entry.source_id].filename
        assert dict(entry.class_counts) == dict(before[entry.source_id].class_counts)
        assert entry.split in entry.place
        for name, value in expected._asdict().items():
            if value is not None:
                np.testing.assert_array_equal(getattr(sample, name), value, err_msg=name)


def test_converting_records_again_gives_the_same_records(tmp_path):
    convert(make_synthetic(6, SyntheticScene(size=48)), str(tmp_path / "one"))
    convert(open_record_source(str(tmp_path / "one")), str(tmp_path / "two"))
    names = [path.name for path in (tmp_path / "one").glob("*.record-*")]
    assert len(names) == 2
    for name in names:
        first, second = (
            {bytes(entry.read().sample.image) for entry in open_record_source(str(path)).entries}
            for path in (tmp_path / "one" / name, tmp_path / "two" / name)
        )
        assert first == second


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_are_read_in_any_order_also_compressed_ones(compression, tmp_path):
    records = [record(source_id=str(n), image=png(seed=n), labels=[n % 2 + 1]) for n in range(4)]
    path = write(tmp_path / "train.record", records, compression)
    entries = open_record_source(path).entries
    for number in (2, 0, 3, 1):
        assert entries[number].read().sample.image == png(seed=number)


def test_classes_are_called_by_display_names_and_found_by_either(tmp_path):
    boxes = [GOOD_BOX] * 3
    texts = ["/m/dog", "dog", "cat"]
    path = write(tmp_path / "a.record", [record(boxes, labels=[5, 5, 2], texts=texts)])
    (tmp_path / "map.pbtxt").write_text(LABEL_MAP)
    source = open_record_source(path)
    assert class_names(source) == {2: "cat", 5: "dog"}
    assert found(source) == {"one.png": ["dog", "dog", "cat"]}
    assert any("display names" in note for note in source.notes)


def test_the_label_map_that_is_given_counts(tmp_path):
    path = write(tmp_path / "a.record", [record(labels=[1])])
    (tmp_path / "map.pbtxt").write_text(LABEL_MAP)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other/mine.pbtxt"
    other.write_text('item { id: 1 name: "cow" }')
    assert found(open_record_source(path, label_map_path=str(other))) == {"one.png": ["cow"]}


@pytest.mark.parametrize(
    ("labels", "texts", "expected"),
    [
        ([4, 9], ["cat", "dog"], {4: "cat", 9: "dog"}),
        ([1, 1], ["dog", "cat"], {1: "cat", 2: "dog"}),  # a tool that wrote one id for all
        ([3, 7], None, {3: "class_3", 7: "class_7"}),
        ([0, 1], ["cat", "dog"], {1: "cat", 2: "dog"}),
    ],
)
def test_without_a_label_map_the_records_name_their_classes(labels, texts, expected, tmp_path):
    one = record([GOOD_BOX, OTHER_BOX], labels=labels, texts=texts)
    source = open_record_source(write(tmp_path / "a.record", [one]))
    assert class_names(source) == expected
    assert found(source) == {"one.png": texts or ["class_3", "class_7"]}
    assert "There is no label map" in source.notes[0]


def test_records_of_one_image_become_one_with_all_boxes(tmp_path):
    records = [
        record([GOOD_BOX], labels=[1]),
        record([OTHER_BOX], labels=[2]),
        record([GOOD_BOX], labels=[1]),
        record([GOOD_BOX], labels=[1], source_id="two.png", image=png(seed=5)),
    ]
    source = open_record_source(write(tmp_path / "a.record", records))
    assert found(source) == {"one.png": ["class_1", "class_2"], "two.png": ["class_1"]}
    assert any(note.startswith("3 records are of 1 image") for note in source.notes)


def test_images_with_one_id_for_all_are_told_apart(tmp_path):
    records = [record(source_id="0", image=png(seed=n)) for n in range(3)]
    source = open_record_source(write(tmp_path / "a.record", records))
    assert list(found(source)) == ["0", "0-2", "0-3"]
    named = [
        record(source_id="0", image=png(seed=n), image__filename=[f"{n}.png".encode()])
        for n in range(2)
    ]
    source = open_record_source(write(tmp_path / "b.record", named))
    assert list(found(source)) == ["0.png", "1.png"]


def test_what_cannot_be_read_is_left_out_and_counted(tmp_path):
    records = [
        record(source_id="good"),
        record(source_id="no image", image=b""),
        record([GOOD_BOX] * 2, labels=[1], source_id="lists"),
        b"nonsense",
    ]
    path = write(tmp_path / "a.record", records)
    result = convert(open_record_source(path), str(tmp_path / "out"), val=0)
    assert result.images == 1
    (group,) = result.left_out
    assert (group.images, group.boxes) == (3, 3)
    text = "\n".join(group.examples)
    for words in (
        "There is no image",
        "numbers of coordinates and labels differ",
        "not a tf.train",
    ):
        assert words.casefold() in text.casefold()


def test_classes_that_the_label_map_lacks_are_left_out_and_named(tmp_path):
    path = write(tmp_path / "a.record", [record([GOOD_BOX, OTHER_BOX], labels=[2, 4])])
    (tmp_path / "map.pbtxt").write_text(LABEL_MAP)
    result = convert(open_record_source(path), str(tmp_path / "out"), val=0)
    assert result.boxes == 1
    assert result.left_out[0].reason == "the class is not in the label map"


def test_no_record_is_an_error(tmp_path):
    with pytest.raises(HoldfastError, match="matches no TFRecord"):
        open_record_source(str(tmp_path / "*.record"))


def test_every_record_file_of_the_corpus_can_be_opened_and_read(shared):
    rows = (shared / "corpus/records/index.tsv").read_text().splitlines()
    header, *values = [row.split("\t") for row in rows]
    for row in values:
        facts = dict(zip(header, row, strict=True))
        source = open_record_source(str(shared / "corpus/records" / facts["file"]))
        boxes = sum(sum(entry.class_counts.values()) for entry in source.entries)
        assert boxes == int(facts["boxes"]), facts["file"]
