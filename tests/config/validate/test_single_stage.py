from __future__ import annotations

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.single_stage import check_single_stage

from ..texts import config, edited
from .unbuilt_settings import UNBUILT


def test_a_detector_that_is_built_gives_nothing_to_say():
    assert list(check_single_stage(config())) == []


def test_other_detectors_are_not_judged():
    assert list(check_single_stage(TrainEvalPipelineConfig())) == []
    text = "model { faster_rcnn { num_classes: 3 } }"
    assert list(check_single_stage(config(text=text))) == []


@pytest.mark.parametrize(("path", "changes"), UNBUILT.items(), ids=UNBUILT)
def test_a_setting_that_is_not_built_is_an_error_with_its_path_and_a_fix(path, changes):
    (problem,) = check_single_stage(config(text=edited(*changes)))
    assert (problem.severity, problem.path) == ("error", f"model.ssd.{path}")
    assert problem.fix
