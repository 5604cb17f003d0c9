"""What all tests share: the folder of reference data."""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.fake_store import FakeStore, fake_store

from holdfast.store.tensorflow_reading import bound_reading

# `make test` tries the same examples every time; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# As the command line does, so that commands and functions give the same numbers.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
bound_reading()

PROJECT = Path(__file__).resolve().parent.parent


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Fresh weights are the same in every run: Keras draws their seeds from Python's generator."""
    random.seed(0)


@pytest.fixture(autouse=True)
def no_seed_for_other_tests() -> Iterator[None]:
    """Whatever seed a test gives to all of TensorFlow, the next one finds none."""
    yield
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and hasattr(tensorflow, "random"):
        tensorflow.random.set_seed(None)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The reference data (goldens, corpus, data sets): beside the project, or HOLDFAST_SHARED."""
    folder = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI needs the reference data, and {folder} does not exist")
        pytest.skip(f"needs the reference data, which is not at {folder} (set HOLDFAST_SHARED)")
    return folder


@pytest.fixture(scope="session")
def corpus(shared: Path) -> Path:
    """Real users' configs, label maps and what the OD API makes of them."""
    return shared / "corpus"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeStore]:
    """A Cloud Storage with one bucket, `cells`, for this test; also for what it starts."""
    with fake_store(tmp_path, "cells") as served:
        for name, value in served.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
        yield served
        gc.collect()  # here, where what Google's client leaves open is no error


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Google's client leaves connections open after an error: not our fault, nor any harm."""
    for item in items:
        if "store" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
