from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.doctor.cases import found, looked
from tests.doctor.scenes import changed, data_case, scenes

from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import examine
from holdfast.doctor.seen_by_model import SeenImage

SCENES = scenes(30, objects=5)
OTHER = {1: 2, 2: 3, 3: 1}


def seen_as_painted(case: Case, share: float = 1.0) -> tuple[SeenImage, ...]:
    """Let a detector see the objects as they were painted, or a part of them."""
    names = {1: "disc", 2: "bar", 3: "plate"}
    random = np.random.default_rng(0)
    seen = []
    for image, painted in zip(case.train.images, SCENES, strict=True):
        count = round(len(painted.boxes) * share)
        jitter = random.normal(0, 0.004, (count, 4)).astype(np.float32)
        scores = np.sort(random.uniform(0.6, 0.95, count).astype(np.float32))[::-1]
        labels = tuple(names[number] for number in painted.ids[:count])
        seen.append(SeenImage(image, painted.boxes[:count] + jitter, labels, scores))
    return tuple(seen)


def corrupted() -> list:
    """Give a wrong class to the first label of four images, and move that of four others."""
    wrong = list(SCENES)
    for number in range(4):
        ids = wrong[number].ids
        wrong[number] = wrong[number]._replace(ids=(OTHER[ids[0]], *ids[1:]))
    for number in range(4, 8):
        boxes = wrong[number].boxes.copy()
        boxes[0] += np.array([0.2, 0.15, 0.2, 0.15], np.float32)
        wrong[number] = wrong[number]._replace(boxes=boxes)
    return wrong


def test_labels_that_a_detector_contradicts_come_first_and_are_drawn(tmp_path: Path):
    case = data_case(tmp_path, corrupted())
    case.run_path = tmp_path / "run"
    case.seen_by_model = seen_as_painted(case)
    finding = found(case, "label-noise")
    assert finding is not None
    assert finding.severity == "warning"
    rows = finding.evidence["candidates"]
    assert {(row["image"], row["index"]) for row in rows} == {
        (f"{number}.png", 0) for number in range(8)
    }
    kinds = {row["image"]: row["kind"] for row in rows}
    assert kinds == {f"{n}.png": "class" if n < 4 else "moved" for n in range(8)}
    pictures = sorted(path.name for path in Path(finding.evidence["pictures"]).iterdir())
    assert len(pictures) == 8
    assert pictures[0].startswith("001_")


def test_a_run_that_cannot_be_written_is_judged_without_pictures(tmp_path: Path):
    case = data_case(tmp_path, corrupted())
    case.run_path = tmp_path / "pipeline.config" / "run"  # below a file
    case.seen_by_model = seen_as_painted(case)
    finding = found(case, "label-noise")
    assert finding is not None
    assert finding.evidence["pictures"] is None


def test_labels_that_a_detector_agrees_with_are_fine(tmp_path: Path):
    case = data_case(tmp_path, SCENES)
    case.run_path = tmp_path / "run"
    case.seen_by_model = seen_as_painted(case)
    assert found(case, "label-noise") is None


def test_a_detector_that_has_hardly_learned_judges_nothing(tmp_path: Path):
    case = data_case(tmp_path, corrupted())
    case.run_path = tmp_path / "run"
    case.seen_by_model = seen_as_painted(case, share=0.2)
    diagnosis = examine(case, only=["label-noise"])
    assert diagnosis.findings == ()
    assert "too few for it to judge" in diagnosis.not_looked_at[0].reason


def test_shuffled_classes_are_an_error_without_any_run(tmp_path: Path):
    random = np.random.default_rng(0)
    shuffled = changed(
        SCENES,
        lambda each: each._replace(ids=tuple(random.integers(1, 4, len(each.ids)).tolist())),
    )
    (finding,) = looked(data_case(tmp_path, shuffled), "label-noise").findings
    assert finding.severity == "error"
    assert "follow no rule" in finding.what


def test_without_a_run_good_classes_are_not_judged_further(tmp_path: Path):
    diagnosis = examine(data_case(tmp_path, SCENES), only=["label-noise"])
    assert diagnosis.findings == ()
    assert diagnosis.not_looked_at[0].reason == "there is no run yet, only a config"
