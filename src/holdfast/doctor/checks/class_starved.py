"""class-starved: one class is never found, others are."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.learning import class_counts

_FEWEST = 2  # evaluations
_OBJECTS = 5  # to be found, or chance decides
_NEVER = 0.01  # AP at IoU 0.5
_OTHERS = 0.2  # the mean of the others


@check("class-starved", about="run", needs=("evaluations",))
def class_starved(case: Case) -> Iterator[Finding]:
    """A class is never found, while others are found well.

    Why it happens: it has few examples beside many of others, its name or id is another in the
    evaluation's label map, or its boxes have no anchor.

    How it is seen: in the last two evaluations its AP at IoU 0.5 is below 0.01 with five objects or
    more to be found, and the mean of the other classes is 0.2 or better. Recorded beside it: how
    many of its boxes were learned from, and how many of these had an anchor.

    What helps: `holdfast train --class-weights auto`, more examples of it, anchors for its size.
    """
    if len(case.evaluations) < _FEWEST:
        return
    now, before = (case.evaluations[at].values.get("per_class") or {} for at in (-1, -2))
    found = {name: _score(score) for name, score in now.items()}
    known = {name: score for name, score in found.items() if score is not None}
    starved = [
        name
        for name, score in known.items()
        if score < _NEVER and (_score(before.get(name, {})) or 0.0) < _NEVER
    ]
    others = [score for name, score in known.items() if name not in starved]
    if not starved or not others or mean(others) < _OTHERS:
        return
    seen, matched = (class_counts(case, each) for each in ("boxes", "matched"))
    looked_at = class_counts(case, "looked_at")
    yield Finding(
        code="class-starved",
        severity="warning",
        what=f"{', '.join(starved[:4])}: never found; the other classes have a mean AP of "
        f"{mean(others):.2f} at IoU 0.5.",
        why="Few examples are drowned by those of other classes: calling them background costs "
        "almost nothing.",
        evidence={
            "classes": [
                {
                    "class": name,
                    "ap50": known[name],
                    "objects": now[name].get("objects"),
                    "boxes_learned_from": seen.get(name),
                    "share_with_a_place": matched.get(name, 0) / looked_at[name]
                    if looked_at.get(name)
                    else None,
                }
                for name in sorted(known, key=lambda each: known[each])
            ]
        },
        fix=Fix(
            text="Give rare classes more weight, in a new run.",
            command=f"holdfast train {case.shown_path} --class-weights auto --run RUN",
        ),
    )


def _score(score: Any) -> float | None:
    value = score.get("ap50") if isinstance(score, dict) else None
    return float(value) if value is not None and score.get("objects", 0) >= _OBJECTS else None
