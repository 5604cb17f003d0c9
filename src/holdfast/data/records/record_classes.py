"""The classes of records that have no label map: what they call their objects themselves."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.data.records.record_scan import Label, Scanned
from holdfast.data.sources.classes import Classes, build_classes, sorted_names


def classes_of_records(scanned: Iterable[Scanned]) -> Classes:
    """Make a label map from the class texts and ids of records, and say so.

    Ids are kept where each text has one of its own; else the texts are numbered by the alphabet.
    Ids that never come with a text are called class_1, class_2, …
    """
    labels = {label for each in scanned for label in each.labels}
    texts = {text for text, _ in labels if text}
    names = _paired(labels) or sorted_names(texts)
    if not texts:
        names = {number: f"class_{number}" for _, number in labels if number and number > 0}
    classes = build_classes(names)
    called = ", ".join(f"{number} {name}" for number, name in sorted(names.items())[:10])
    note = f"There is no label map: the classes are those of the records themselves ({called})."
    return Classes(classes.label_map, (note, *classes.notes))


def _paired(labels: Iterable[Label]) -> dict[int, str]:
    """Give id -> text if they belong together one to one; {} if not."""
    pairs = {(text, number) for text, number in labels if text}
    texts, numbers = {text for text, _ in pairs}, {number for _, number in pairs}
    if len(texts) < len(pairs) or len(numbers) < len(pairs):
        return {}
    names = {number: text for text, number in pairs if number is not None and number > 0}
    return names if len(names) == len(pairs) else {}
