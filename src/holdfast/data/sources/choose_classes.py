"""Some classes of a source, or several of them as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.data.sources.classes import build_classes, listed, union
from holdfast.data.sources.relabel import relabel, relabeling
from holdfast.data.sources.source import Source
from holdfast.errors import HoldfastError, nearest
from holdfast.units import count_text


class ClassChoice(NamedTuple):
    """What a user asks for; each text as it was typed."""

    keep: tuple[str, ...] = ()  # "cat,dog"; () = all
    merge: tuple[str, ...] = ()  # "van,truck=vehicle"

    def __str__(self) -> str:
        merges = (f'--map "{text}"' for text in self.merge)
        return " ".join([*merges, *(f'--classes "{text}"' for text in self.keep)])


def choose_classes(source: Source, choice: ClassChoice) -> Source:
    """Merge classes, then keep some; boxes of the others are left out, images never.

    Ids are renumbered from 1, in the order of the source's own. Without any choice the source is
    given back as it is.
    """
    if not choice.keep and not choice.merge:
        return source
    names = [item.name for item in sorted(source.label_map.item, key=lambda item: item.id)]
    renamed = _renamed(choice.merge, names)
    merged = list(dict.fromkeys(renamed.get(name, name) for name in names))
    kept = _kept(choice.keep, merged, renamed)
    label_map = _label_map(source.label_map, kept, renamed)
    change = relabeling(source.label_map, label_map, renamed)
    chosen = replace(
        source,
        label_map=label_map,
        entries=tuple(relabel(entry, change) for entry in source.entries),
        selection=str(choice),
    )
    dropped = [name for name in names if renamed.get(name, name) not in kept]
    losses = _loss_notes(source, chosen, dropped)
    notes = (*_merge_notes(renamed), *losses, *_id_notes(source, chosen))
    return replace(chosen, notes=(*source.notes, *notes))


def _renamed(merges: Iterable[str], names: Sequence[str]) -> dict[str, str]:
    """Give old name -> new name for all that are merged."""
    renamed: dict[str, str] = {}
    for text in merges:
        left, equals, into = (part.strip() for part in text.rpartition("="))
        if not (equals and left and into):
            fix = 'Write it as "van,truck=vehicle": the classes, =, and what they become.'
            raise HoldfastError(f"--map {text!r} does not say what becomes what.", fix=fix)
        for name in _split(left, names):
            _refuse_unknown(name, names, "--map")
            if renamed.setdefault(name, into) != into:
                what = f"--map turns {name!r} into {renamed[name]!r} and into {into!r}."
                raise HoldfastError(what, fix="Leave one of them out.")
    return renamed


def _kept(texts: Iterable[str], names: Sequence[str], renamed: Mapping[str, str]) -> list[str]:
    """Give the names to keep, in the order of the data."""
    asked = [name for text in texts for name in _split(text, names)]
    for name in asked:
        if name in renamed and name not in names:
            what = f"--classes names {name!r}, which --map has made {renamed[name]!r}."
            raise HoldfastError(what, fix=f"Write {renamed[name]!r} there.")
        _refuse_unknown(name, names, "--classes")
    return [name for name in names if name in asked] if asked else list(names)


def _split(text: str, names: Sequence[str]) -> list[str]:
    """Take names apart at commas, unless a class is called just so."""
    if text.strip() in names:
        return [text.strip()]
    found = [name.strip() for name in text.split(",") if name.strip()]
    if not found:
        raise HoldfastError("A class name is missing.", fix=_known(names))
    return found


def _refuse_unknown(name: str, names: Sequence[str], option: str) -> None:
    if name in names:
        return
    lower = {each.casefold(): each for each in names}
    meant = [lower[each] for each in nearest(name.casefold(), lower, count=3)]
    guess = f"Did you mean {' or '.join(meant)}? " if meant else ""
    raise HoldfastError(
        f"{option} names {name!r}, which is not a class of the data.", fix=guess + _known(names)
    )


def _known(names: Sequence[str]) -> str:
    return f"The classes are: {listed(names, most=50)}."


def _label_map(
    before: StringIntLabelMap, kept: Sequence[str], renamed: Mapping[str, str]
) -> StringIntLabelMap:
    keypoints: dict[int, tuple[str, ...]] = {}
    for number, name in enumerate(kept, start=1):
        members = (item for item in before.item if renamed.get(item.name, item.name) == name)
        points = union([point.label for point in item.keypoints] for item in members)
        if points:
            keypoints[number] = points
    return build_classes(dict(enumerate(kept, start=1)), keypoints).label_map


def _merge_notes(renamed: Mapping[str, str]) -> Iterator[str]:
    for into in dict.fromkeys(renamed.values()):
        old = [name for name, new in renamed.items() if new == into]
        yield f"{listed(old)} {'becomes' if len(old) == 1 else 'become'} {into}."


def _loss_notes(before: Source, after: Source, dropped: Sequence[str]) -> Iterator[str]:
    """Count the boxes that are left out by class, and the images that lose all of theirs."""
    numbers = {item.id - 1: item.name for item in before.label_map.item if item.name in dropped}
    boxes: Counter[str] = Counter()
    negatives = 0
    for old, new in zip(before.entries, after.entries, strict=True):
        lost = {numbers[key]: count for key, count in old.class_counts.items() if key in numbers}
        boxes.update(lost)
        negatives += bool(lost) and not new.class_counts
    if dropped:
        by_class = listed([f"{name} {boxes[name]}" for name in dropped])
        what = f"{count_text(boxes.total(), 'box', 'boxes')} of other classes"
        yield f"--classes leaves out {what}: {by_class}."
    if negatives:
        stay = "stays, as a negative" if negatives == 1 else "stay, as negatives"
        yield f"{count_text(negatives, 'image')} without an object of these classes {stay}."


def _id_notes(before: Source, after: Source) -> Iterator[str]:
    ids = {item.name: item.id for item in before.label_map.item}
    texts = []
    for item in after.label_map.item:
        was = ids.get(item.name, item.id)
        texts.append(f"{item.id} {item.name}" + (f" (was {was})" if was != item.id else ""))
    yield f"Class ids are counted from 1: {listed(texts)}."
