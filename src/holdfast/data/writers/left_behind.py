"""What a format has no place for: left out, and said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from holdfast.data.conversion.judge import Fault, Verdict
from holdfast.data.sample import Sample
from holdfast.data.sources.image_files import Size

_FLAGS = {
    "difficult": "difficult objects",
    "truncated": "truncated objects",
    "group_of": "groups",
    "is_crowd": "crowds",
}
_NUMBERS = {"weights": "weights", "confidences": "confidences"}
_SHAPES = {"masks": "masks", "keypoints": "keypoints"}


class Fitted(NamedTuple):
    """A sample reduced to what a format holds, and what that was."""

    sample: Sample
    remarks: tuple[str, ...]


def fit(sample: Sample, size: Size, title: str, holds: frozenset[str]) -> Fitted:
    """Leave out the fields of a sample that are not among those a format holds.

    title: what the format is called. Boxes and classes are held by every format; areas are not
    missed, as they follow from the rest.
    """
    remarks = []
    if sample.masks is not None and sample.masks.shape[1:] != (size.height, size.width):
        sample = sample._replace(masks=None)
        remarks.append("masks of another size than the image are not written")
    remarks += [f"{what}: {title} cannot hold them" for what in _lost(sample, holds)]
    unheld = {name: None for name in _SHAPES if name not in holds}
    if "keypoints" in unheld:
        unheld["visibilities"] = None
    return Fitted(sample._replace(**unheld), tuple(remarks))


def without_crowds(sample: Sample, title: str) -> Verdict:
    """Leave out the boxes around crowds: as ordinary objects they would teach nonsense."""
    crowds = sample.is_crowd
    if crowds is None or not crowds.any():
        return Verdict(sample)
    fault = Fault(f"a crowd: {title} cannot mark it as one", int(crowds.sum()))
    return Verdict(sample.with_objects(lambda values: values[~crowds]), (fault,))


def _lost(sample: Sample, holds: frozenset[str]) -> Iterator[str]:
    """Say what of the sample is lost; only what differs from the default counts."""
    for name, words in _FLAGS.items():
        if name not in holds and _any(getattr(sample, name)):
            yield f"marks of {words} are not written"
    for name, words in _NUMBERS.items():
        values = getattr(sample, name)
        if name not in holds and values is not None and (values != 1).any():
            yield f"{words} are not written"
    for name, words in _SHAPES.items():
        values = getattr(sample, name)
        if name not in holds and values is not None and _any(np.nan_to_num(values)):
            yield f"{words} are not written"


def _any(values: object) -> bool:
    return values is not None and bool(np.any(values))  # type: ignore[call-overload]
