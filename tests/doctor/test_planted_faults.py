"""The doctor names what was planted into a healthy training, and says little about a healthy one.

Faults of the config and of the run need no training. Those of the data write and read a few hundred
images each. The trainings themselves, at the end, take minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.doctor.planted_faults import (
    CONFIG_FAULTS,
    DATA_FAULTS,
    Fault,
    config_text,
    healthy_scenes,
    held_out_scenes,
)
from tests.doctor.planted_run_faults import RUN_FAULTS
from tests.doctor.scenes import data_case
from tests.doctor.synthetic_runs import evaluation, healthy_steps, run_case, vitals

from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import examine

LEAST = 0.9
# What a test's machine is like is not planted.
OF_THE_MACHINE = {"gpu-unseen", "gpu-shared", "disk-short", "memory-short", "host-memory-short"}


def first_two(case: Case) -> list[str]:
    findings = [each for each in examine(case).findings if each.code not in OF_THE_MACHINE]
    return [each.code for each in findings[:2]]


def missed(faults: Sequence[Fault], folder: Path) -> dict[str, list[str]]:
    """Give the faults that neither the first nor the second finding names, with what these say."""
    said = {fault.name: first_two(fault.case(folder / str(at))) for at, fault in enumerate(faults)}
    return {
        fault.name: said[fault.name]
        for fault in faults
        if not set(fault.codes) & set(said[fault.name])
    }


def test_there_are_enough_faults():
    faults = (*CONFIG_FAULTS, *DATA_FAULTS, *RUN_FAULTS)
    assert len(faults) >= 35
    assert len({fault.name for fault in faults}) == len(faults)


def test_faults_of_the_config_are_named(tmp_path: Path):
    wrong = missed(CONFIG_FAULTS, tmp_path)
    assert len(wrong) <= (1 - LEAST) * len(CONFIG_FAULTS), wrong


def test_faults_of_the_run_are_named(tmp_path: Path):
    wrong = missed(RUN_FAULTS, tmp_path)
    assert len(wrong) <= (1 - LEAST) * len(RUN_FAULTS), wrong


@pytest.mark.slow
def test_faults_of_the_data_are_named(tmp_path: Path):
    wrong = missed(DATA_FAULTS, tmp_path)
    assert len(wrong) <= (1 - LEAST) * len(DATA_FAULTS), wrong


def severities(case: Case) -> list[tuple[str, str]]:
    return [
        (each.severity, each.code)
        for each in examine(case).findings
        if each.code not in OF_THE_MACHINE and each.severity != "note"
    ]


def test_the_healthy_config_and_run_are_all_right():
    case = run_case(
        [
            *healthy_steps(2000),
            *(evaluation(step, 0.0004 * step) for step in range(200, 2001, 200)),
            *(vitals(step) for step in range(100, 2001, 100)),
        ]
    )
    case.config = Fault(name="none", codes=()).case(Path()).config
    assert severities(case) == []


@pytest.mark.slow
def test_the_healthy_data_is_all_right(tmp_path: Path):
    case = data_case(tmp_path, healthy_scenes(), held_out_scenes(), config=config_text())
    found = severities(case)
    assert [code for severity, code in found if severity == "error"] == []
    assert len(found) <= 2
