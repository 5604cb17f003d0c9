"""Records made on the spot, and a small untrained detector, for all tests of evaluation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.models.detectors.build_detector import build_detector

from .setups import NUM_IMAGES, Setup, setup


@pytest.fixture(scope="session")
def records_folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    source = open_source(f"{NUM_IMAGES}@96", format_name="synthetic", seed=1)
    convert(source, str(folder), val=0.0, seed=0, num_shards=2)
    return folder


@pytest.fixture(scope="session")
def made(records_folder) -> Setup:
    return setup(records_folder)


@pytest.fixture(scope="session")
def detector(made):
    built = build_detector(made.config)
    random = np.random.default_rng(1)
    # By default the signal fades on its way: all scores are equal, and rounding would order them.
    for weight in built.trainable_weights:
        if len(weight.shape) == 4:
            sources = np.prod(weight.shape[:2] if weight.shape[3] == 1 else weight.shape[:3])
            scale = 30.0 if "classes" in weight.path else 1.0
            weight.assign(scale * random.normal(0.0, np.sqrt(2.0 / sources), weight.shape))
    return built
