"""The books of a conversion: images read, judged and written, and what was left out on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.conversion_result import describe
from holdfast.data.conversion.judge import Fault, Judge
from holdfast.data.conversion.shard_manifest import Incident
from holdfast.data.conversion.shard_plan import Refused
from holdfast.data.sample import Sample
from holdfast.data.sources.source import Entry
from holdfast.errors import HoldfastError

UNREADABLE = "cannot be read"
IN_LEFT_OUT = "in an image that is left out"

Output = TypeVar("Output")


class Encoded(NamedTuple, Generic[Output]):
    """What an image became, and in fixed words what of it was not written as it was."""

    value: Output
    remarks: tuple[str, ...] = ()


Encode = Callable[[Entry, Sample], Encoded[Output]]


class Piece(NamedTuple):
    """A part of an image that is written on its own."""

    entry: Entry
    sample: Sample


class Cutting(NamedTuple):
    """The pieces of an image, and what became of its boxes."""

    pieces: Iterator[Piece]
    faults: tuple[Fault, ...] = ()  # boxes that are in no piece
    changed: tuple[Fault, ...] = ()  # boxes that are in pieces, but not as they were


Cut = Callable[[Entry, Sample], Cutting]


def uncut(entry: Entry, sample: Sample) -> Cutting:
    """Leave an image in one piece."""
    return Cutting(iter([Piece(entry, sample)]))


class Books(Generic[Output]):
    """Reads, judges and encodes entries, and keeps account of them."""

    def __init__(
        self,
        label_map: StringIntLabelMap,
        judge: Judge,
        encode: Encode[Output],
        *,
        strict: bool = False,
        cut: Cut = uncut,
    ) -> None:
        self.judge, self.encode, self.strict = judge, encode, strict
        self.cut = cut
        self.names = {item.id - 1: item.name for item in label_map.item}
        self.images = 0
        self.objects: Counter[str] = Counter()
        self.left_out: list[Incident] = []
        self.remarks: list[Incident] = []

    def outputs(self, entry: Entry) -> Iterator[Output]:
        """Yield what the entry becomes, or nothing if it has to be left out."""
        try:
            sample, remarks = entry.read()
            kept, faults = self.judge(sample)
            cutting = self.cut(entry, kept) if kept is not None else None
            first = self._encoded(cutting.pieces) if cutting is not None else None
        except HoldfastError as error:
            self._leave_out(_unreadable(entry, error))
            return
        if kept is None:
            others = len(sample.boxes) - sum(fault.boxes for fault in faults)
            faults += (Fault(IN_LEFT_OUT, others),) if others or not faults else ()
        for reason, boxes in faults:
            self._leave_out(_incident(entry, reason, boxes=boxes, whole_image=kept is None))
        if cutting is None:
            return
        for reason, boxes in cutting.faults:
            self._leave_out(_incident(entry, reason, boxes=boxes))
        more = first.remarks if first is not None else ()
        self.remarks += [_incident(entry, each) for each in (*remarks, *more)]
        self.remarks += [_incident(entry, why, boxes=boxes) for why, boxes in cutting.changed]
        while first is not None:
            yield first.value
            first = self._encoded(cutting.pieces)

    def _encoded(self, pieces: Iterator[Piece]) -> Encoded[Output] | None:
        """Encode the next piece, and count it; None if there is none."""
        piece = next(pieces, None)
        if piece is None:
            return None
        encoded = self.encode(piece.entry, piece.sample)
        self.images += 1
        self.objects.update(self.names[number] for number in piece.sample.classes.tolist())
        return encoded

    def _leave_out(self, incident: Incident) -> None:
        self.left_out.append(incident)
        if self.strict:
            refuse_first(self.left_out)


def refusal(refused: Refused) -> Incident:
    """Give the incident of an image that is left out before it is read."""
    boxes = sum(refused.entry.class_counts.values())
    return _incident(refused.entry, refused.reason, boxes=boxes, whole_image=True)


def refuse_first(incidents: Sequence[Incident]) -> None:
    """Raise an error about the first incident, if there is one."""
    for incident in incidents:
        what = f"{describe(incident)}: {incident.reason}"
        raise HoldfastError(what, fix="Correct it, or convert without --strict to leave it out.")


def _incident(
    entry: Entry, reason: str, *, detail: str = "", boxes: int = 0, whole_image: bool = False
) -> Incident:
    return Incident(
        reason=reason,
        source_id=entry.source_id,
        place=entry.place,
        detail=detail,
        boxes=boxes,
        whole_image=whole_image,
    )


def _unreadable(entry: Entry, error: HoldfastError) -> Incident:
    boxes = sum(entry.class_counts.values())
    return _incident(entry, UNREADABLE, detail=error.message, boxes=boxes, whole_image=True)
