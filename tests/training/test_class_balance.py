"""Class weights come from counts or a file, and keep the loss its size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.errors import HoldfastError
from holdfast.losses.class_weights import (
    balanced_class_weights,
    effective_number_weights,
    normalized,
)
from holdfast.training.class_balance import read_class_weights
from holdfast.training.loop import train
from holdfast.training.training_settings import TrainingSettings

from .small_families import family_config
from .small_training import config_text, given_plan

KNOWN = {"red cell": 0, "platelets": 1, "white cell": 2, "1": 0, "2": 1, "3": 2}

counts_strategy = st.lists(st.integers(0, 10_000), min_size=1, max_size=8)


def written(folder: Path, text: str) -> Path:
    path = folder / "weights.txt"
    path.write_text(text, encoding="utf-8")
    return path


@given(counts_strategy)
def test_effective_numbers_equal_the_sum_that_defines_them(counts):
    weights = np.array(effective_number_weights(counts, beta=0.9))
    effective = np.array([np.sum(0.9 ** np.arange(count)) for count in counts])
    present = np.array(counts) > 0
    shares = (weights * effective)[present]
    np.testing.assert_allclose(shares, shares[:1].repeat(len(shares)), rtol=1e-9)


@given(counts_strategy)
def test_the_mean_over_all_boxes_is_one(counts):
    weights = effective_number_weights(counts)
    assert np.dot(weights, counts) == pytest.approx(sum(counts))
    assert all(weight == 1.0 for weight, count in zip(weights, counts, strict=True) if not count)


def test_effective_numbers_differ_less_than_inverse_frequencies_in_the_same_order():
    counts = [4155, 372, 361]  # the blood cells of BCCD
    gentle, steep = effective_number_weights(counts), balanced_class_weights(counts)
    assert gentle[0] < 1 < gentle[1] < gentle[2]
    assert gentle[2] / gentle[0] < steep[2] / steep[0]


@pytest.mark.parametrize(
    "text",
    [
        '{"red cell": 0.5, "platelets": 3}',
        "# rare ones count more\nred cell 0.5\n\n  platelets   3\n",
        "1 0.5\n2 3.0",
    ],
)
def test_a_file_is_json_or_lines(tmp_path, text):
    assert read_class_weights(written(tmp_path, text), KNOWN) == {0: 0.5, 1: 3.0}


def test_every_wrong_entry_is_told_with_its_place(tmp_path):
    text = "red cells 2\nplatelets -1\nwhite cell x\nred cell 1\n1 4\ntiger nan\n"
    with pytest.raises(HoldfastError) as error:
        read_class_weights(written(tmp_path, text), KNOWN)
    assert error.value.message.splitlines()[1:] == [
        "  line 1: there is no class 'red cells'; did you mean 'red cell'?",
        "  line 2: '-1' is not a weight (a number of at least 0)",
        "  line 3: 'x' is not a weight (a number of at least 0)",
        "  line 5: '1' has a weight already",
        "  line 6: there is no class 'tiger'",
    ]
    assert "red cell, platelets, white cell." in error.value.fix


@pytest.mark.parametrize("value", ["true", "null", "[1]", '{"a": 1}', "NaN"])
def test_a_weight_in_json_must_be_a_number(tmp_path, value):
    with pytest.raises(HoldfastError, match=r"entry 1: .* is not a weight"):
        read_class_weights(written(tmp_path, f'{{"platelets": {value}}}'), KNOWN)


@pytest.mark.parametrize(
    ("text", "message"), [("", "no entry"), ("{", "not valid JSON"), ("platelets", "no class ''")]
)
def test_files_that_say_nothing_are_refused(tmp_path, text, message):
    with pytest.raises(HoldfastError, match=message):
        read_class_weights(written(tmp_path, text), KNOWN)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(HoldfastError, match="cannot be read") as error:
        read_class_weights(tmp_path / "none.txt", KNOWN)
    assert "`auto`" in error.value.fix


def test_weights_of_zero_for_all_boxes_are_refused():
    with pytest.raises(HoldfastError, match="nothing would be learned"):
        normalized([0.0, 5.0], [3, 0])


def test_a_class_may_be_left_out_by_a_weight_of_zero():
    assert normalized([0.0, 2.0], [5, 5]) == [0.0, 2.0]


def test_center_net_takes_none(tmp_path):
    data, run = tmp_path / "data", tmp_path / "run"
    convert(open_source("4@64", format_name="synthetic"), str(data), val=0.0)
    config = family_config("center_net", decode(config_text(), TrainEvalPipelineConfig).message)
    settings = TrainingSettings(class_weights="auto", plan=given_plan())
    with pytest.raises(HoldfastError, match="CenterNet takes no class weights") as error:
        train(config, run, settings=settings, folder=data)
    assert error.value.fix == "Leave --class-weights out."
    assert not run.exists()
