from __future__ import annotations

from collections import Counter

from holdfast.data.record_files import read_records
from holdfast.data.record_split import split_records

from .example_records import png, record, write

IMAGE = png()


def test_each_record_is_copied_once_and_classes_are_dealt_in_proportion(tmp_path):
    # Half of them name their class, half have its number alone.
    named = [record(labels=[1], texts=["cat"], image=IMAGE, source_id=f"a{n}") for n in range(10)]
    numbered = [record(labels=[2], image=IMAGE, source_id=f"b{n}") for n in range(10)]
    sources = [write(tmp_path / "a.record", named), write(tmp_path / "b.record", numbered)]
    written = split_records(sources, str(tmp_path / "out"), val=0.2)
    train, val = (list(read_records(written[split])) for split in ("train", "val"))
    assert Counter(train + val) == Counter(named + numbered)
    assert (len(set(val) & set(named)), len(set(val) & set(numbered))) == (2, 2)


def test_the_seed_decides(tmp_path):
    examples = [record(image=IMAGE, source_id=str(number)) for number in range(20)]
    source = write(tmp_path / "all.record", examples)

    def val(folder: str, seed: int) -> list[bytes]:
        written = split_records([source], str(tmp_path / folder), val=0.5, seed=seed)
        return list(read_records(written["val"]))

    assert val("one", 1) == val("two", 1)
    assert val("one", 1) != val("three", 2)


def test_what_is_no_example_is_copied_too(tmp_path):
    source = write(tmp_path / "all.record", [b"no example", record(image=IMAGE)])
    written = split_records([source], str(tmp_path / "out"), val=0)
    assert list(written) == ["train"]
    assert list(read_records(written["train"])) == list(read_records(source))
