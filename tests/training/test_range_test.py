from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError
from holdfast.training.range_test import range_test

from .small_training import config_text


def small_config() -> TrainEvalPipelineConfig:
    return decode(config_text(), TrainEvalPipelineConfig).message


@pytest.mark.slow
def test_the_rate_rises_by_one_factor_and_nothing_stays(tmp_path: Path, monkeypatch):
    data, place = tmp_path / "data", tmp_path / "temporary"
    convert(open_source("20@64", format_name="synthetic", seed=1), str(data), val=0.0, seed=0)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    tested = range_test(small_config(), steps=30, lowest=1e-4, highest=100.0, folder=data)
    assert tested.rates[0] == pytest.approx(1e-4)
    factors = [after / before for before, after in itertools.pairwise(tested.rates)]
    assert factors == pytest.approx([10 ** (6 / 29)] * len(factors), rel=1e-3)
    assert len(tested.losses) == len(tested.rates) >= 20
    if len(tested.rates) < 30:
        assert "loss" in tested.ended
    assert list(place.iterdir()) == []


def test_a_config_without_an_optimizer_has_no_rate_to_find():
    with pytest.raises(HoldfastError, match="chooses no optimizer"):
        range_test(TrainEvalPipelineConfig())
