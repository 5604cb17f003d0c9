"""batch-small: a step learns from one or two images."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix

_SMALL = 4  # single-stage detectors were published with 24 and more, and trained here with 8


@check("batch-small", about="config", needs=("detector", "train_config"))
def batch_small(case: Case) -> Iterator[Finding]:
    """Each step learns from very few images.

    Why it happens: memory holds no more. It is not a mistake by itself: two-stage detectors, which
    sample regions from each image, were published with one image a step. A single-stage detector's
    gradient of two images is mostly noise, which a lower rate and more steps make up for.

    How it is seen: batch_size below 4, with a single-stage detector or CenterNet. It is a note;
    learning-rate-high and batch-norm-small-batch say what is wrong where something is.

    What helps: a larger batch in pieces (`holdfast train --accumulate`), which costs no memory.
    """
    batch = case.train_config.batch_size
    if isinstance(case.detector, FasterRcnn) or batch >= _SMALL:
        return
    yield Finding(
        code="batch-small",
        severity="note",
        what=f"A step learns from {batch} image{'' if batch == 1 else 's'}.",
        why="The gradient of so few images is mostly noise: it needs a lower rate and more steps.",
        evidence={"batch_size": batch, "published_from": 24},
        fix=Fix(
            text="Raise the batch to 8, and compute it in pieces if memory is short.",
            set={"train_config.batch_size": "8"},
            command=f"holdfast train {case.shown_path} --accumulate {max(8 // max(batch, 1), 2)}"
            " --set train_config.batch_size=8 --run RUN",
        ),
    )
