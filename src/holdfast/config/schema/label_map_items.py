"""Label maps: class ids and names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from holdfast.config.schema.message import Message


class LVISFrequency(IntEnum):
    """How frequent a class is in LVIS."""

    UNSPECIFIED = 0
    FREQUENT = 1
    COMMON = 2
    RARE = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class StringIntLabelMapItem(Message):
    """One class."""

    name: str = ""
    id: int = 0
    display_name: str = ""
    keypoints: tuple[KeypointMap, ...] = ()
    ancestor_ids: tuple[int, ...] = ()
    descendant_ids: tuple[int, ...] = ()
    frequency: LVISFrequency = LVISFrequency.UNSPECIFIED
    instance_count: int = 0


@dataclass(frozen=True, kw_only=True, repr=False)
class KeypointMap(Message):
    """One keypoint of a class."""

    id: int = 0
    label: str = ""


@dataclass(frozen=True, kw_only=True, repr=False)
class StringIntLabelMap(Message):
    """All classes."""

    item: tuple[StringIntLabelMapItem, ...] = ()
