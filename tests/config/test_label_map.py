from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config.label_map import (
    class_name,
    classes,
    ids_by_text,
    largest_id,
    load_label_map,
    parse_label_map,
    read_label_map,
    save_label_map,
)
from holdfast.config.schema.label_map_items import (
    KeypointMap,
    LVISFrequency,
    StringIntLabelMap,
    StringIntLabelMapItem,
)
from holdfast.errors import ConfigError, Problem


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "labels.pbtxt"


def judged(path: Path, text: str) -> list[tuple[str, int | None, str]]:
    """Read a label map and give severity, line and message of each problem."""
    path.write_text(text, encoding="utf-8")
    _, problems = read_label_map(path)
    return [(problem.severity, problem.line, problem.message) for problem in problems]


def loaded(path: Path, text: str) -> StringIntLabelMap:
    path.write_text(text, encoding="utf-8")
    return load_label_map(path)


def only_problem(path: Path, text: str) -> Problem:
    path.write_text(text, encoding="utf-8")
    (problem,) = read_label_map(path).problems
    return problem


GOOD = 'item { id: 1 name: "cat" }\nitem { id: 2 name: "dog" display_name: "Dog" }\n'


# Reading and writing.


def test_ids_names_and_display_names_are_read(path: Path):
    assert judged(path, GOOD) == []
    assert loaded(path, GOOD).item == (
        StringIntLabelMapItem(id=1, name="cat"),
        StringIntLabelMapItem(id=2, name="dog", display_name="Dog"),
    )


@pytest.mark.parametrize(
    "text",
    [
        'item { id: 1, name: "cat" }, item { id: 2, name: "dog", display_name: "Dog", },',
        "item: { id: 1; name: 'cat' }; item: { id: 2; name: 'dog'; display_name: 'Dog'; }",
        "\ufeffitem {\r\n  id: 1\r\n  name: 'cat' }\r\nitem <id: 2 name:'dog' display_name:'Dog'>",
        'item { name: "cat" id: 1 } # first\nitem { name: "d" "og" display_name: "Dog" id: 0x2 }',
    ],
)
def test_commas_quotes_order_and_line_ends_make_no_difference(path: Path, text: str):
    assert judged(path, text) == []
    assert loaded(path, text) == loaded(path, GOOD)


def test_keypoints_hierarchy_and_frequency_are_read(path: Path):
    (item,) = loaded(
        path,
        "item { id: 1 name: 'person' frequency: RARE instance_count: 5 descendant_ids: [2, 3] "
        "keypoints { id: 0 label: 'nose' } keypoints { id: 1 label: 'eye' } }",
    ).item
    assert item.keypoints == (KeypointMap(id=0, label="nose"), KeypointMap(id=1, label="eye"))
    assert item.frequency is LVISFrequency.RARE
    assert (item.instance_count, item.descendant_ids, item.ancestor_ids) == (5, (2, 3), ())


def test_a_label_map_is_written_as_text_and_reads_back_equal(path: Path):
    written = StringIntLabelMap(
        item=(
            StringIntLabelMapItem(id=1, name='a "quoted" name, größer\n', display_name="A"),
            StringIntLabelMapItem(
                id=3, name="person", keypoints=(KeypointMap(id=0, label="left eye"),)
            ),
        )
    )
    save_label_map(written, path)
    assert read_label_map(path).label_map == written
    assert path.read_text(encoding="utf-8").startswith(
        'item {\n  name: "a \\"quoted\\" name, größer\\n"'
    )


