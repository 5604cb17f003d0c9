"""Where `new` is tried, and records that it can be given."""

from __future__ import annotations

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.data.sources.synthetic import open_synthetic


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """TFRecords of ten images in train and val with masks; their statistics stay beside them."""
    folder = tmp_path_factory.mktemp("shapes")
    convert(open_synthetic("10@64", OpenOptions(masks=True)), str(folder))
    return folder
