"""The result as a JSON document."""

from __future__ import annotations

import json
import math

from holdfast.evaluation.result import ClassScore, EvaluationResult


def test_the_document_is_json_that_every_reader_takes():
    result = EvaluationResult(
        metrics={"a": 0.25, "b": math.nan, "c": -1.0},
        per_class={"cat": ClassScore(ap=0.5, ap50=None, objects=2)},
        images=7,
        seconds=1.5,
    )
    document = json.loads(json.dumps(result.document(), allow_nan=False))
    assert document == {
        "metrics": {"a": 0.25, "b": None, "c": -1.0},
        "per_class": {"cat": {"ap": 0.5, "ap50": None, "objects": 2}},
        "images": 7,
        "seconds": 1.5,
    }


def test_scores_of_masks_and_keypoints_are_listed_where_any_class_has_them():
    scores = {
        "cat": ClassScore(ap=0.5, ap50=1.0, objects=1, mask_ap=0.25, mask_ap50=0.75),
        "dog": ClassScore(ap=None, ap50=None, objects=0),
    }
    document = EvaluationResult(metrics={}, per_class=scores, images=1).document()
    names = {"ap", "ap50", "objects", "mask_ap", "mask_ap50"}
    assert [set(each) for each in document["per_class"].values()] == [names, names]
