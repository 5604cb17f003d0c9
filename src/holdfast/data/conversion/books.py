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


class Books(Generic[Output]):
    """Reads, judges and encodes entries, and keeps account of them."""

    def __init__(
        self,
        label_map: StringIntLabelMap,
        judge: Judge,
        encode: Encode[Output],
        *,
        strict: bool = False,
    ) -> None:
        self.judge, self.encode, self.strict = judge, encode, strict
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
            encoded = self.encode(entry, kept) if kept is not None else None
        except HoldfastError as error:
            self._leave_out(_unreadable(entry, error))
            return
        if kept is None:
            others = len(sample.boxes) - sum(fault.boxes for fault in faults)
            faults += (Fault(IN_LEFT_OUT, others),) if others or not faults else ()
        for reason, boxes in faults:
            self._leave_out(_incident(entry, reason, boxes=boxes, whole_image=kept is None))
        if kept is not None and encoded is not None:
            self.images += 1
            self.objects.update(self.names[number] for number in kept.classes.tolist())
            self.remarks += [_incident(entry, each) for each in (*remarks, *encoded.remarks)]
            yield encoded.value

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
