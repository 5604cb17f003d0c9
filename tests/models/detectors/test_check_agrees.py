"""What `check` accepts can be built, and what it refuses cannot: users' and published configs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import keras
import pytest

from holdfast.config.check_config import check_config
from holdfast.config.facts.extractors import extractor
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.encode import encode
from holdfast.config.text.overrides import apply_overrides
from holdfast.errors import HoldfastError
from holdfast.models.detectors.build_detector import build_detector

from ...config.texts import config, edited
from ...config.validate.unbuilt_settings import UNBUILT

FOLDERS = ("zoo_configs/tf1", "zoo_configs/tf2", "user_configs")
NUM_CONFIGS, NUM_UNREADABLE = 445, 7


class Judged(NamedTuple):
    """A config that can be read, and what `check` has against its model."""

    name: str
    config: TrainEvalPipelineConfig
    errors: tuple[str, ...]

    @property
    def network(self) -> str:
        """Name backbone, neck and family."""
        known = extractor(self.config.model.chosen("model").feature_extractor.type)
        return f"{known.backbone}, {known.neck}, {known.architecture}"

    @property
    def num_pixels(self) -> int:
        shape = input_shape(self.config.model)
        return shape.height * shape.width if shape else 10**9


@pytest.fixture(scope="module")
def judged(corpus) -> list[Judged]:
    """All configs of the corpus, each model once."""
    paths = [
        path
        for folder in FOLDERS
        for path in sorted((corpus / folder).iterdir())
        if path.suffix != ".tsv"
    ]
    assert len(paths) == NUM_CONFIGS
    found = [each for each in map(_judged, paths) if each is not None]
    assert len(found) == NUM_CONFIGS - NUM_UNREADABLE
    return list({_model_text(each.config): each for each in reversed(found)}.values())


def _judged(path: Path) -> Judged | None:
    report = check_config(path)
    if report.config is None:
        return None
    errors = tuple(str(each) for each in report.errors if each.path.startswith("model"))
    return Judged(f"{path.parent.name}/{path.name}", report.config, errors)


def _model_text(config: TrainEvalPipelineConfig) -> str:
    """Write the model, with one number of classes for all: every number can be built."""
    name = config.model.which("model")
    one, problems = apply_overrides(config, {f"model.{name}.num_classes": 1})
    assert not problems
    return encode(one.model)


def refusal(config: TrainEvalPipelineConfig) -> str | None:
    """Try to build the detector, and say why it cannot be; None if it can."""
    try:
        build_detector(config)
    except HoldfastError as error:
        return error.message
    keras.backend.clear_session()
    gc.collect()  # or the networks of all configs would be held at once
    return None


def quick(judged: list[Judged]) -> Iterator[Judged]:
    """Choose the smallest config of each kind of network; larger siblings are left to `slow`."""
    siblings = ("resnet101", "resnet152", *(f"efficientnet_b{number}" for number in range(1, 8)))
    accepted = [each for each in judged if not each.errors]
    for network in sorted({each.network for each in accepted}):
        if not network.startswith(siblings):
            alike = [each for each in accepted if each.network == network]
            yield min(alike, key=lambda each: each.num_pixels)


def test_what_check_refuses_cannot_be_built(judged):
    refused = [each for each in judged if each.errors]
    assert len(refused) > 30
    built = [each.name for each in refused if refusal(each.config) is None]
    assert built == []


@pytest.mark.slow
def test_what_check_accepts_is_built_of_each_kind_of_network(judged):
    chosen = list(quick(judged))
    assert len(chosen) >= 13
    refused = {each.name: why for each in chosen if (why := refusal(each.config))}
    assert refused == {}


@pytest.mark.slow
def test_what_check_accepts_is_built_of_all_configs(judged):
    accepted = [each for each in judged if not each.errors]
    assert len(accepted) > 70
    refused = {each.name: why for each in accepted if (why := refusal(each.config))}
    assert refused == {}


@pytest.mark.parametrize("changes", UNBUILT.values(), ids=UNBUILT)
def test_a_setting_that_check_refuses_is_refused_by_the_builder(changes):
    assert refusal(config(text=edited(*changes))) is not None


@pytest.mark.parametrize("name", ["faster_rcnn", "center_net", "experimental_model"])
def test_a_family_that_check_refuses_is_refused_by_the_builder(name):
    assert refusal(config(text=f"model {{ {name} {{ }} }}")) is not None
