from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.commands import CONFIG
from tests.doctor.cases import case_of, run_folder

import holdfast
from holdfast.doctor.case import Case
from holdfast.doctor.check import CHECKS, all_checks, check
from holdfast.doctor.diagnose import examine
from holdfast.doctor.examined_data import ExaminedData
from holdfast.doctor.finding import Finding, Fix, Severity
from holdfast.doctor.lazy_part import LazyPart
from holdfast.doctor.order import ORDER
from holdfast.errors import HoldfastError


def finding(code: str, severity: Severity) -> Finding:
    return Finding(
        code=code, severity=severity, what="", why="", evidence={}, fix=Fix(text="do it")
    )


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks that a test registers are gone after it."""
    all_checks()
    monkeypatch.setattr(CHECKS, "_entries", dict(CHECKS._entries))
    monkeypatch.setattr(CHECKS, "_makers", dict(CHECKS._makers))


@pytest.mark.usefixtures("added")
def test_a_check_that_raises_is_listed_and_the_others_go_on():
    @check("broken-own", about="config")
    def broken(case: Case) -> Iterator[Finding]:
        """Raise."""
        raise ZeroDivisionError("of mine")
        yield

    @check("fine-own", about="config")
    def fine(case: Case) -> Iterator[Finding]:
        """Find."""
        yield finding("fine-own", "note")

    diagnosis = examine(case_of(CONFIG), only=["broken-own", "fine-own"])
    assert [each.code for each in diagnosis.findings] == ["fine-own"]
    assert diagnosis.not_looked_at == (("broken-own", "ZeroDivisionError: of mine"),)


@pytest.mark.usefixtures("added")
def test_what_a_check_asks_for_and_is_missing_is_the_reason():
    @check("needs-own", about="run", needs=("events",))
    def needing(case: Case) -> Iterator[Finding]:
        """Never get here."""
        yield finding("needs-own", "error")

    @check("asks-own", about="run")
    def asking(case: Case) -> Iterator[Finding]:
        """Ask for what it did not name."""
        yield finding("asks-own", "error") if case.train.statistics.boxes else finding("", "note")

    diagnosis = examine(case_of(CONFIG), only=["needs-own", "asks-own"])
    assert diagnosis.findings == ()
    assert dict(diagnosis.not_looked_at) == {
        "needs-own": "there is no run yet, only a config",
        "asks-own": "records/train.record-* leads to no file",
    }


@pytest.mark.usefixtures("added")
def test_severe_findings_come_first_and_causes_before_consequences():
    @check("many-own", about="run")
    def many(case: Case) -> Iterator[Finding]:
        """Find many things."""
        yield finding("many-own", "error")
        yield finding("plateau", "warning")
        yield finding("detections-zero", "error")
        yield finding("learning-rate-high", "warning")
        yield finding("label-shift", "error")

    diagnosis = examine(case_of(CONFIG), only=["many-own"])
    assert [each.code for each in diagnosis.findings] == [
        *("label-shift", "detections-zero", "many-own"),
        *("learning-rate-high", "plateau"),
    ]


def test_every_check_has_a_page_and_needs_what_a_case_has():
    for each in all_checks():
        assert each.sentence.endswith("."), each.code
        assert len(each.page.splitlines()) > 2, f"{each.code}: more than a sentence"
        assert each.code in ORDER
        for need in each.needs:
            assert _is_part(need), f"{each.code} needs {need}"
        assert each.look.__module__.endswith(f".{each.code.replace('-', '_')}")


def _is_part(need: str) -> bool:
    """Tell whether a case has an attribute, such as config or train.statistics."""
    owner, _, attribute = need.rpartition(".")
    kind = ExaminedData if owner in {"train", "evaluation"} else Case
    return isinstance(kind.__dict__.get(attribute), LazyPart)


def test_an_unknown_code_is_an_error_that_names_the_nearest():
    with pytest.raises(HoldfastError, match="learning-rate-high"):
        examine(case_of(CONFIG), only=["learning-rate-hihg"])


def test_a_run_without_manifest_or_config_is_looked_at_all_the_same(tmp_path: Path):
    run = run_folder(tmp_path / "run", '{"step": 1, "kind": "step"}', "torn {", '{"step": 2')
    case = Case(run_path=run)
    assert [event.step for event in case.events] == [1]
    findings = holdfast.diagnose(run)
    assert all(each.severity != "error" for each in findings)


def test_a_config_without_data_needs_no_tensorflow(tmp_path: Path):
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG)
    program = (
        "import sys, holdfast\n"
        f"holdfast.diagnose({str(path)!r})\n"
        "print(*{'tensorflow', 'keras'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_every_code_has_one_place_in_the_order():
    assert len(set(ORDER)) == len(ORDER)
    assert {each.code for each in all_checks()} <= set(ORDER)
    assert all("-" in code or code in {"plateau", "overfitting", "retracing"} for code in ORDER)
