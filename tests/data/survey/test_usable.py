"""No usable box is an error that names both sides; what makes training doubtful is a warning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from holdfast.config.label_map import load_label_map
from holdfast.data.survey.inspection import inspect_data, open_data
from holdfast.data.survey.statistics import LeftOut, Statistics
from holdfast.data.survey.usable import data_problems, refuse_unusable
from holdfast.errors import HoldfastError, Problem

from ..example_records import GOOD_BOX, png, record, write

BAD_BOX = (0.5, 0.5, 0.5, 0.5)


def statistics(**values: Any) -> Statistics:
    return Statistics(**{"images": 10, "boxes": 10, "classes": {"cat": 10}} | values)


def problems_of(folder: Path, names: list[str], *records: bytes) -> tuple[Problem, ...]:
    """Judge records with a label map, as `inspect` does."""
    items = [f'item {{ id: {number} name: "{name}" }}' for number, name in enumerate(names, 1)]
    (folder / "map.pbtxt").write_text("\n".join(items))
    file = write(folder / "a.record", records)
    data = open_data(file, None, load_label_map(folder / "map.pbtxt"))
    return inspect_data(data, strict=False).problems


def test_good_data_has_no_problem(tmp_path):
    assert problems_of(tmp_path, ["cat"], record(texts=["cat"])) == ()


def test_a_typo_in_the_label_map_is_an_error_that_names_both_sides(tmp_path):
    records = [
        record([GOOD_BOX] * 2, texts=["racoon"] * 2, image=png(seed=seed), source_id=str(seed))
        for seed in range(3)
    ]
    (problem,) = problems_of(tmp_path, ["raccoon"], *records)
    assert problem.severity == "error"
    assert "the data has 'racoon' (6 boxes), the label map 'raccoon'" in problem.message
    assert problem.fix == "correct the label map: 'raccoon' to 'racoon'"
    with pytest.raises(HoldfastError, match=r"train_input_reader: no box can be used.*racoon"):
        refuse_unusable([problem], "train_input_reader")


def test_a_name_that_differs_in_case_alone_is_found(tmp_path):
    (problem,) = problems_of(tmp_path, ["CAT", "dog"], record(texts=["cat"]))
    assert problem.fix == "correct the label map: 'CAT' to 'cat'"


def test_ids_that_the_map_lacks_are_named_as_the_records_write_them(tmp_path):
    (problem,) = problems_of(tmp_path, ["cat"], record(labels=[7]))
    assert "the data has '7' (1 box), the label map 'cat'" in problem.message
    assert "add the classes to the label map" in problem.fix


def test_data_without_any_box_is_an_error(tmp_path):
    (problem,) = problems_of(tmp_path, ["cat"], record([]))
    assert (problem.severity, problem.message) == ("error", "no image has a box")


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (record([BAD_BOX]), "no box can be used: 1 box: no height or no width"),
        (record(image=b"text"), "no image can be used: 1 image: the image cannot be decoded"),
    ],
)
def test_an_error_says_why_nothing_is_usable(tmp_path, bad, message):
    (problem,) = problems_of(tmp_path, ["cat"], bad)
    assert (problem.severity, problem.message) == ("error", message)


def test_classes_of_one_side_alone_are_warnings(tmp_path):
    boxes, texts = [GOOD_BOX] * 3, ["cat", "dgo", "cow"]
    lacking, missing, _ = problems_of(tmp_path, ["cat", "dog"], record(boxes, texts=texts))
    assert (lacking.severity, missing.severity) == ("warning", "warning")
    assert "lacks 'dgo' (1 box), 'cow' (1 box), which the data has" in lacking.message
    assert lacking.fix == "correct the label map: 'dog' to 'dgo'"
    assert missing.message == "no box shows 'dog' (1 of the 2 classes of the label map)"


def test_a_class_that_is_there_under_its_own_name_is_not_proposed_for_another(tmp_path):
    boxes, texts = [GOOD_BOX] * 3, ["cat", "cat", "cats"]
    (lacking,) = problems_of(tmp_path, ["cat"], record(boxes, texts=texts))
    assert "add the classes to the label map" in lacking.fix


def left_out(*, images: int = 0, boxes: int = 0, reason: str = "why") -> LeftOut:
    return LeftOut(reason=reason, images=images, boxes=boxes, images_affected=1, examples=())


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([left_out(images=5, boxes=5)], []),  # a third, no more
        ([left_out(images=6)], ["6 of 16 images (38%) are left out, most often because why"]),
        ([left_out(boxes=6)], ["6 of 16 boxes (38%) are left out, most often because why"]),
        (
            [left_out(images=2, reason="rare"), left_out(images=20, boxes=90, reason="usual")],
            ["22 of 32 images (69%) are left out, most often because usual"],
        ),
    ],
)
def test_more_than_a_third_left_out_is_a_warning(groups, expected):
    found = data_problems(statistics(left_out=tuple(groups)), ["cat"])
    assert [each.message for each in found] == expected


def test_without_a_label_map_classes_are_not_judged():
    assert data_problems(statistics(), None) == ()


def test_many_classes_are_counted_after_the_tenth():
    (missing,) = data_problems(statistics(), ["cat", *(f"class {n}" for n in range(30))])
    assert missing.message.count("'") == 2 * 10
    assert "and 20 more (30 of the 31 classes of the label map)" in missing.message


def test_warnings_refuse_nothing():
    refuse_unusable([Problem(message="doubt", severity="warning")], "data")
