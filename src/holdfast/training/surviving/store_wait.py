"""A store that stops answering while a training reads from it: waited for, then the run is kept."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.store.store_errors import StoreError, tensorflow_error
from holdfast.training.journal import Journal
from holdfast.training.reporter import Reporter
from holdfast.training.surviving.failure import TrainingFailedError

_PATIENCE_SECONDS = 600.0
_PAUSE_SECONDS = 5.0  # TensorFlow itself tries for some seconds each time
_LOOK_SECONDS = 0.2
_PASSING = (408, 429)  # and what is 500 or more


class StoreWait:
    """Waits between tries; told once each time that the store is away.

    is_stopped: whether the user asks the training to stop.
    """

    def __init__(self, journal: Journal, reporter: Reporter) -> None:
        self.is_stopped: Callable[[], bool] = lambda: False
        self._journal = journal
        self._reporter = reporter
        self._since: float | None = None

    def back(self) -> None:
        """Note that the store answers."""
        if self._since is not None:
            self._reporter.note("The store answers again; training continues.")
            self._since = None

    def wait(self, step: int, error: Exception) -> bool:
        """Wait until a batch can be asked for again; False if the error is not about a store.

        TrainingFailedError if waiting does not help, or has lasted too long.
        """
        problem = tensorflow_error(error)
        if problem is None:
            return False
        now = time.monotonic()
        if self._since is None:
            self._since = now
            if _passes(problem):
                text = (
                    f"{problem.message} Waiting for it, {_PATIENCE_SECONDS / 60:.0f} min at most."
                )
                self._journal.noted(step, text)
                self._reporter.note(text)
        if not _passes(problem) or now - self._since > _PATIENCE_SECONDS or not self._pause():
            raise TrainingFailedError(
                f"After step {step}, no more data could be read. {problem.message}",
                fix=f"{problem.fix} The same command resumes after the last checkpoint.",
            ) from error
        return True

    def _pause(self) -> bool:
        """Wait a little; tell whether nobody asked to stop."""
        until = time.monotonic() + _PAUSE_SECONDS
        while time.monotonic() < until:
            if self.is_stopped():
                return False
            time.sleep(_LOOK_SECONDS)
        return True


def _passes(problem: StoreError) -> bool:
    """Tell whether the same question may be answered later."""
    return problem.code is None or problem.code >= 500 or problem.code in _PASSING
