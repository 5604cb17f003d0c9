"""What a check is: a function that looks at a case, under the code of what it finds."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from holdfast.doctor import checks
from holdfast.doctor.case import Case
from holdfast.doctor.finding import Finding
from holdfast.registry import Registry, load_from_outside

About = Literal["data", "anchors", "config", "machine", "run"]
Look = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True, kw_only=True)
class Check:
    """A function that looks for one kind of finding."""

    code: str
    about: About
    needs: tuple[str, ...]  # attributes of the case without which there is nothing to look at
    look: Look

    @property
    def page(self) -> str:
        """What `--explain` prints: a sentence, why it happens, how it is seen, what helps."""
        return inspect.getdoc(self.look) or f"{self.code} has no page."

    @property
    def sentence(self) -> str:
        """The first line of the page."""
        return self.page.partition("\n")[0]


CHECKS: Registry[Check] = Registry("finding")


def check(
    code: str, *, about: About, needs: tuple[str, ...] = ("config",)
) -> Callable[[Look], Look]:
    """Register a function that yields findings of a code; its docstring is the page about them.

    needs: attributes of `Case`, such as train.statistics. Where one of them is missing, the check
    is not asked, and listed with the reason.
    """

    def add(look: Look) -> Look:
        CHECKS.register(code, maker=look)(Check(code=code, about=about, needs=needs, look=look))
        return look

    return add


@cache
def load_checks() -> None:
    """Import every file of `checks/`, and the checks of installed packages."""
    for module in pkgutil.iter_modules(checks.__path__):
        import_module(f"{checks.__name__}.{module.name}")
    load_from_outside()


def all_checks() -> tuple[Check, ...]:
    """List the checks: Holdfast's own, and those that users added."""
    load_checks()
    return tuple(CHECKS[code] for code in CHECKS)
