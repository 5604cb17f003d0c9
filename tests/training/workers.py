"""Worker processes of a small training on this machine, one of which can be disturbed."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from holdfast.runs.run import Run

PROGRAM = Path(__file__).with_name("small_training.py")
FOREVER = 100_000


def free_addresses(count: int) -> list[str]:
    """Find ports that nobody uses."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    names = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return names


def start_worker(
    command: Sequence[str], addresses: Sequence[str], index: int
) -> subprocess.Popen[str]:
    """Start one of the processes that train together."""
    task = {"type": "worker", "index": index}
    cluster = json.dumps({"cluster": {"worker": list(addresses)}, "task": task})
    return subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TF_CONFIG": cluster},
    )


def start(data: Path, *runs: Path, steps: int = FOREVER, **options) -> list[subprocess.Popen[str]]:
    """Start a process for each run folder, which are the same where the folder is shared.

    options: `stuck_at={1: 5}` lets worker 1 read 5 batches and no more; others are for all.
    """
    addresses = free_addresses(len(runs))
    stuck_at = options.pop("stuck_at", {})
    return [
        start_worker(_command(data, run, steps, options, stuck_at.get(index)), addresses, index)
        for index, run in enumerate(runs)
    ]


def _command(data: Path, run: Path, steps: int, options, stuck_at: int | None) -> list[str]:
    given = options | {"steps": steps} | ({} if stuck_at is None else {"stuck_at": stuck_at})
    words = [[f"--{name.replace('_', '-')}", str(value)] for name, value in given.items()]
    return [
        str(PROGRAM),
        str(data),
        str(run),
        "--plain",
        *(word for each in words for word in each),
    ]


def ended(process: subprocess.Popen[str], seconds: float = 90) -> tuple[int, str]:
    """Wait for the end of a process that would otherwise wait forever; kill it then."""
    try:
        _, said = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        raise AssertionError(f"it did not end: {said}") from None
    return process.returncode, said


def wait_for_step(processes: Sequence[subprocess.Popen[str]], run: Path, step: int) -> None:
    events = run / "events.jsonl"
    while not events.exists() or f'{{"step":{step},"kind":"step"' not in events.read_text():
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)


def losses(run: Path) -> list[float]:
    events = Run.open(run).read_events()
    return [event.values["losses"]["Loss/total_loss"] for event in events if event.kind == "step"]
