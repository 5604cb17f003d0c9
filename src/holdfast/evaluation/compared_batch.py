"""What an evaluation compares of one batch, and the same as bytes, for another process."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from holdfast.evaluation.metrics.compared_objects import FoundObjects, LabeledObjects
from holdfast.evaluation.pasted_masks import MaskRuns

_MASKS = "masks"


class EvaluationShare(NamedTuple):
    """Which batches of an evaluation: every n-th, from one on."""

    first: int
    every: int


WHOLE = EvaluationShare(0, 1)


class ComparedBatch(NamedTuple):
    """The objects of one batch, images numbered over the whole evaluation."""

    number: int  # of the batch, from 0
    images: int  # that do not only fill the batch
    labeled: LabeledObjects
    found: FoundObjects
    losses: dict[str, float]  # summed over the images


ObjectColumns = TypeVar("ObjectColumns", LabeledObjects, FoundObjects)


def pack_batches(batches: Iterable[ComparedBatch]) -> bytes:
    """Write batches so that they can be sent; no code travels along."""
    arrays: dict[str, Any] = {}
    heads = []
    for place, batch in enumerate(batches):
        heads.append([batch.number, batch.images, batch.losses])
        for kind, objects in (("labeled", batch.labeled), ("found", batch.found)):
            arrays |= _columns(f"{place}/{kind}", objects)
    stream = io.BytesIO()
    np.savez_compressed(stream, heads=np.frombuffer(json.dumps(heads).encode(), np.uint8), **arrays)
    return stream.getvalue()


def unpack_batches(content: bytes) -> list[ComparedBatch]:
    """Read what pack_batches wrote."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        heads = json.loads(arrays["heads"].tobytes())
        return [
            ComparedBatch(
                number=number,
                images=images,
                labeled=_objects(LabeledObjects, f"{place}/labeled", arrays),
                found=_objects(FoundObjects, f"{place}/found", arrays),
                losses=losses,
            )
            for place, (number, images, losses) in enumerate(heads)
        ]


def _columns(name: str, objects: LabeledObjects | FoundObjects) -> dict[str, Any]:
    columns = {f"{name}/{field}": value for field, value in objects._asdict().items()}
    masks = columns.pop(f"{name}/{_MASKS}")
    if masks is not None:
        rows = [[each.height, each.width, len(each.counts)] for each in masks]
        columns[f"{name}/{_MASKS}"] = np.array(rows, np.int64).reshape(-1, 3)
        runs = b"".join(each.counts for each in masks)
        columns[f"{name}/runs"] = np.frombuffer(runs, np.uint8)
    return {field: value for field, value in columns.items() if value is not None}


def _objects(kind: type[ObjectColumns], name: str, arrays: Any) -> ObjectColumns:
    fields = {
        field: arrays[f"{name}/{field}"] for field in kind._fields if f"{name}/{field}" in arrays
    }
    if _MASKS in fields:
        runs = arrays[f"{name}/runs"].tobytes()
        ends = np.cumsum(fields[_MASKS][:, 2])
        masks = np.empty(len(ends), np.object_)
        for row, ((height, width, length), end) in enumerate(
            zip(fields[_MASKS].tolist(), ends.tolist(), strict=True)
        ):
            masks[row] = MaskRuns(height, width, runs[end - length : end])
        fields[_MASKS] = masks
    return kind(**fields)