def test_every_label_map_of_the_corpus_is_judged_as_the_od_api_does(corpus: Path, tmp_path: Path):
    """The OD API refuses negative ids and id 0, except for the background; nothing else."""
    expected = sorted((corpus / "expected" / "label_maps").glob("*.json"))
    assert len(expected) > 70
    refused = 0
    for answer in expected:
        original = corpus / "label_maps" / f"{answer.stem}.pbtxt"
        content = json.loads(answer.read_text(encoding="utf-8"))
        if not content["ok"]:
            with pytest.raises(ConfigError):
                load_label_map(original)
            continue
        items = content["label_map"].get("item", [])
        accepted = items and all(
            item.get("id", 0) > 0
            or (
                item.get("id", 0) == 0
                and "background" in (item.get("name"), item.get("display_name"))
            )
            for item in items
        )
        if not accepted:
            refused += 1
            with pytest.raises(ConfigError):
                load_label_map(original)
            continue
        label_map = load_label_map(original)
        assert [(item.id, item.name) for item in label_map.item] == [
            (item.get("id", 0), item.get("name", "")) for item in items
        ], answer.stem
        assert largest_id(label_map) == max(item.get("id", 0) for item in items)
        save_label_map(label_map, tmp_path / "copy.pbtxt")
        assert load_label_map(tmp_path / "copy.pbtxt") == label_map, answer.stem
    assert refused > 0


# What is refused, and what is said about the rest.


def test_id_0_is_refused(path: Path):
    text = 'item { id: 1 name: "cat" }\nitem {\n  id: 0\n  name: "dog"\n}'
    assert judged(path, text) == [("error", 3, "id 0 is reserved for the background")]
    with pytest.raises(ConfigError, match=r"line 3: item\[1\]\.id: id 0 is reserved"):
        load_label_map(path)


@pytest.mark.parametrize("field", ["name", "display_name"])
def test_id_0_may_be_the_background_and_is_no_class(path: Path, field: str):
    text = f'item {{ id: 0 {field}: "background" }} item {{ id: 1 name: "cat" }}'
    assert judged(path, text) == []
    label_map = loaded(path, text)
    assert [item.id for item in classes(label_map)] == [1]
    assert largest_id(label_map) == 1


def test_a_missing_id_is_refused(path: Path):
    assert judged(path, 'item { id: 1 name: "cat" }\nitem { name: "dog" }') == [
        ("error", 2, "class 'dog' has no id")
    ]


def test_a_negative_id_is_refused(path: Path):
    assert judged(path, 'item { id: 1 name: "cat" }\nitem { id: -1 name: "dog" }') == [
        ("error", 2, "id -1 is negative")
    ]


def test_an_empty_label_map_is_refused(path: Path):
    for text in ("", "# only a comment\n", "\ufeff"):
        assert judged(path, text) == [("error", None, "it has no item")]
        with pytest.raises(ConfigError, match="it has no item"):
            load_label_map(path)


def test_a_missing_name_is_a_warning_and_the_class_is_called_by_its_id(path: Path):
    text = 'item { id: 1 name: "cat" }\nitem { id: 2 }'
    ((severity, line, message),) = judged(path, text)
    assert (severity, line) == ("warning", 2)
    assert message.startswith("class 2 has no name")
    assert class_name(loaded(path, text).item[1]) == "2"


def test_a_display_name_is_enough_because_the_od_api_looks_text_up_by_both(path: Path):
    text = 'item { id: 1 display_name: "Cat" } item { id: 2 display_name: "Dog" }'
    assert judged(path, text) == []
    assert ids_by_text(loaded(path, text), use_display_name=True) == {"Cat": 1, "Dog": 2}


def test_gaps_are_a_warning_that_names_the_num_classes_needed(path: Path):
    text = 'item { id: 2 name: "a" } item { id: 5 name: "b" }'
    problem = only_problem(path, text)
    assert problem.severity == "warning"
    assert problem.message == "3 of the ids 1 to 5 are unused: num_classes must be 5"
    assert largest_id(loaded(path, text)) == 5


def test_ids_in_any_order_without_gaps_are_fine(path: Path):
    text = 'item { id: 3 name: "c" } item { id: 1 name: "a" } item { id: 2 name: "b" }'
    assert judged(path, text) == []
    assert [item.name for item in classes(loaded(path, text))] == ["a", "b", "c"]


