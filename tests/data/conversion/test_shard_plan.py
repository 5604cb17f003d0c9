from __future__ import annotations

import zlib
from dataclasses import replace
from typing import NamedTuple

import pytest

from holdfast.config.schema.label_map_items import StringIntLabelMap, StringIntLabelMapItem
from holdfast.data.conversion.shard_plan import DUPLICATE, NO_SPLIT, plan_shards
from holdfast.data.sources.source import Entry, Source
from holdfast.errors import HoldfastError

from ..example_records import png
from ..splitting.pictures import COPIES, jpeg, photograph


class Sample(NamedTuple):
    image: bytes


class Reading(NamedTuple):
    sample: Sample


def refuse():
    raise HoldfastError("There is no such image.")


def entry(name, split=None, *, path="", image=None):
    """Make an entry; without a path or an image of its own it has one of random pixels."""
    reading = Reading(Sample(image or png(seed=zlib.crc32(name.encode()))))
    return Entry(
        source_id=name,
        place=f"{name}.xml",
        filename=name,
        read=lambda: reading,
        split=split,
        class_counts={0: 1},
        image_path=path,
    )


def source(*entries):
    label_map = StringIntLabelMap(item=(StringIntLabelMapItem(id=1, name="cat"),))
    return Source(format="voc", location="pets", label_map=label_map, entries=entries)


def splits(plan):
    return {entry.source_id: shard.split for shard in plan.shards for entry in shard.entries}


def test_the_splits_of_the_data_are_kept_and_nothing_is_looked_at():
    seen = []
    data = source(entry("a", "train"), entry("b", "val"), entry("c", "test"), entry("d"))
    plan = plan_shards(data, progress=lambda done, total: seen.append(done))
    assert splits(plan) == {"a": "train", "b": "val", "c": "test"}
    assert [(one.entry.source_id, one.reason) for one in plan.refused] == [("d", NO_SPLIT)]
    assert not seen


def test_a_share_that_the_splits_of_the_data_leave_without_use_is_said():
    data = source(entry("a", "train"), entry("b", "val"))
    (note,) = plan_shards(data, val=0.5).notes
    assert note.startswith("The data has splits, which are kept: --val 0.5 is not used")
    assert not plan_shards(data).notes
    assert splits(plan_shards(data, val=0.5)) == {"a": "train", "b": "val"}


@pytest.mark.parametrize("other", ["test", "val"])
def test_images_beside_a_folder_of_test_images_are_for_training(other):
    plan = plan_shards(source(entry("a"), entry("b"), entry("c", other)))
    assert splits(plan) == {"a": "train", "b": "train", "c": other}
    assert plan.notes == (
        f"The data names {other} but no train: 2 images of no split will be train.",
    )


def test_data_that_is_all_of_one_split_is_split_and_that_is_said():
    plan = plan_shards(source(*(entry(f"{n}x", "test") for n in range(10))))
    assert sorted(splits(plan).values()).count("val") == 2
    assert plan.notes == ("The data has no split but test: 20% of it becomes val.",)


def test_resplitting_forgets_the_splits_of_the_data():
    data = source(*(entry(f"{n}x", "val" if n < 9 else "train") for n in range(10)))
    plan = plan_shards(data, keep_splits=False)
    assert sorted(splits(plan).values()).count("val") == 2
    assert not plan.notes


def test_near_duplicates_are_found_in_the_files_of_the_images(tmp_path):
    entries = []
    for seed in range(6):
        for number, change in enumerate(("requantized", "mirrored", "smaller")):
            path = tmp_path / f"{'abc'[number]}{seed}x.jpg"
            path.write_bytes(COPIES[change](photograph(seed)))
            entries.append(entry(path.name, path=str(path)))
    # What cannot be read belongs to nothing, and is no part of the share.
    entries += [replace(entry(f"missing {number}y"), read=refuse) for number in range(12)]
    seen = []
    for seed in range(5):
        plan = plan_shards(
            source(*entries), val=0.3, seed=seed, progress=lambda *done: seen.append(done)
        )
        found = splits(plan)
        for group in range(6):
            assert len({found[f"{letter}{group}x.jpg"] for letter in "abc"}) == 1
        assert list(found.values()).count("val") == 6
        assert all(found[f"missing {number}y"] == "train" for number in range(12))
        assert "18 of 18 images are in 6 groups that each stay on one side" in plan.notes[0]
    assert seen[-1] == (30, 30)


def test_an_image_inside_of_its_annotation_is_looked_at_too():
    twins = [entry(name, image=jpeg(photograph(0))) for name in ("one", "two")]
    others = [entry(f"{number}x") for number in range(8)]
    plan = plan_shards(source(*twins, *others), val=0.5)
    assert len({splits(plan)[name] for name in ("one", "two")}) == 1
    assert "2 of 10 images" in plan.notes[0]


def test_a_class_that_the_label_map_lacks_has_no_part_in_the_split():
    images = [replace(entry(name), class_counts={0: 1, 7: 2}) for name in "ab"]
    images += [replace(entry("c"), class_counts={0: 1, 8: 1})]
    assert not plan_shards(source(*images), val=0.3).notes


def test_nothing_is_looked_at_without_a_share_for_val():
    seen = []
    plan = plan_shards(
        source(entry("a"), entry("b")), val=0, progress=lambda *done: seen.append(done)
    )
    assert splits(plan) == {"a": "train", "b": "train"}
    assert not seen


def test_the_same_source_id_is_taken_once():
    plan = plan_shards(source(entry("a"), entry("a")), val=0)
    assert [one.reason for one in plan.refused] == [DUPLICATE]


@pytest.mark.parametrize("val", [-0.1, 1.0, 20])
def test_a_share_that_is_none_is_refused(val):
    with pytest.raises(HoldfastError, match="Give it as a share"):
        plan_shards(source(entry("a")), val=val)
