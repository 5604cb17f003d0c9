from __future__ import annotations

import numpy as np

from holdfast.data.sample import Sample
from holdfast.data.sources.classes import build_classes, keypoint_names
from holdfast.data.sources.combine import combine
from holdfast.data.sources.source import Entry, Reading, Source


def make_source(location, names, images, *, keypoints=None, splits=None, filename="{}.jpg"):
    """A source of images: id -> class ids of its objects; box n starts at n / 10."""
    classes = build_classes(names, keypoints)
    points = len(keypoint_names(classes.label_map))

    def entry(source_id, labels):
        count = len(labels)
        sample = Sample(
            image=source_id.encode(),
            source_id=source_id,
            boxes=np.array([[n / 10, 0, 1, 1] for n in range(count)], np.float32).reshape(-1, 4),
            classes=np.array(labels, np.int32) - 1,
            keypoints=np.arange(count * points * 2, dtype=np.float32).reshape(count, points, 2)
            if points
            else None,
        )
        counts = {number - 1: labels.count(number) for number in labels}
        return Entry(
            source_id=source_id,
            place=f"{source_id}.xml",
            filename=filename.format(source_id),
            read=lambda: Reading(sample, ("turned",)),
            class_counts=counts,
            split=(splits or {}).get(source_id),
            fingerprint="same",
        )

    return Source(
        format="voc",
        location=location,
        label_map=classes.label_map,
        entries=tuple(entry(*item) for item in images.items()),
    )


def class_names(source):
    return {item.id: item.name for item in source.label_map.item}


def found(source):
    """Source id -> class names of its objects."""
    names = class_names(source)
    return {
        str(sample.source_id): [names[number + 1] for number in sample.classes.tolist()]
        for sample in source
    }


PETS = make_source("data/pets", {3: "cat", 7: "dog"}, {"a": [3, 7], "b": []})
FARM = make_source("data/farm", {1: "dog", 2: "cow"}, {"c": [1, 2, 2]})


def test_classes_of_equal_name_are_one_and_the_first_source_keeps_its_ids():
    both = combine([PETS, FARM])
    assert class_names(both) == {3: "cat", 7: "dog", 8: "cow"}
    assert found(both) == {"a": ["cat", "dog"], "b": [], "c": ["dog", "cow", "cow"]}
    assert [dict(entry.class_counts) for entry in both.entries] == [{2: 1, 6: 1}, {}, {6: 1, 7: 2}]


def test_it_is_said_what_was_united_and_renumbered():
    notes = combine([PETS, FARM]).notes
    assert "Merged by name, from several sources: dog." in notes
    assert "farm: class ids change: dog 1 -> 7, cow 2 -> 8." in notes


def test_it_is_said_that_unlabeled_objects_are_background():
    same = make_source("z", {1: "cat", 2: "dog"}, {"z": [1]})
    assert any("counts as background" in note for note in combine([PETS, FARM]).notes)
    assert not any("counts as background" in note for note in combine([PETS, same]).notes)


def test_images_of_equal_name_are_told_apart_by_their_source():
    other = make_source("other/pets", {1: "cat"}, {"a": [1]})
    both = combine([PETS, other])
    assert list(found(both)) == ["pets-1/a", "pets-1/b", "pets-2/a"]
    assert [entry.filename for entry in both.entries] == [
        "pets-1/a.jpg",
        "pets-1/b.jpg",
        "pets-2/a.jpg",
    ]
    assert [entry.place for entry in both.entries] == [
        "pets-1: a.xml",
        "pets-1: b.xml",
        "pets-2: a.xml",
    ]


def test_names_that_differ_stay_as_they_are():
    both = combine([PETS, FARM])
    assert [entry.filename for entry in both.entries] == ["a.jpg", "b.jpg", "c.jpg"]


def test_splits_and_remarks_are_kept():
    part = make_source("x", {1: "cat"}, {"t": [1], "v": [1]}, splits={"t": "train", "v": "val"})
    both = combine([part, FARM])
    assert [entry.split for entry in both.entries] == ["train", "val", None]
    assert both.entries[0].read().remarks == ("turned",)


def test_keypoints_stand_where_the_united_label_map_says():
    first = make_source("x", {1: "cat"}, {"a": [1]}, keypoints={1: ["nose", "tail"]})
    second = make_source("y", {1: "cat", 2: "dog"}, {"b": [2]}, keypoints={2: ["ear", "nose"]})
    both = combine([first, second])
    assert keypoint_names(both.label_map) == ("nose", "tail", "ear")
    a, b = both
    np.testing.assert_array_equal(a.keypoints[0], [[0, 1], [2, 3], [np.nan, np.nan]])
    np.testing.assert_array_equal(b.keypoints[0], [[2, 3], [np.nan, np.nan], [0, 1]])
    np.testing.assert_array_equal(b.visibilities, [[True, False, True]])


def test_a_class_that_no_label_map_has_does_not_become_one_by_chance():
    wrong = make_source("x", {1: "cat"}, {"a": [1, 2, -4]})
    classes = next(iter(combine([wrong, FARM]))).classes
    assert classes[0] == 0
    assert classes[1] + 1 not in class_names(combine([wrong, FARM]))
    assert classes[2] == -5


def test_names_that_look_alike_are_pointed_at():
    other = make_source("x", {1: "Cat"}, {"z": [1]})
    (note,) = [note for note in combine([PETS, other]).notes if "--map" in note]
    assert note == "'cat' and 'Cat' are two classes; --map \"Cat=cat\" makes them one."


def test_the_fingerprint_tells_one_numbering_from_another():
    first = make_source("x", {1: "cat", 2: "dog"}, {"a": [1]})
    prints = {
        combine([first, make_source("y", each, {"b": [1]})]).entries[1].fingerprint
        for each in ({1: "cat", 2: "dog"}, {1: "dog", 2: "cat"})
    }
    assert len(prints) == 2
