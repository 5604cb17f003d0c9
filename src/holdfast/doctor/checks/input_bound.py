"""input-bound: the device waits for its input."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.run_times import seconds_of_step, step_times, waiting_share

_MUCH = 0.3  # of the time: a step could be 1.4 times as fast
_ENOUGH_STEPS = 20  # to be sure that it is not the start


@check("input-bound", about="machine", needs=("steps",))
def input_bound(case: Case) -> Iterator[Finding]:
    """The steps wait for their input for a large part of the time.

    Why it happens: images are decoded, augmented and resized by the cores of the host, and these
    are too few for the device; or the files lie on a slow disk or network.

    How it is seen: the run's steps say how long they waited for a batch and how long they computed.
    From 30 % of waiting on it is a warning; the first steps do not count.

    What helps: records of images that are not larger than the network needs, fewer augmentations,
    more cores, and data on a local disk.
    """
    times = step_times(case.steps)
    share = waiting_share(case.steps)
    if len(times) < _ENOUGH_STEPS or share < _MUCH:
        return
    yield Finding(
        code="input-bound",
        severity="warning",
        what=f"{share:.0%} of the time of a step is waiting for input.",
        why="The device idles: the training takes longer than it needs to.",
        evidence={
            "waiting_share": round(share, 3),
            "step_seconds": seconds_of_step(case.steps),
            "steps_measured": len(times),
        },
        fix=Fix(
            text="Make the records from images of the network's size, leave out augmentations that "
            "cost much, and keep the data on a local disk."
        ),
    )
