"""The table on the terminal."""

from __future__ import annotations

import io
import math
import subprocess
import sys

from rich.console import Console

from holdfast.evaluation.result import ClassScore, EvaluationResult
from holdfast.evaluation.table import result_table

RESULT = EvaluationResult(
    metrics={"DetectionBoxes_Precision/mAP": 0.51234, "A/large": -1.0, "A/none": math.nan},
    per_class={
        "blood cell [red]": ClassScore(ap=0.5, ap50=1.0, objects=12),
        "platelet": ClassScore(ap=None, ap50=None, objects=0),
    },
    images=3,
)


def lines_of(result: EvaluationResult) -> list[list[str]]:
    stream = io.StringIO()
    Console(file=stream, width=100).print(result_table(result))
    return [line.split() for line in stream.getvalue().splitlines()]


def test_every_metric_and_class_has_a_line():
    lines = lines_of(RESULT)
    assert ["DetectionBoxes_Precision/mAP", "0.5123"] in lines
    assert ["class", "objects", "AP", "AP50"] in lines
    assert ["blood", "cell", "[red]", "12", "0.5000", "1.0000", "█" * 24] in lines


def test_where_there_is_no_object_there_is_no_number():
    lines = lines_of(RESULT)
    assert ["A/large", "no", "object"] in lines
    assert ["A/none", "no", "object"] in lines
    assert ["platelet", "0", "no", "object", "no", "object"] in lines


def test_the_table_needs_neither_tensorflow_nor_numpy():
    program = (
        "import sys, holdfast.evaluation.table\n"
        "print(*{'tensorflow', 'keras', 'numpy'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []


def test_masks_and_keypoints_have_columns_where_they_are_measured():
    scores = {
        "cat": ClassScore(ap=0.5, ap50=1.0, objects=1, mask_ap=0.25, mask_ap50=0.75),
        "dog": ClassScore(ap=0.5, ap50=1.0, objects=1),
    }
    lines = lines_of(EvaluationResult(metrics={}, per_class=scores, images=1))
    assert ["class", "objects", "AP", "AP50", "mask", "AP", "mask", "AP50"] in lines
    assert ["cat", "1", "0.5000", "1.0000", "0.2500", "0.7500", "█" * 24] in lines
    assert ["dog", "1", "0.5000", "1.0000", "-", "-", "█" * 24] in lines
