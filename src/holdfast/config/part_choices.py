"""Parts of one's own that pipeline.config has no field for: they are chosen beside it."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.config.schema.preprocessor import PreprocessingStep
from holdfast.errors import HoldfastError, Problem, nearest
from holdfast.registry import NOT_FOUND_FIX, registered

# What a choice replaces, or for augmentations follows, in the config -> the registry of its kind.
KINDS: Mapping[str, str] = {
    "head": "head",
    "classification_loss": "classification loss",
    "localization_loss": "localization loss",
    "augmentation": "augmentation",
}
EXAMPLE = "--use augmentation=fog,density=0.4"
_STEP = "preprocessing_step"
_PIECE = re.compile(r"""(?:'[^']*'|"[^"]*"|\([^)]*\)|\[[^]]*\]|[^,])+""")


@dataclass(frozen=True, kw_only=True)
class PartChoice:
    """A part by kind and name, and keywords for it."""

    kind: str  # a key of KINDS
    name: str
    keywords: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        """Write the choice as --use takes it."""
        values = (f",{name}={value!r}" for name, value in self.keywords)
        return f"{self.kind}={self.name}{''.join(values)}"


def parse_choice(text: str) -> PartChoice:
    """Read KIND=NAME,KEYWORD=VALUE,…; a value is a Python literal, else a text.

    >>> parse_choice("augmentation=fog,density=0.4,color=(1, 2, 3)").keywords
    (('density', 0.4), ('color', (1, 2, 3)))
    >>> str(parse_choice("head=wide"))
    'head=wide'
    """
    kind, is_pair, rest = text.partition("=")
    name, *pairs = _split(rest)
    if not is_pair or not name or any("=" not in pair for pair in pairs):
        raise HoldfastError(f"--use {text} is not KIND=NAME.", fix=f"Write for example {EXAMPLE}")
    if kind not in KINDS:
        similar = nearest(kind, KINDS)
        fix = f"Did you mean {similar[0]}? " if similar else ""
        raise HoldfastError(
            f"--use {text}: there is no kind {kind!r}.", fix=f"{fix}Kinds: {', '.join(KINDS)}."
        )
    split = (pair.partition("=") for pair in pairs)
    keywords = tuple((key.strip(), _value(value)) for key, _, value in split)
    return PartChoice(kind=kind, name=name.strip(), keywords=keywords)


def chosen_part(choices: Iterable[PartChoice], kind: str) -> PartChoice | None:
    """Give the choice of a kind, the last one if there are several; None without one."""
    return next((each for each in reversed(tuple(choices)) if each.kind == kind), None)


def choice_problems(choices: Iterable[PartChoice]) -> Iterator[Problem]:
    """Yield what is wrong with choices: names nobody registered, keywords nobody takes."""
    for choice in choices:
        kind = KINDS[choice.kind]
        if kind == "augmentation" and choice.name in PreprocessingStep.oneofs[_STEP]:
            yield Problem(
                path=f"--use {choice}",
                message=f"{choice.name} has a field in pipeline.config",
                fix=f"write data_augmentation_options {{ {choice.name} {{ }} }}",
            )
            continue
        part = registered(kind, choice.name)
        if part is None:
            yield Problem(
                path=f"--use {choice}",
                message=f"there is no {kind} {choice.name!r}",
                fix=f"{NOT_FOUND_FIX[0].lower()}{NOT_FOUND_FIX[1:]}",
            )
            continue
        taken = _keywords(part)
        for name, _ in choice.keywords:
            if name not in taken:
                similar = nearest(name, taken)
                yield Problem(
                    path=f"--use {choice}",
                    message=f"{choice.name} takes no {name!r}",
                    fix=f"did you mean {similar[0]}?" if similar else f"it takes {_listed(taken)}",
                )


def _keywords(part: Any) -> tuple[str, ...]:
    parameters = inspect.signature(part).parameters.values()
    return tuple(each.name for each in parameters if each.kind is each.KEYWORD_ONLY)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "no keyword"


def _split(text: str) -> list[str]:
    """Split at commas that stand neither in brackets nor in quotes.

    >>> _split("fog,color=(1, 2),kind='soft, low'")
    ['fog', 'color=(1, 2)', "kind='soft, low'"]
    """
    return [match[0] for match in _PIECE.finditer(text)] or [""]


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
