"""What `--over` says: the fields to search over, and the values that each may have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.config.facts.rate_curve import RateCurve
from holdfast.errors import HoldfastError, nearest
from holdfast.tuning.named_groups import GROUPS

LEARNING_RATE = "learning-rate"  # the config's, whatever its schedule
Value = float | int | str
_FORMS = (
    "Write FIELD=log:1e-4..1e-1 for a range by factors, FIELD=1..10 for a range, FIELD=a,b for "
    f"choices, {LEARNING_RATE}=log:… for the config's rate, or one of {', '.join(GROUPS)}."
)
_RANGE = re.compile(r"(?P<log>log:)?(?P<low>[^.,]+(?:\.\d[^.,]*)?)\.\.(?P<high>.+)")
_DIGITS = 4  # of a number between two ends: more would only be longer to write


@dataclass(frozen=True, kw_only=True)
class Span:
    """All numbers from one to another, both included."""

    low: float
    high: float
    is_log: bool  # chosen by factors
    is_whole: bool

    def rounded(self, value: float) -> float | int:
        """Write a number of the span shortly; it stays inside."""
        if self.is_whole:
            return round(value)
        return min(max(float(f"{value:.{_DIGITS}g}"), self.low), self.high)


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """Something to search over."""

    name: str  # as it was written
    paths: tuple[str, ...]  # fields that take the value; (): a named group
    values: Span | tuple[str, ...]

    @property
    def ends(self) -> tuple[Value, ...]:
        """The values that show whether all are legal: both ends, or every choice."""
        if isinstance(self.values, Span):
            return self.values.rounded(self.values.low), self.values.rounded(self.values.high)
        return self.values

    def __str__(self) -> str:
        match self.values:
            case Span(low=low, high=high, is_log=is_log):
                return f"{self.name}={'log:' if is_log else ''}{low:g}..{high:g}"
        return f"{self.name}={','.join(self.values)}"


def parse_space(texts: Iterable[str], curve: RateCurve | None) -> tuple[Dimension, ...]:
    """Read every `--over`; curve: the config's learning rate, None if it has none.

    >>> [str(each) for each in parse_space(["train_config.batch_size=4..16"], None)]
    ['train_config.batch_size=4..16']
    """
    dimensions = [_parsed(text.strip(), curve) for text in texts]
    names = [path for each in dimensions for path in each.paths or (each.name,)]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise HoldfastError(
            f"--over names {repeated[0]} twice.", fix="Give each field one range or list."
        )
    return tuple(dimensions)


def rate_path(curve: RateCurve | None) -> str:
    """Name the field that the learning rate of a config is led by."""
    if curve is None:
        raise HoldfastError(
            "The config chooses no learning rate, so there is none to search over.",
            fix="Write optimizer { momentum_optimizer { learning_rate { … } } }.",
        )
    return f"{curve.path}.{curve.rate_fields[0]}"


def _parsed(text: str, curve: RateCurve | None) -> Dimension:
    name, separator, values = (each.strip() for each in text.partition("="))
    if name in GROUPS:
        return _group(name, values if separator else None)
    if not separator or not values or not name:
        similar = nearest(name, (*GROUPS, LEARNING_RATE))
        hint = f"Did you mean {similar[0]}? " if similar and similar[0] != name else ""
        raise HoldfastError(f"--over {text!r} names no values.", fix=f"{hint}{_FORMS}")
    paths = tuple(rate_path(curve) if each == LEARNING_RATE else each for each in name.split("+"))
    return Dimension(name=name, paths=paths, values=_values(text, values))


def _group(name: str, wanted: str | None) -> Dimension:
    labels = GROUPS[name].labels
    if wanted is None:
        return Dimension(name=name, paths=(), values=labels)
    chosen = tuple(_split(wanted))
    if unknown := [each for each in chosen if each not in labels]:
        raise HoldfastError(
            f"--over {name} has no choice {unknown[0]!r}.", fix=f"Choices: {', '.join(labels)}."
        )
    return Dimension(name=name, paths=(), values=_several(f"{name}={wanted}", chosen))


def _values(text: str, values: str) -> Span | tuple[str, ...]:
    if ".." not in values:
        if values.startswith("log:"):
            raise HoldfastError(f"--over {text!r} has no end.", fix=_FORMS)
        return _several(text, tuple(_split(values)))
    found = _RANGE.fullmatch(values)
    try:
        assert found is not None
        low, high = float(found["low"]), float(found["high"])
    except (AssertionError, ValueError):
        raise HoldfastError(f"--over {text!r} is not a range of numbers.", fix=_FORMS) from None
    if not low < high:
        raise HoldfastError(
            f"--over {text!r} begins at {low:g} and ends at {high:g}.", fix="Give the lower first."
        )
    if found["log"] and low <= 0:
        raise HoldfastError(
            f"--over {text!r} goes by factors from {low:g}, which no factor leads away from.",
            fix="Begin above 0, or leave out log:.",
        )
    is_whole = all(re.fullmatch(r"[+-]?\d+", found[end].strip()) for end in ("low", "high"))
    return Span(low=low, high=high, is_log=bool(found["log"]), is_whole=is_whole)


def _several(text: str, values: Sequence[str]) -> tuple[str, ...]:
    distinct = tuple(dict.fromkeys(values))
    if len(distinct) < 2:
        raise HoldfastError(
            f"--over {text!r} leaves no choice.",
            fix=f"{_FORMS} One value is set with --set.",
        )
    return distinct


def _split(text: str) -> list[str]:
    """Split at commas that stand in no brackets and no quotes.

    >>> _split("[1, 2],[3]"), _split("a, b")
    (['[1, 2]', '[3]'], ['a', 'b'])
    """
    parts, depth, quote = [""], 0, ""
    for each in text:
        if quote:
            quote = "" if each == quote else quote
        elif each in "\"'":
            quote = each
        else:
            depth += (each in "[{") - (each in "]}")
        if each == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += each
    return [each.strip() for each in parts if each.strip()]
