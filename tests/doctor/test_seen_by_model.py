"""The detector of a run looks at training images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.cli.commands import CONFIG
from tests.doctor.scenes import data_case, scenes

import holdfast
from holdfast.doctor import seen_by_model
from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import open_case


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seen")
    data_case(folder, scenes(10), scenes(4, first=50))
    config = holdfast.load_config(folder / "pipeline.config", {"train_config.num_steps": 2})
    holdfast.train(config, run=folder / "run")
    return folder / "run"


def test_every_image_is_seen_with_its_detections_and_they_are_kept(run: Path, monkeypatch):
    case = open_case(run)
    seen = case.seen_by_model
    assert [each.image.name for each in seen] == [f"{number}.png" for number in range(10)]
    for each in seen:
        assert len(each.boxes) == len(each.class_names) == len(each.scores)
        assert (np.diff(each.scores) <= 0).all()
        assert set(each.class_names) <= {"disc", "bar", "plate", "4"}
    # The second time nothing is built: the run's folder has the answer.
    monkeypatch.setattr(seen_by_model, "build_detector", None)
    again = open_case(run).seen_by_model
    for first, second in zip(seen, again, strict=True):
        np.testing.assert_array_equal(first.boxes, second.boxes)
        assert first.class_names == second.class_names


def test_detections_are_those_of_the_evaluation(run: Path):
    """The same image in another batch and through the public functions gives the same boxes."""
    case = open_case(run)
    seen = case.seen_by_model[3]
    detector = holdfast.build_detector(case.config)
    holdfast.load_checkpoint(detector, run, use_moving_average=True)
    pixels = case.train.sample[3].pixels()
    inputs, sizes = detector.preprocess([pixels])
    found = detector.detections(detector(inputs, sizes=sizes, training=False), sizes)
    count = len(seen.scores)
    np.testing.assert_allclose(np.asarray(found.boxes)[0, :count], seen.boxes, atol=1e-4)
    np.testing.assert_allclose(np.asarray(found.scores)[0, :count], seen.scores, atol=1e-4)


def test_a_config_without_a_run_has_no_detector(tmp_path: Path):
    path = tmp_path / "pipeline.config"
    path.write_text(CONFIG)
    with pytest.raises(holdfast.HoldfastError, match="there is no run yet"):
        _ = open_case(path).seen_by_model
    assert isinstance(open_case(path), Case)
