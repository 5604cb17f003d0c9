"""Misspelled keys are named with the key that was meant."""

from __future__ import annotations

import pytest

from holdfast.data.records.record_keys import KNOWN_KEYS, count_boxes, describe_counts, strange_keys

from ..example_records import GOOD_BOX, record


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("image/object/box/xmin", "image/object/bbox/xmin"),
        ("image/object/bbox/x_min", "image/object/bbox/xmin"),
        ("image/encode", "image/encoded"),
        ("image/object/class/labels", "image/object/class/label"),
        ("image/objects/class/text", "image/object/class/text"),
        ("image/sourceid", "image/source_id"),
    ],
)
def test_a_misspelled_key_is_named_with_the_nearest_one(wrong, right):
    ((key, meant, records),) = strange_keys([record(rename={right: wrong})])
    assert (key, meant, records) == (wrong, right, 1)


def test_known_keys_are_not_strange_and_others_are_only_named():
    assert strange_keys([record()]) == []
    (strange,) = strange_keys([record(weather=[1]), record(weather=[2])])
    assert (strange.key, strange.meant, strange.records) == ("weather", "", 2)


def test_what_is_no_example_has_no_keys():
    assert strange_keys([b"\xff\xff"]) == []
    assert count_boxes(b"\xff\xff") == 0


def test_counts_name_the_lists_that_differ():
    text = describe_counts(record([GOOD_BOX] * 3, labels=[1, 2], texts=["a", "b", "c"]))
    assert text == "class/label 2, others 3"
    assert count_boxes(record([GOOD_BOX] * 3)) == 3


def test_every_known_key_is_written_in_full():
    assert all(key.startswith("image/") for key in KNOWN_KEYS)
