"""Packages that only some commands need: the extras of pyproject.toml."""

from __future__ import annotations

from importlib.util import find_spec

from holdfast.errors import HoldfastError


def need_extra(extra: str, what: str, *modules: str) -> None:
    """Raise if a package of an extra is not installed; `what` needs it.

    >>> need_extra("video", "A video", "json")
    """
    missing = [module for module in modules if not _is_installed(module)]
    if missing:
        raise HoldfastError(
            f"{what} needs {' and '.join(missing)}, which this environment does not have.",
            fix=f'Run `pip install "holdfast[{extra}]"`.',
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package that it is in
        return False
