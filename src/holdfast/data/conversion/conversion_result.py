"""What came of a conversion: counts by split and class, and what was left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.conversion.shard_manifest import Incident, ShardRecord
from holdfast.data.conversion.shard_plan import Shard
from holdfast.data.splitting.split_names import SPLITS

RECORDS = "tfrecord"
_EXAMPLES = 5


@dataclass(frozen=True, kw_only=True)
class IncidentGroup:
    """All incidents of one reason."""

    reason: str
    images: int  # that it happened to
    boxes: int  # that were left out
    examples: tuple[str, ...]  # where, the first few


@dataclass(frozen=True, kw_only=True)
class SplitResult:
    """What was written for train, val or test."""

    pattern: str  # the path of its shards, as an input reader takes it; else of its annotations
    shards: int  # of other formats, the parts that were written one after the other
    images: int
    boxes: int
    classes: dict[str, int]  # name -> objects
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A finished conversion. Boxes written and boxes left out are all boxes of the source.

    Of images that were cut into tiles, each tile counts as an image, and a box in each of them.
    """

    out: str
    format: str  # that was read
    to: str = RECORDS  # what was written
    label_map_path: str
    label_map: StringIntLabelMap
    splits: dict[str, SplitResult]
    images_left_out: int
    left_out: tuple[IncidentGroup, ...]
    remarks: tuple[IncidentGroup, ...]  # written, but not as the files say
    notes: tuple[str, ...]
    shards_kept: int  # finished by an earlier call, or by the call of a part
    part: str | None = None  # of which this is the result, such as "3/16"; None: of the whole

    @property
    def images(self) -> int:
        """How many images were written."""
        return sum(split.images for split in self.splits.values())

    @property
    def boxes(self) -> int:
        """How many boxes were written."""
        return sum(split.boxes for split in self.splits.values())


def summarize_splits(
    shards: Sequence[Shard], records: Sequence[ShardRecord], pattern: Callable[[str, int], str]
) -> dict[str, SplitResult]:
    """Add up the shards of each split; pattern: where a split of so many shards is."""
    found: dict[str, list[ShardRecord]] = defaultdict(list)
    for shard, record in zip(shards, records, strict=True):
        found[shard.split].append(record)
    return {
        split: _add_up(pattern(split, len(found[split])), found[split])
        for split in SPLITS
        if split in found
    }


def group_incidents(incidents: Iterable[Incident]) -> tuple[IncidentGroup, ...]:
    """Put incidents of equal reason together, the most frequent first."""
    groups: dict[str, list[Incident]] = defaultdict(list)
    for incident in incidents:
        groups[incident.reason].append(incident)
    ordered = sorted(groups.items(), key=lambda item: (-len(item[1]), item[0]))
    return tuple(
        IncidentGroup(
            reason=reason,
            images=len({incident.place for incident in found}),
            boxes=sum(incident.boxes for incident in found),
            examples=tuple(map(describe, found[:_EXAMPLES])),
        )
        for reason, found in ordered
    )


def describe(incident: Incident) -> str:
    """Say where something happened."""
    known = incident.source_id in incident.place
    place = incident.place if known else f"{incident.place} ({incident.source_id})"
    return f"{place}: {incident.detail}" if incident.detail else place


def _add_up(pattern: str, records: Sequence[ShardRecord]) -> SplitResult:
    classes: Counter[str] = Counter()
    for record in records:
        classes.update(record.objects)
    return SplitResult(
        pattern=pattern,
        shards=len(records),
        images=sum(record.images for record in records),
        boxes=classes.total(),
        classes=dict(sorted(classes.items())),
        size_bytes=sum(record.size_bytes for record in records),
    )
