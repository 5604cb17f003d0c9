"""Packages that only some commands need: the extras of pyproject.toml."""

from __future__ import annotations

from importlib.util import find_spec

from holdfast.errors import HoldfastError


def need_extra(extra: str, what: str, *modules: str) -> None:
    """Raise if a package of an extra is not installed; `what` needs it.

    >>> need_extra("video", "A video", "json")
    """
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise HoldfastError(
            f"{what} needs {' and '.join(missing)}, which this environment does not have.",
            fix=f'Run `pip install "holdfast[{extra}]"`.',
        )
