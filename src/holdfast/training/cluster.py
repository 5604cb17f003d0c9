"""The processes that train together, as TF_CONFIG names them."""

from __future__ import annotations

import json
import os


def num_workers() -> int:
    """Count the processes that train together, by TF_CONFIG; 0 without one."""
    return len(worker_addresses())


def worker_addresses() -> tuple[str, ...]:
    """List the addresses, host:port, of all of them, the first one's first; () without TF_CONFIG.

    With {"cluster": {"worker": ["b:1"], "chief": ["a:1"]}} these are a:1 and b:1.
    """
    cluster = _cluster()
    return tuple(name for kind in _KINDS for name in cluster.get(kind, ()))


def worker_title(index: int) -> str:
    """Name a process, for messages."""
    return f"Worker {index} ({worker_addresses()[index]})"


def is_chief() -> bool:
    """Tell whether this process is the one that writes the run: the only one, or the first."""
    return num_workers() <= 1 or _task() in (("chief", 0), ("master", 0), ("worker", 0))


def worker_index() -> int:
    """Give the number of this process among them, from 0."""
    return _task()[1] if num_workers() > 1 else 0


_KINDS = ("chief", "master", "worker")


def _cluster() -> dict[str, list[str]]:
    cluster: dict[str, list[str]] = json.loads(os.environ.get("TF_CONFIG") or "{}").get(
        "cluster", {}
    )
    return {kind: names for kind, names in cluster.items() if kind in _KINDS}


def _task() -> tuple[str, int]:
    task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
    kind, index = str(task.get("type", "worker")), int(task.get("index", 0))
    # With a chief, the first worker is an ordinary one.
    has_chief = kind == "worker" and any(name in _cluster() for name in ("chief", "master"))
    return kind, index + 1 if has_chief else index
