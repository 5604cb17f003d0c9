from __future__ import annotations

from collections import Counter

from holdfast.data.records.record_files import read_records
from holdfast.data.records.record_split import split_records

from ..example_records import png, record, write
from ..splitting.pictures import COPIES, jpeg, photograph


def image(seed):
    return png(64, 48, seed=seed)


def test_each_record_is_copied_once_and_classes_are_dealt_in_proportion(tmp_path):
    # Half of them name their class, half have its number alone.
    named = [
        record(labels=[1], texts=["cat"], image=image(n), source_id=f"a{n}") for n in range(10)
    ]
    numbered = [record(labels=[2], image=image(20 + n), source_id=f"b{n}") for n in range(10)]
    sources = [write(tmp_path / "a.record", named), write(tmp_path / "b.record", numbered)]
    written = split_records(sources, str(tmp_path / "out"), val=0.2)
    train, val = (list(read_records(written.paths[split])) for split in ("train", "val"))
    assert Counter(train + val) == Counter(named + numbered)
    assert (len(set(val) & set(named)), len(set(val) & set(numbered))) == (2, 2)
    assert not written.notes


def test_the_seed_decides(tmp_path):
    examples = [record(image=image(number), source_id=str(number)) for number in range(20)]
    source = write(tmp_path / "all.record", examples)

    def val(folder: str, seed: int) -> list[bytes]:
        written = split_records([source], str(tmp_path / folder), val=0.5, seed=seed)
        return list(read_records(written.paths["val"]))

    assert val("one", 1) == val("two", 1)
    assert val("one", 1) != val("three", 2)


def test_what_is_no_example_is_copied_too(tmp_path):
    source = write(tmp_path / "all.record", [b"no example", record(image=image(0))])
    written = split_records([source], str(tmp_path / "out"), val=0)
    assert list(written.paths) == ["train"]
    assert list(read_records(written.paths["train"])) == list(read_records(source))


def test_near_duplicates_and_copies_by_name_stay_on_one_side(tmp_path):
    twins = [
        record(image=COPIES[change](photograph(seed)), source_id=f"{change} {seed}x")
        for seed in range(5)
        for change in ("requantized", "mirrored")
    ]
    copies = [
        record(
            image=jpeg(photograph(50 + 2 * n + copy)),
            image__filename=[f"{n}x_jpg.rf.{copy:032x}.jpg".encode()],
        )
        for n in range(5)
        for copy in range(2)
    ]
    examples = twins + copies
    source = write(tmp_path / "all.record", examples)
    for seed in range(4):
        written = split_records([source], str(tmp_path / str(seed)), val=0.2, seed=seed)
        val = set(read_records(written.paths["val"]))
        assert len(val) == 4
        pairs = zip(examples[::2], examples[1::2], strict=True)
        assert all((first in val) == (second in val) for first, second in pairs)
        assert "20 of 20 images are in 10 groups that each stay on one side" in written.notes[0]


def test_both_sides_hold_small_and_large_boxes_and_few_and_many(tmp_path):
    small, large = (0.1, 0.1, 0.2, 0.2), (0.0, 0.0, 0.9, 0.9)
    examples = [
        record([large if n < 20 else small] * (1 + 3 * (n % 2)), image=image(n), source_id=f"{n}x")
        for n in range(40)
    ]
    source = write(tmp_path / "all.record", examples)
    for seed in range(4):
        written = split_records([source], str(tmp_path / str(seed)), val=0.2, seed=seed)
        val = set(read_records(written.paths["val"]))
        chosen = [number for number in range(40) if examples[number] in val]
        assert len(chosen) == 8
        assert abs(sum(number < 20 for number in chosen) - 4) <= 1
        assert abs(sum(number % 2 for number in chosen) - 4) <= 1


def test_the_only_image_of_a_class_is_named_as_the_record_names_it(tmp_path):
    examples = [record(labels=[7], image=image(n), source_id=f"{n}x") for n in range(10)]
    examples.append(record(labels=[9], image=image(90), source_id="y"))
    source = write(tmp_path / "all.record", examples)
    written = split_records([source], str(tmp_path / "out"), val=0.2)
    assert written.notes == ("Too few images to be on both sides; not in val: id 9.",)
    assert examples[-1] in set(read_records(written.paths["train"]))
