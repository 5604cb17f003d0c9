"""What `new` makes of data: readers that load what the network learns, and no more."""

from __future__ import annotations

import pytest

from holdfast.config.schema.input_reader import InstanceMaskType
from holdfast.data.conversion.open_sources import DataOptions
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.data.sources.synthetic import open_synthetic
from holdfast.errors import HoldfastError
from holdfast.progress import unwatched
from holdfast.projects.project_data import SplitOptions, open_dataset, prepare
from holdfast.projects.project_folder import NewFolder

SPLIT = SplitOptions(val=0.25, resplit=False, shards=1, seed=0, strict=False)
SYNTHETIC = DataOptions(format_name="synthetic")


def prepared(tmp_path, learned, *, location="8@64", how=SYNTHETIC):
    folder = NewFolder(tmp_path / "made")
    folder.path.mkdir()
    data = open_dataset([location], how, unwatched, learned)
    return prepare(data, folder, SPLIT, unwatched, learned)


def test_what_is_learned_is_written_and_loaded(tmp_path):
    made = prepared(tmp_path, {"masks", "keypoints"})
    for reader in made.readers.values():
        assert reader.load_instance_masks
        assert reader.mask_type is InstanceMaskType.PNG_MASKS
        assert reader.num_keypoints == 5


def test_masks_that_are_not_learned_are_neither_written_nor_loaded(tmp_path):
    with_masks = prepared(tmp_path, {"masks"}).statistics["train"]
    (tmp_path / "other").mkdir()
    made = prepared(tmp_path / "other", ())
    assert not any(reader.load_instance_masks for reader in made.readers.values())
    assert sum(made.statistics["train"].stored_bytes) < sum(with_masks.stored_bytes)


def test_records_without_masks_cannot_teach_them(tmp_path):
    convert(open_synthetic("8@64", OpenOptions(masks=False)), str(tmp_path / "records"))
    with pytest.raises(HoldfastError, match="has no masks") as error:
        prepared(tmp_path, {"masks"}, location=str(tmp_path / "records"), how=DataOptions())
    assert "boxes" in error.value.fix
