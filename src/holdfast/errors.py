"""Error types: each says what is wrong, why, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One mistake or doubt about a file.

    line and column count from 1; they are None when the problem has no place in the file (a missing
    field, a command-line override).
    """

    message: str
    fix: str = ""
    severity: Literal["error", "warning"] = "error"
    path: str = ""  # the field, e.g. eval_input_reader[0].label_map_path
    line: int | None = None
    column: int | None = None
    remedy: tuple[tuple[str, str], ...] = ()  # fields and values, as --set takes them, that end it

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        field = f"{self.path}: " if self.path else ""
        return f"{place}{field}{self.message}" + (f" -> {self.fix}" if self.fix else "")


class HoldfastError(Exception):
    """Anything that Holdfast refuses to do, told in words a user can act on."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(f"{message}\n{fix}" if fix else message)
        self.message = message
        self.fix = fix


class ConfigError(HoldfastError):
    """A config or label map that cannot be read; `problems` lists every mistake."""

    def __init__(self, source: str, problems: Iterable[Problem], *, fix: str = "") -> None:
        self.source = source
        self.problems = in_file_order(problems)
        count = len(self.problems)
        lines = [f"{source}: {count} problem{'s' if count != 1 else ''}"]
        super().__init__("\n  ".join(lines + [str(each) for each in self.problems]), fix=fix)


def errors_of(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep those that make the file unusable, in the order of the file."""
    return in_file_order(problem for problem in problems if problem.severity == "error")


def warnings_of(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Keep those that leave the file usable, in the order of the file."""
    return in_file_order(problem for problem in problems if problem.severity == "warning")


def in_file_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sort by place; problems without a place come first."""
    return tuple(sorted(problems, key=lambda problem: (problem.line or 0, problem.column or 0)))


def nearest(name: str, candidates: Iterable[str], count: int = 1) -> Sequence[str]:
    """Name the candidates that look most like `name`, best first; none if nothing is close."""
    # difflib is quadratic in the length of a name, and no field name is longer than this.
    if len(name) > 80:
        return []
    return difflib.get_close_matches(name, list(candidates), n=count, cutoff=0.6)
