"""dead-activations: channels that say the same for every image."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.learning import by_group
from holdfast.doctor.rate_fix import scaled_rate

_FROM_STEP = 100  # fresh networks settle first
_DIED = 0.3  # of a group's channels, since the first look
_MANY, _NEARLY_ALL = 0.5, 0.95  # of a group's channels


@check("dead-activations", about="run", needs=("vitals",))
def dead_activations(case: Case) -> Iterator[Finding]:
    """Many channels of a layer give the same value everywhere, whatever the image shows.

    Why it happens: one step that was too long pushes a ReLU's input below 0 for every image. Its
    gradient is 0 from then on, so it never comes back.

    How it is seen: the share of channels that are constant over all places of a batch, by layer
    group, in the median of the last looks. Half of a group, and 0.3 more than at the first look (or
    nearly all of it): a warning. Trained MobileNets have some such channels, which do no harm.

    What helps: begin anew with a lower rate and a warm-up. What is dead does not recover.
    """
    looks = [each for each in case.vitals if each.step >= _FROM_STEP]
    now = by_group(looks, "activations", "dead")
    first = by_group(case.vitals[:1], "activations", "dead")
    dead = {
        group: share
        for group, share in now.items()
        if share >= _NEARLY_ALL or (share >= _MANY and share - first.get(group, 0.0) >= _DIED)
    }
    if not dead:
        return
    whole = [group for group, share in dead.items() if share >= _NEARLY_ALL]
    yield Finding(
        code="dead-activations",
        severity="error" if whole else "warning",
        what=f"In {len(dead)} of {len(now)} groups of layers at least half of the channels are the "
        "same for every image.",
        why="Nothing passes through them, and no gradient brings them back.",
        evidence={
            "groups": [
                {"group": group, "dead_first": first.get(group), "dead_now": share}
                for group, share in sorted(dead.items(), key=lambda each: -each[1])
            ]
        },
        fix=Fix(
            text="Begin a new run with a lower rate and a warm-up.", set=scaled_rate(case, 0.1)
        ),
    )
