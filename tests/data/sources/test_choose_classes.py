from __future__ import annotations

import re

import numpy as np
import pytest

from holdfast.data.sources.choose_classes import ClassChoice, choose_classes
from holdfast.data.sources.classes import keypoint_names
from holdfast.errors import HoldfastError

from .test_combine import class_names, found, make_source

ROAD = make_source(
    "road",
    {1: "car", 4: "van", 5: "truck", 9: "person"},
    {"a": [1, 4, 5], "b": [9], "c": [9, 5, 9], "d": []},
)


def test_some_classes_are_kept_with_ids_counted_anew():
    chosen = choose_classes(ROAD, ClassChoice(keep=("person,car",)))
    assert class_names(chosen) == {1: "car", 2: "person"}
    assert found(chosen) == {"a": ["car"], "b": ["person"], "c": ["person"] * 2, "d": []}
    assert [dict(entry.class_counts) for entry in chosen.entries] == [{0: 1}, {1: 1}, {1: 2}, {}]
    first = chosen.entries[0].read().sample
    np.testing.assert_array_equal(first.boxes[:, 0], [0.0])
    np.testing.assert_array_equal(
        chosen.entries[2].read().sample.boxes[:, 0], np.array([0, 0.2], np.float32)
    )


def test_what_is_left_out_is_counted_and_images_stay():
    chosen = choose_classes(ROAD, ClassChoice(keep=("car",)))
    assert len(chosen) == 4
    assert chosen.notes == (
        "--classes leaves out 6 boxes of other classes: van 1, truck 2, person 3.",
        "2 images without an object of these classes stay, as negatives.",
        "Class ids are counted from 1: 1 car.",
    )


def test_classes_are_merged_at_the_place_of_the_first():
    chosen = choose_classes(ROAD, ClassChoice(merge=("van, truck=vehicle",)))
    assert class_names(chosen) == {1: "car", 2: "vehicle", 3: "person"}
    assert found(chosen)["a"] == ["car", "vehicle", "vehicle"]
    assert "van, truck become vehicle." in chosen.notes
    assert "Class ids are counted from 1: 1 car, 2 vehicle, 3 person (was 9)." in chosen.notes
    assert not any("leaves out" in note for note in chosen.notes)


def test_classes_are_merged_into_one_that_is_there():
    chosen = choose_classes(ROAD, ClassChoice(merge=("van=car", "truck=car")))
    assert class_names(chosen) == {1: "car", 2: "person"}
    assert found(chosen)["a"] == ["car"] * 3


def test_what_is_kept_is_named_as_it_is_merged():
    chosen = choose_classes(ROAD, ClassChoice(keep=("vehicle",), merge=("van,truck=vehicle",)))
    assert class_names(chosen) == {1: "vehicle"}
    with pytest.raises(HoldfastError, match="which --map has made 'vehicle'"):
        choose_classes(ROAD, ClassChoice(keep=("van",), merge=("van,truck=vehicle",)))


def test_an_unknown_name_is_an_error_with_the_nearest_and_all_there_are():
    pattern = r"'Trck'.*not a class[\s\S]*Did you mean truck\?.*car, van, truck, person\."
    with pytest.raises(HoldfastError, match=pattern):
        choose_classes(ROAD, ClassChoice(keep=("car,Trck",)))
    with pytest.raises(HoldfastError, match="--map names 'lorry'"):
        choose_classes(ROAD, ClassChoice(merge=("lorry=truck",)))


@pytest.mark.parametrize("text", ["van", "=van", "van=", "", "="])
def test_a_map_that_says_nothing_is_an_error(text):
    with pytest.raises(HoldfastError, match=re.escape(repr(text))):
        choose_classes(ROAD, ClassChoice(merge=(text,)))


def test_a_class_may_not_become_two():
    with pytest.raises(HoldfastError, match="into 'a' and into 'b'"):
        choose_classes(ROAD, ClassChoice(merge=("van=a", "van=b")))


def test_a_class_whose_name_has_a_comma_can_be_named():
    source = make_source("x", {1: "cat, black", 2: "dog"}, {"a": [1, 2]})
    assert class_names(choose_classes(source, ClassChoice(keep=("cat, black",)))) == {
        1: "cat, black"
    }


def test_keypoints_of_classes_that_go_go_too():
    source = make_source(
        "x", {1: "cat", 2: "dog"}, {"a": [1, 2]}, keypoints={1: ["nose", "tail"], 2: ["tail"]}
    )
    chosen = choose_classes(source, ClassChoice(keep=("dog",)))
    assert keypoint_names(chosen.label_map) == ("tail",)
    np.testing.assert_array_equal(next(iter(chosen)).keypoints, [[[6, 7]]])
    merged = choose_classes(source, ClassChoice(merge=("dog=cat",)))
    assert keypoint_names(merged.label_map) == ("nose", "tail")


def test_without_a_choice_nothing_changes():
    assert choose_classes(ROAD, ClassChoice()) is ROAD


def test_the_choice_is_remembered_and_changes_the_fingerprint():
    merged = [
        choose_classes(ROAD, ClassChoice(merge=(f"{name}=car",))) for name in ("van", "truck")
    ]
    kept = [choose_classes(source, ClassChoice(keep=("car",))) for source in merged]
    assert kept[0].label_map == kept[1].label_map
    assert kept[0].entries[0].fingerprint != kept[1].entries[0].fingerprint
    assert merged[0].selection == '--map "van=car"'
