"""One short training by the command, which the tests of several commands look at."""

from __future__ import annotations

import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source

from .commands import CONFIG, Trained, holdfast


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Trained:
    """A run of four steps; not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("trained")
    source = open_source("20@96", format_name="synthetic", seed=1)
    converted = convert(source, str(folder / "records"), val=0.2, seed=0)
    config, run = folder / "pipeline.config", folder / "run"
    config.write_text(CONFIG)
    finished = holdfast("train", config, "--run", run, "--evaluate-every", 2)
    return Trained(config, run, converted.splits["train"].boxes, finished)
