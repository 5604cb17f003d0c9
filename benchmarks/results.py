"""What the benchmarks that train do alike: call the command, keep results, print a small table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

SHARED = Path(os.environ.get("HOLDFAST_SHARED", Path(__file__).resolve().parents[2] / "shared"))
MAP, MAP_50 = "DetectionBoxes_Precision/mAP", "DetectionBoxes_Precision/mAP@.50IOU"
EVALUATED_ON = "eval_input_reader[0].tf_record_input_reader.input_path"

Values = dict[str, float]


class KeptResults:
    """Results by name in a file of JSON lines: a run that was stopped goes on where it stood.

    key: what the name is called in a line.
    """

    def __init__(self, path: Path, *, key: str) -> None:
        self._path, self._key = path, key
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.found: dict[str, Values] = {
            (values := json.loads(line)).pop(key): values for line in lines
        }

    def once(self, name: str, compute: Callable[[], Values]) -> Values:
        """Give what is known by a name; compute and keep it the first time."""
        if name not in self.found:
            self.found[name] = compute()
            with self._path.open("a") as file:
                file.write(json.dumps({self._key: name} | self.found[name]) + "\n")
        return self.found[name]


def holdfast(*arguments: str, bad_is_fine: bool = False) -> str:
    """Run a command, and give what it prints; bad_is_fine: an answer such as `it diverged`, too."""
    command = [sys.executable, "-m", "holdfast", *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if finished.returncode not in ((0, 1) if bad_is_fine else (0,)):
        raise SystemExit(f"{' '.join(arguments)} ended with {finished.returncode}")
    return finished.stdout


def settings(fields: Mapping[str, object]) -> list[str]:
    """Give the options that set fields of a config.

    >>> settings({"train_config.batch_size": 8})
    ['--set', 'train_config.batch_size=8']
    """
    return [text for name, value in fields.items() for text in ("--set", f"{name}={value}")]


def new_project(folder: Path, recipe: str, data: str, weights: str, steps: int) -> Path:
    """Let `holdfast new` write a project, unless it is there; give its config."""
    config = folder / "pipeline.config"
    if not config.exists():
        checkpoint = SHARED / "weights" / weights / "model.ckpt"
        given = ("--data", str(SHARED / "datasets" / data), "--checkpoint", str(checkpoint))
        holdfast("new", recipe, *given, "--steps", str(steps), "--out", str(folder))
    return config


def unseen_images(folder: Path) -> dict[str, object]:
    """Give the field that evaluates on images of a project that no training sees."""
    records = next(folder.glob("*_records")).resolve()
    unseen = "test" if any(records.glob("test.record*")) else "val"
    return {EVALUATED_ON: f"{records}/{unseen}.record-*"}


def print_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Print rows below their heads."""
    table = Table(*head, box=None)
    for row in rows:
        table.add_row(*row)
    Console().print(table)