def test_two_items_of_one_id_are_a_warning_and_the_first_names_the_class(path: Path):
    text = 'item { id: 1 name: "cat" }\nitem {\n  id: 1\n  name: "kitten"\n}'
    assert judged(path, text) == [("warning", 3, "id 1 is 'cat' already: both become one class")]
    label_map = loaded(path, text)
    assert [item.name for item in classes(label_map)] == ["cat"]
    assert ids_by_text(label_map) == {"cat": 1, "kitten": 1}


def test_two_ids_of_one_name_are_a_warning_and_the_text_means_the_last(path: Path):
    text = 'item { id: 1 name: "cat" }\nitem { id: 2\n  name: "cat" }'
    assert judged(path, text) == [("warning", 3, "'cat' is id 1 already: text means the last")]
    assert ids_by_text(loaded(path, text)) == {"cat": 2}


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ('id: 0 label: "eye"', "keypoint id 0 is given more than once"),
        ('id: 1 label: "nose"', "keypoint label 'nose' is given more than once"),
    ],
)
def test_two_keypoints_of_one_id_or_label_are_refused(path: Path, second: str, message: str):
    text = (
        'item { id: 1 name: "person"\n'
        f'  keypoints {{ id: 0 label: "nose" }}\n  keypoints {{ {second} }}\n}}'
    )
    assert judged(path, text) == [("error", 1, message)]


def test_keypoints_of_different_classes_may_share_ids(path: Path):
    keypoints = 'keypoints { id: 0 label: "nose" }'
    text = f'item {{ id: 1 name: "a" {keypoints} }} item {{ id: 2 name: "b" {keypoints} }}'
    assert judged(path, text) == []


def test_every_mistake_is_listed_in_the_order_of_the_file(path: Path):
    path.write_text('item { id: 0 name: "a" }\nitem { nmae: "b" id: 2 }\nitem { id: -3 name: 5 }\n')
    with pytest.raises(ConfigError) as caught:
        load_label_map(path)
    lines = [(problem.line, problem.path) for problem in caught.value.problems]
    assert lines == [(1, "item[0].id"), (2, "item[1].nmae"), (3, "item[2].id"), (3, "item[2].name")]
    assert caught.value.source == str(path)


def test_warnings_do_not_stop_loading(path: Path):
    assert len(loaded(path, 'item { id: 4 name: "a" } item { id: 4 }').item) == 2


def test_a_file_that_is_not_there_is_refused_with_the_nearest_name(tmp_path: Path):
    (tmp_path / "label_map.pbtxt").write_text(GOOD)
    with pytest.raises(ConfigError, match=r"no such file -> did you mean .*label_map\.pbtxt"):
        load_label_map(tmp_path / "labelmap.pbtxt")


# Names.


def test_people_see_the_display_name_unless_asked_otherwise():
    item = StringIntLabelMapItem(id=4, name="/m/01yrx", display_name="Cat")
    assert class_name(item) == "Cat"
    assert class_name(item, use_display_name=False) == "/m/01yrx"


def test_without_a_display_name_people_see_the_name_and_without_any_the_id():
    assert class_name(StringIntLabelMapItem(id=4, name="cat")) == "cat"
    assert class_name(StringIntLabelMapItem(id=4, name="cat", display_name="")) == "cat"
    assert class_name(StringIntLabelMapItem(id=4)) == "4"


def test_an_empty_label_map_has_no_classes():
    assert classes(StringIntLabelMap()) == ()
    assert largest_id(StringIntLabelMap()) == 0
    assert ids_by_text(StringIntLabelMap()) == {}


def test_the_content_of_a_file_is_judged_like_the_file():
    assert parse_label_map(b'item { id: 1 name: "cat" }', "gs://b/a.pbtxt").item[0].name == "cat"
    for content in (b"item { id: 1", b"\xff\xfe", b"item { id: -1 }"):
        with pytest.raises(ConfigError, match=r"gs://b/a.pbtxt"):
            parse_label_map(content, "gs://b/a.pbtxt")
