"""What of a sample is worth converting: the checks of training, made once and told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.input.decode_images import decoded_image
from holdfast.data.sample import Sample
from holdfast.data.survey.box_validity import Reason, box_reasons
from holdfast.errors import HoldfastError


class Fault(NamedTuple):
    """Why some boxes of a sample are left out, and how many."""

    reason: str
    boxes: int


class Verdict(NamedTuple):
    """What is left of a sample after judging it; None if nothing is."""

    sample: Sample | None
    faults: tuple[Fault, ...] = ()


Judge = Callable[[Sample], Verdict]


def judge_validity(label_map: StringIntLabelMap) -> Judge:
    """Make the judge that leaves out images that do not decode and boxes not to be learned from.

    What it keeps is as the files say it, also where a box ends a little outside of the image.
    """
    known = [item.id - 1 for item in label_map.item]

    def judge(sample: Sample) -> Verdict:
        if not _decodes(sample.image):
            return Verdict(None, (Fault(Reason.NOT_DECODABLE.text, len(sample.boxes)),))
        reasons = np.array(box_reasons(sample.boxes, sample.classes))
        unknown = (reasons == Reason.KEPT) & ~np.isin(sample.classes, known)
        reasons = np.where(unknown, Reason.UNKNOWN_CLASS, reasons)
        counts = Counter(Reason(number) for number in reasons.tolist())
        faults = [Fault(why.text, count) for why, count in sorted(counts.items()) if why]
        kept = sample.with_objects(lambda values: values[reasons == Reason.KEPT])
        return Verdict(kept, tuple(faults))

    return judge


def _decodes(encoded: bytes) -> bool:
    try:
        with decoded_image(encoded):
            return True
    except HoldfastError:
        return False
