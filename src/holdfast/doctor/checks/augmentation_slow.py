"""augmentation-slow: the augmentations take longer than all else that is done to an image."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.run_times import waiting_share

_TIMES_DECODING = 4.0
_WORTH_SECONDS = 0.02  # an image: 8 of them on 2 cores are then less than a tenth of a second
_STARVED = 0.3  # of a step's time that is spent waiting for input


@check("augmentation-slow", about="config", needs=("augmentation_trial",))
def augmentation_slow(case: Case) -> Iterator[Finding]:
    """The augmentations take much longer than reading and decoding an image.

    Why it happens: some augmentations work on every pixel of a large image several times (colors,
    patches, rotations), before it is resized. The device then waits for its input.

    How it is seen: the config's augmentations are run and timed on some images of the data. If they
    take more than 4 times as long as decoding, and more than 20 ms an image, it is a note; a
    warning, if the run's steps spend more than 30 % of their time waiting.

    What helps: resize the images once, when the records are made; leave out what costs most.
    """
    trial = case.augmentation_trial
    seconds = trial.image_seconds
    if seconds < max(_TIMES_DECODING * trial.decode_seconds, _WORTH_SECONDS):
        return
    slowest = max(trial.steps, key=lambda step: step.image_seconds)
    starves = _waiting(case) > _STARVED
    yield Finding(
        code="augmentation-slow",
        severity="warning" if starves else "note",
        what=f"The augmentations of an image take {seconds * 1000:.0f} ms, "
        f"{seconds / max(trial.decode_seconds, 1e-6):.0f} times as long as decoding it; "
        f"{slowest.name} takes most.",
        why="The device waits for its input." if starves else "A fast device would wait for it.",
        evidence={
            "decode_seconds": trial.decode_seconds,
            "augmentations": [
                {"augmentation": step.name, "seconds": round(step.image_seconds, 5)}
                for step in trial.steps
            ],
        },
        fix=Fix(text=f"Leave {slowest.name} out, or make the records from smaller images."),
    )


def _waiting(case: Case) -> float:
    try:
        return waiting_share(case.steps)
    except MissingError:
        return 0.0
