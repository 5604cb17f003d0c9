from __future__ import annotations

import json

import pytest

from ..commands import holdfast, words

KEYS = {
    *("fits", "limit_bytes", "base_bytes", "predicted_peak_bytes", "items", "settings"),
    *("assumptions", "predicted_step_flops"),
}


def test_the_json_has_the_fixed_keys_and_items_that_add_up(trained):
    finished = holdfast("plan", trained.config, "--json", "--memory", "8GiB", "--device", "cpu")
    assert finished.code == 0, finished.err
    document = json.loads(finished.out)
    assert set(document) >= KEYS
    assert document["fits"]
    assert document["limit_bytes"] == 8 * 2**30
    assert sum(document["items"].values()) == document["predicted_peak_bytes"]
    assert document["settings"] == {
        "micro_batch": 4,
        "accumulation": 1,
        "precision": "float32",
        "rematerialize": [],
        "region_chunks": 1,
    }
    assert any("fullest image" in text for text in document["assumptions"])


def test_what_can_never_fit_has_code_1_and_says_how_much_is_missing(trained):
    finished = holdfast("plan", trained.config, "--memory", "1MiB", "--no-table")
    assert finished.code == 1
    shown = words(finished.out)
    assert "Nothing fits: with" in shown
    assert "are missing" in shown
    assert "too much" in shown
    assert "depth_multiplier=0.5" in shown


def test_without_data_the_plan_says_what_it_assumes(trained, tmp_path):
    config = tmp_path / "pipeline.config"
    config.write_text(trained.config.read_text())
    finished = holdfast("plan", config, "--card", "RTX 3060", "--json")
    assert finished.code == 0, finished.err
    assumptions = " ".join(json.loads(finished.out)["assumptions"])
    assert "without data" in assumptions
    assert "not measured on a GPU" in assumptions


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--card", "RTX 306"), "RTX 3060"),
        (("--memory", "much"), "8GiB"),
        (("--accumulate", 3), "divisor of 4"),
        (("--card", "T4", "--memory", "8GiB"), "either --card"),
    ],
)
def test_wrong_options_have_code_2(trained, wrong, said):
    finished = holdfast("plan", trained.config, *wrong)
    assert finished.code == 2
    assert said in words(finished.err)
