"""Who writes capsules while a training runs, and says so; what fails here fails nothing else."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from holdfast.training.capsule.capture import capture
from holdfast.training.capsule.loss_alarm import NOT_FINITE, OUT_OF_MEMORY, LossAlarm
from holdfast.training.journal import Journal
from holdfast.training.reporter import Reporter
from holdfast.training.session import Session
from holdfast.training.step.training_step import TOTAL, StepOutcome
from holdfast.training.surviving.out_of_memory import is_out_of_memory
from holdfast.units import bytes_text


class CapsuleWriter:
    """Holds back steps that are worth a capsule, and writes it; steps count from 1 here."""

    def __init__(self, session: Session, journal: Journal, reporter: Reporter) -> None:
        self._session = session
        self._journal = journal
        self._reporter = reporter
        self._alarm = LossAlarm(frozenset(session.settings.capsule_at))
        self._has_run_out = False

    def arm(self, step: int) -> None:
        """Let the step with this number be held back if it should be."""
        self._session.step.hold_above(self._alarm.highest(step))

    def disarm(self) -> None:
        """Hold back no step but one whose loss is not a number."""
        self._session.step.hold_above(math.inf)

    def stepped(self, loss: float) -> None:
        """Hear the total loss of a step that was taken."""
        self._alarm.stepped(loss)

    def held(self, step: int, batch: Any, outcome: StepOutcome) -> Path | None:
        """Write the capsule of a step that was held back, or whose gradient is not finite."""
        loss = float(outcome.losses[TOTAL])
        is_finite = math.isfinite(loss) and math.isfinite(float(outcome.gradient_norm))
        why = self._alarm.why(step, loss) if is_finite else NOT_FINITE
        text = self._alarm.text(why, loss)
        if why == NOT_FINITE and math.isfinite(loss):
            text = f"The gradient is not finite; the loss is {loss:.4g}."
        return self._write(step, batch, outcome, why, text)

    def ran_out(self, step: int, batch: Any, reason: str) -> None:
        """Write the capsule of a step that memory did not suffice for; one is enough."""
        if batch is not None and not self._has_run_out:
            self._has_run_out = True
            self._write(step, batch, None, OUT_OF_MEMORY, reason)

    def _write(
        self, step: int, batch: Any, outcome: StepOutcome | None, why: str, text: str
    ) -> Path | None:
        journal = self._journal
        try:
            path = capture(
                self._session,
                batch,
                outcome,
                step=step,
                why=why,
                text=text,
                folder=journal.folder,
                checkpoint=journal.saved_step,
                plan=journal.plan,
            )
        except Exception as error:  # a training does not end because a step cannot be kept
            why_not = (
                "there is not enough memory"
                if is_out_of_memory(error)
                else f"{type(error).__name__}: {error}"
            )
            self._tell(step, f"The capsule of step {step} could not be written: {why_not}.")
            return None
        size = path.stat().st_size
        journal.record(
            step, "capsule", why=why, file=str(path.relative_to(journal.folder)), bytes=size
        )
        # What ends the training names the file itself.
        if why != NOT_FINITE:
            self._reporter.note(
                f"Step {step} is kept in {path} ({bytes_text(size)}). {text} "
                f"`holdfast replay {path}` shows it."
            )
        return path

    def _tell(self, step: int, text: str) -> None:
        self._journal.noted(step, text)
        self._reporter.note(text)
