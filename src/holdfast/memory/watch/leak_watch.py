"""Memory that grows while a training runs: seen early, named, and foretold to its end."""

from __future__ import annotations

import math
import resource
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from holdfast.memory.devices.allocation import give_back
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.watch.suspects import (
    OPEN_FILES,
    Cause,
    Census,
    Shapes,
    find_cause,
    open_file_count,
    take_census,
)
from holdfast.memory.watch.trend import trend_of
from holdfast.units import bytes_text

EVERY = 10  # steps between two samples
SAMPLES = 16  # by which growth is judged
WARM_UP = 20  # steps in which a healthy training grows too
LEAST_BYTES = 8 * 2**20  # that grew while it was watched; less is not worth a word
LEAST_SHARE = 0.005  # of what was held
LEAST_FILES = SAMPLES
_SUSPICION = SAMPLES // 2  # samples after which objects are counted for the first time
_COMPARED = 4 * EVERY  # steps at least between two counts of objects
_SILENCE = 1000  # steps after a warning
_HOST = "host memory"
_FILES = "open files"
_LONG = 10  # a longer view keeps every so many-th sample


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Something that grows and does not stop."""

    step: int
    what: str  # "host memory", "device memory" or "open files"
    per_step: float  # bytes, or files
    held: float
    limit: float
    limit_step: int  # when it will be reached
    cause: Cause

    def __str__(self) -> str:
        told = (lambda count: f"{count:.3g}") if self.cause.name == OPEN_FILES else bytes_text
        return (
            f"{self.what} grows by {told(self.per_step)} a step ({told(self.held)} now), and "
            f"reaches the limit of {told(self.limit)} at about step {self.limit_step}. What grows: "
            f"{self.cause.name}: {self.cause.detail}."
        )


class LeakWatch:
    """Looks at memory every few steps.

    limit_bytes: what the process may hold, and device_limit_bytes what on the device. last_step: of
    the training; slow growth that its end comes before is not worth a word. traces: how often the
    step was traced so far. buffers: what the input keeps, in words. device_bytes: what is held on
    the device, if it says so.
    """

    def __init__(
        self,
        *,
        limit_bytes: float,
        last_step: int,
        device_limit_bytes: float = math.inf,
        traces: Callable[[], int] = lambda: 0,
        buffers: Callable[[], Sequence[str]] = tuple,
        device_bytes: Callable[[], int | None] = lambda: None,
        host_bytes: Callable[[], int] = resident_bytes,
    ) -> None:
        self._shapes = Shapes()
        self._buffers = buffers
        self._last_step = last_step
        self._traces = traces
        self._gauges: dict[str, tuple[Callable[[], int | None], float]] = {
            _HOST: (host_bytes, limit_bytes),
            "device memory": (device_bytes, device_limit_bytes),
            _FILES: (open_file_count, resource.getrlimit(resource.RLIMIT_NOFILE)[0]),
        }
        self._series = {name: _Series() for name in self._gauges}
        self._first_step: int | None = None
        self._held_before = 0.0  # of host memory, at most, when some was given back
        self._census: Census | None = None
        self._silent_until = dict.fromkeys(self._gauges, 0)
        self._limit_step: int | None = None

    def look(self, step: int, shapes: Mapping[str, tuple[int, ...]]) -> list[Growth]:
        """Look after a step, whose batch had these shapes; give what is found to grow."""
        self._shapes.add(shapes)
        if self._first_step is None:
            self._first_step = step
        if step % EVERY or step - self._first_step < WARM_UP:
            return []
        if not self._series[_HOST].last:  # the first look
            self._give_back()
        for name, (read, _) in self._gauges.items():
            value = read()
            if value is not None:
                self._series[name].add(step, value)
        return [found for name in self._gauges if (found := self._judge(name, step)) is not None]

    def wants_checkpoint(self, step: int) -> bool:
        """Tell whether this is the last good moment to save before memory runs out."""
        if self._limit_step is None or step + 2 * EVERY < self._limit_step:
            return False
        self._limit_step = None  # asked once; while it goes on growing it is set again
        return True

    def _judge(self, name: str, step: int) -> Growth | None:
        slope = self._slope(name, step)
        if slope is None:
            return None
        held, limit = self._series[name].last, self._gauges[name][1]
        limit_step = step + _steps_left(held, slope, limit)
        if name != _FILES:
            self._limit_step = limit_step
        cause = self._cause(name, step, slope) if step >= self._silent_until[name] else None
        if cause is None:
            return None
        self._silent_until[name] = step + _SILENCE
        return Growth(
            step=step,
            what=name,
            per_step=slope,
            held=held,
            limit=limit,
            limit_step=limit_step,
            cause=cause,
        )

    def _slope(self, name: str, step: int) -> float | None:
        """Give the growth a step of what surely grows."""
        series, limit = self._series[name], self._gauges[name][1]
        slope = series.growth(LEAST_FILES if name == _FILES else LEAST_BYTES)
        slow = series.slow_growth() if slope is None else None
        if slow is not None and step + _steps_left(series.last, slow, limit) <= self._last_step:
            return slow
        if name != _FILES and series.is_suspect():
            self._count_objects(step)
        return slope

    def _count_objects(self, step: int) -> None:
        """Count them, to compare with later; what was counted long ago says little."""
        if self._census is None or step - self._census.step > 2 * SAMPLES * EVERY:
            self._census = take_census(step, self._traces())
            self._give_back()  # of the list of all objects, megabytes are left

    def _give_back(self) -> None:
        self._held_before = max(self._held_before, self._gauges[_HOST][0]() or 0)
        give_back()

    def _cause(self, name: str, step: int, slope: float) -> Cause | None:
        """Name what grows; None as long as there is nothing to compare with.

        None, too, if it is only guessed and the process held as much before: what was given back to
        the system is being used again.
        """
        if name == _FILES:
            return Cause(OPEN_FILES, "they are opened and not closed")
        before = self._census
        if before is None or step - before.step < _COMPARED:
            self._count_objects(step)
            return None
        after = take_census(step, self._traces())
        grown = slope * (step - before.step)
        cause = find_cause(before, after, grown, self._shapes, self._buffers())
        is_refilled = name == _HOST and self._series[name].last <= self._held_before
        if is_refilled and cause.is_guessed:
            self._silent_until[name] = step + _COMPARED  # counting takes time
            return None
        return cause


class _Series:
    """The last samples, and a longer view of them."""

    def __init__(self) -> None:
        self._near: deque[tuple[int, float]] = deque(maxlen=SAMPLES)
        self._far: deque[tuple[int, float]] = deque(maxlen=SAMPLES)
        self._count = 0

    @property
    def last(self) -> float:
        return self._near[-1][1] if self._near else 0.0

    def add(self, step: int, value: float) -> None:
        self._near.append((step, value))
        if self._count % _LONG == 0:
            self._far.append((step, value))
        self._count += 1

    def is_suspect(self) -> bool:
        """Tell whether the newer half of the samples only rises."""
        values = [value for _, value in list(self._near)[-_SUSPICION:]]
        return len(values) == _SUSPICION and trend_of(range(_SUSPICION), values).significance > 1.6

    def growth(self, least: float) -> float | None:
        """Give the growth a step, if it is sure, lasting and worth a word."""
        if len(self._near) < SAMPLES:
            return None
        steps, values = zip(*self._near, strict=True)
        found = trend_of(steps, values)
        grown = found.slope * (steps[-1] - steps[0])
        is_much = grown >= max(least, LEAST_SHARE * values[0])
        return found.slope if found.is_growth and is_much else None

    def slow_growth(self) -> float | None:
        """Give the growth a step in the longer view, if it is sure and lasting."""
        if len(self._far) < SAMPLES or (self._count - 1) % _LONG:
            return None
        found = trend_of(*zip(*self._far, strict=True))
        return found.slope if found.is_growth else None


def _steps_left(held: float, slope: float, limit: float) -> int:
    return int(min(max(0.0, (limit - held) / slope), 2.0**60))
