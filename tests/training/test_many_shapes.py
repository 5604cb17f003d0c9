"""Images of many shapes: a few traces, memory that stays flat, a plan that holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.training.test_worst_images import write_coco

from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source

PROGRAM = Path(__file__).with_name("many_shapes.py")
KEEP = "keep_aspect_ratio_resizer { min_dimension: 160 max_dimension: 256 %s }"
SHAPES = [(64 + 8 * (number % 20), 64 + 8 * (number // 20)) for number in range(200)]


def train(folder: Path, shapes: list[tuple[int, int]], batch_size: int, *arguments: str) -> dict:
    """Train two epochs in a process of its own."""
    source, data = folder / "source", folder / "data"
    source.mkdir()
    write_coco(source, shapes, [2] * len(shapes))
    convert(open_source(str(source)), str(data), val=0.0, seed=0)
    command = [sys.executable, PROGRAM, data, folder / "run", batch_size, *arguments]
    finished = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])


def test_a_dozen_shapes_are_traced_a_few_times(tmp_path):
    assert len(train(tmp_path, SHAPES[::17], 2, KEEP % "", "narrow")["traces"]) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("padding", ["", "pad_to_max_dimension: true"], ids=("bare", "padded"))
@pytest.mark.parametrize("batch_size", [1, 2])
def test_two_hundred_shapes_keep_traces_memory_and_plan(tmp_path, batch_size, padding):
    result = train(tmp_path, SHAPES, batch_size, KEEP % padding)
    assert len(result["traces"]) <= 4
    assert result["measured"] <= 1.05 * result["predicted"], result
    # The kernels that oneDNN keeps of each shape, up to a number, are not all there yet after
    # the first epoch: with batches of 2, the second adds 2.1 to 2.5 %.
    held = result["held"]
    middle = len(held) // 2
    assert max(held[middle:]) <= 1.03 * max(held[:middle])
