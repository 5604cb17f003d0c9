"""The folder that a data set is written to: never half of one, never over something else."""

from __future__ import annotations

import dataclasses

import pytest

from holdfast.data.conversion import from_records as convert_out
from holdfast.data.conversion.from_records import convert_to
from holdfast.data.conversion.out_folder import OutFolder
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.synthetic import make_synthetic
from holdfast.data.sources.synthetic_shapes import SyntheticScene
from holdfast.errors import HoldfastError

from ..small_sources import FORMATS, PETS, SPLITS, contents, source_of


class StopError(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("to", FORMATS)
def test_a_conversion_that_was_stopped_never_looks_complete_and_goes_on(to, tmp_path, monkeypatch):
    monkeypatch.setattr(convert_out, "_IMAGES_PER_PART", 2)
    source = make_synthetic(9, SyntheticScene(size=48))
    convert_to(to, source, str(tmp_path / "whole"))

    def stop(done, total):
        if done == 5:
            raise StopError

    with pytest.raises(StopError):
        convert_to(to, source, str(tmp_path / "out"), progress=stop)
    assert [path.name for path in tmp_path.iterdir() if path.name != "whole"] == ["out.partial"]
    result = convert_to(to, source, str(tmp_path / "out"))
    assert result.shards_kept == 2
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not (tmp_path / "out.partial").exists()


def test_calling_it_again_keeps_what_is_there(tmp_path):
    source = source_of(PETS, splits=SPLITS)
    first = convert_to("coco", source, str(tmp_path / "out"))
    before = contents(tmp_path / "out")
    again = convert_to("coco", source, str(tmp_path / "out"))
    assert contents(tmp_path / "out") == before
    assert dataclasses.replace(again, shards_kept=0) == first


@pytest.mark.parametrize("place", ["out", "out.partial"])
def test_a_folder_of_others_is_never_written_to(place, tmp_path):
    (tmp_path / place).mkdir()
    (tmp_path / place / "data.yaml").write_text("precious")
    with pytest.raises(HoldfastError, match="is not empty, and not from a conversion"):
        convert_to("yolo", source_of(PETS), str(tmp_path / "out"))
    assert contents(tmp_path) == {f"{place}/data.yaml": b"precious"}


def test_a_file_or_a_folder_without_a_name_of_its_own_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").write_text("precious")
    with pytest.raises(HoldfastError, match="not from a conversion"):
        convert_to("yolo", source_of(PETS), "out")
    with pytest.raises(HoldfastError, match="Name a folder in it"):
        convert_to("yolo", source_of(PETS), ".")
    assert contents(tmp_path) == {"out": b"precious"}


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    assert convert_to("csv", source_of(PETS), str(tmp_path / "out")).images == 4


def test_another_conversion_is_not_replaced(tmp_path):
    out = str(tmp_path / "out")
    convert_to("coco", source_of(PETS, splits=SPLITS), out)
    before = contents(out)
    with pytest.raises(HoldfastError, match="to coco, not of"):
        convert_to("voc", source_of(PETS, splits=SPLITS), out)
    with pytest.raises(HoldfastError, match="to coco, not of"):
        convert(source_of(PETS, splits=SPLITS), out)
    with pytest.raises(HoldfastError, match="has changed since"):
        convert_to("coco", source_of(PETS, splits=SPLITS | {"a": "val"}), out)
    assert contents(out) == before


def test_data_that_changed_does_not_mix_with_what_was_left(tmp_path):
    def stop(done, total):
        raise StopError

    with pytest.raises(StopError):
        convert_to("yolo", source_of(PETS, splits=SPLITS), str(tmp_path / "out"), progress=stop)
    with pytest.raises(HoldfastError, match=r"out\.partial is what an interrupted conversion"):
        convert_to("yolo", source_of(PETS, splits=SPLITS | {"a": "val"}), str(tmp_path / "out"))


def test_a_file_that_cannot_be_written_ends_it_and_is_no_fault_of_the_image(tmp_path, monkeypatch):
    write = OutFolder.write

    def full(folder, path, pieces):
        if path.endswith("a.jpg"):
            raise HoldfastError(f"{path} cannot be written: No space left on device.")
        return write(folder, path, pieces)

    monkeypatch.setattr(OutFolder, "write", full)
    with pytest.raises(HoldfastError, match="No space left"):
        convert_to("coco", source_of(PETS), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
