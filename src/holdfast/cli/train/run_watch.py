"""The doctor beside a training: what it finds in the events so far, told once."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import examine
from holdfast.doctor.finding import Finding
from holdfast.runs.event_tail import EventTail
from holdfast.runs.run import EVENTS_NAME

# Errors of these are sure enough, and soon enough, to stop a training for.
CODES = (
    *("loss-not-finite", "loss-diverged", "gradients-explode", "dead-activations"),
    *("background-collapse", "localization-stuck", "plateau", "learning-too-slow"),
    *("detections-zero", "batch-norm-drift"),
)
_FIRST = 100  # steps before the first look
_SHARE = 0.1  # a tenth more steps than at the last look: all looks cost as much as a few


class RunWatch:
    """Looks at a run now and then, and gives each error when it first appears."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._tail = EventTail(run / EVENTS_NAME)
        self._next = 0
        self._told: set[str] = set()

    def look(self, step: int, *, is_due: bool = False) -> Iterator[str]:
        """Yield what to print about findings that are new; is_due: look whatever the step."""
        if step < _FIRST or (step < self._next and not is_due):
            return
        self._next = step + max(_FIRST, int(_SHARE * step))
        case = Case(run_path=self._run)
        try:
            case.events = self._tail.read()
        except OSError:  # nothing here is worth ending a training for
            return
        for finding in examine(case, only=CODES).findings:
            if finding.severity == "error" and finding.code not in self._told:
                self._told.add(finding.code)
                yield self._text(finding)

    def _text(self, finding: Finding) -> str:
        command = shlex.join(["holdfast", "doctor", str(self._run), "--only", finding.code])
        return f"{finding.code}: {finding.what} {finding.why} `{command}` shows more."
