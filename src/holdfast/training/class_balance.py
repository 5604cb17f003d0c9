"""Weights of classes as a user writes them into a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.errors import HoldfastError, nearest


def read_class_weights(path: Path, known: Mapping[str, int]) -> dict[int, float]:
    """Read weights by class: a JSON object, or lines of a name and a weight.

    known: what a class may be called -> its number. Lines may be empty or comments (#), and names
    may have spaces. HoldfastError lists every entry that is wrong.
    """
    entries = list(_entries(path))
    weights: dict[int, float] = {}
    problems = []
    for entry in entries:
        number, weight = known.get(entry.name), _number(entry.weight)
        if number is None:
            problems.append(
                f"{entry.place}: there is no class {entry.name!r}{_meant(entry, known)}"
            )
        elif weight is None:
            problems.append(
                f"{entry.place}: {entry.weight!r} is not a weight (a number of at least 0)"
            )
        elif number in weights:
            problems.append(f"{entry.place}: {entry.name!r} has a weight already")
        else:
            weights[number] = weight
    if problems or not weights:
        listed = "\n  ".join(problems or ["it has no entry"])
        raise HoldfastError(
            f"The class weights {path} cannot be used:\n  {listed}",
            fix=f"Give each of these a weight, or leave it at 1: {', '.join(_names(known))}.",
        )
    return weights


class _Entry(NamedTuple):
    place: str
    name: str
    weight: Any  # as it was written


def _entries(path: Path) -> Iterator[_Entry]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise HoldfastError(
            f"The class weights {path} cannot be read: {error}.",
            fix="Give `auto`, `inverse`, or a text file with a line `name weight` for each class.",
        ) from error
    return _json_entries(path, text) if text.lstrip().startswith("{") else _line_entries(text)


def _json_entries(path: Path, text: str) -> Iterator[_Entry]:
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except json.JSONDecodeError as error:
        raise HoldfastError(
            f"The class weights {path} are not valid JSON: {error}.",
            fix='Write {"name": 1.5, "other name": 0.5}.',
        ) from error
    return (_Entry(f"entry {place}", *pair) for place, pair in enumerate(pairs, start=1))


def _line_entries(text: str) -> Iterator[_Entry]:
    for place, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if words and not words[0].startswith("#"):
            yield _Entry(f"line {place}", " ".join(words[:-1]), words[-1])


def _number(written: Any) -> float | None:
    if isinstance(written, bool) or not isinstance(written, int | float | str):
        return None
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _meant(entry: _Entry, known: Mapping[str, int]) -> str:
    similar = nearest(entry.name, known)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def _names(known: Mapping[str, int]) -> list[str]:
    """Name each class once, by the first of its names."""
    first: dict[int, str] = {}
    for name, number in known.items():
        first.setdefault(number, name)
    return list(first.values())
