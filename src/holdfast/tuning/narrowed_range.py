"""The range of learning rates that a range test leaves to be searched."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.tuning.search_space import Dimension, Span
from holdfast.tuning.trial_process import error_of, run_quietly

RESULT_NAME, PICTURE_NAME = "learning-rate.json", "learning-rate.png"
_BELOW, _ABOVE = 10.0, 5.0  # times the proposal: what is best for long is often lower


@dataclass(frozen=True, kw_only=True)
class RangeAnswer:
    """What the range test says."""

    proposed: float
    rises_from: float | None  # the rate from which on the loss rose; None: it never did

    @property
    def span(self) -> Span:
        """The rates worth trying."""
        high = min(self.proposed * _ABOVE, self.rises_from or self.proposed * _ABOVE)
        low = self.proposed / _BELOW
        return Span(low=float(f"{low:.2g}"), high=float(f"{high:.2g}"), is_log=True, is_whole=False)


def range_answer(arguments: Sequence[str], out: Path) -> RangeAnswer:
    """Run the range test of the doctor once, and keep its answer and its curve.

    arguments: the config's file and its --set options.
    """
    path = out / RESULT_NAME
    if not path.exists():
        picture = str(out / PICTURE_NAME)
        done = run_quietly(
            ["doctor", *arguments, "--learning-rate", "--json", "--picture", picture]
        )
        if not done.stdout:
            raise HoldfastError(
                f"The range test failed: {error_of(done.stderr)}",
                fix="Give --over learning-rate=log:… instead.",
            )
        write_text(path, done.stdout)
    found = json.loads(path.read_text(encoding="utf-8"))
    if found["proposed"] is None:
        raise HoldfastError(
            "No rate made the loss fall in the range test: something else keeps it from learning.",
            fix=f"`holdfast doctor {arguments[0]}` looks for it. The curve: {out / PICTURE_NAME}",
        )
    return RangeAnswer(proposed=found["proposed"], rises_from=found["loss_rises_from"])


def narrowed(
    space: Sequence[Dimension], path: str, name: str, tested: RangeAnswer
) -> tuple[Dimension, ...]:
    """Cut the range of the rate to what the test left, or add it.

    path: of the field that leads the rate; name: what the new dimension is called.
    """
    span = tested.span
    own = next((each for each in space if path in each.paths), None)
    if own is None:
        return (Dimension(name=name, paths=(path,), values=span), *space)
    if not isinstance(own.values, Span):
        raise HoldfastError(
            f"--learning-rate-range cannot narrow the choices of {own.name}.",
            fix=f"Give {own.name} a range, or leave out one of the two.",
        )
    low, high = max(own.values.low, span.low), min(own.values.high, span.high)
    if low >= high:
        raise HoldfastError(
            f"The range test speaks for rates from {span.low:g} to {span.high:g}, and --over gives "
            f"{own.values.low:g} to {own.values.high:g}.",
            fix="Widen --over, or leave --learning-rate-range out.",
        )
    cut = replace(own, values=replace(own.values, low=low, high=high))
    return tuple(cut if each is own else each for each in space)
