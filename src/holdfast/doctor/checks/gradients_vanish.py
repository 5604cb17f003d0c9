"""gradients-vanish: hardly anything, or nothing, reaches some layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.learning import by_group, vitals_of
from holdfast.runs.events import Event

_FEWEST = 2  # looks
_NOTHING = 1e-7  # of the largest layer's gradient: single precision cannot tell it from 0
_HARDLY = 1e-7  # gradient over weight: at a rate of 1, ten million steps to change it


@check("gradients-vanish", about="run", needs=("events",))
def gradients_vanish(case: Case) -> Iterator[Finding]:
    """Some layers get practically no gradient, so that they stay as they are.

    Why it happens: activations that are 0 for every image, a part of the network that no loss term
    depends on, saturated functions, or float16 without a loss scale.

    How it is seen: gradient norms by layer group, recorded every some steps. A group below a ten
    millionth of the largest one, or below a ten millionth of its own weights, in the median of the
    last looks. All groups: an error. Frozen layers are not looked at.

    What helps: the activations (dead-activations), the initializer, batch norm before activations.
    """
    norms, ratios = _norms(case), by_group(vitals_of(case), "layers", "ratio")
    largest = max(norms.values())
    faint = {group for group, norm in norms.items() if norm <= _NOTHING * largest}
    faint |= {group for group, ratio in ratios.items() if ratio < _HARDLY}
    if not faint:
        return
    is_all = len(faint) >= len(norms)
    yield Finding(
        code="gradients-vanish",
        severity="error" if is_all else "warning",
        what=f"{len(faint)} of {len(norms)} groups of layers get practically no gradient.",
        why="They stay as they are, and what lies before them learns only past them.",
        evidence={
            "largest_gradient_norm": largest,
            "groups": [
                {
                    "group": group,
                    "gradient_norm": norms.get(group),
                    "over_weight": ratios.get(group),
                }
                for group in norms
                if group in faint
            ],
        },
        fix=Fix(
            text="See dead-activations for these groups; a fresh run with another initializer, or "
            "with batch norm, reaches them."
        ),
    )


def _norms(case: Case) -> dict[str, float]:
    """Give each group's gradient norm, the median of the last looks."""
    looks: Sequence[Event] = [each for each in case.events if "group_norms" in each.values]
    if len(looks) >= _FEWEST:
        latest = [each.values["group_norms"] for each in looks[-3:]]
        return {group: median(each.get(group, 0.0) for each in latest) for group in latest[-1]}
    vitals = vitals_of(case)
    if len(vitals) >= _FEWEST and (found := by_group(vitals, "layers", "gradient_norm")):
        return found
    raise MissingError("the run recorded no gradients by layer (yet)")
