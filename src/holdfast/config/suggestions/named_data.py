"""Options for data that the user named with --data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import (
    EVALUATION,
    INPUT,
    LABEL_MAP,
    TRAIN,
    Change,
    list_text,
    readers_of,
)


@dataclass(frozen=True, kw_only=True)
class NamedData:
    """Data as the readers of a config take it."""

    train: tuple[str, ...]
    evaluation: tuple[str, ...]  # () if nothing is held out
    label_map: str  # "" if there is none
    num_classes: int
    exists: bool = True  # False: a command that comes first will make it


def for_named_data(config: TrainEvalPipelineConfig, data: NamedData) -> Iterator[Change]:
    """Point all readers at the data, and give the detector its classes."""
    for path, _ in readers_of(config) or [(TRAIN, InputReader())]:
        is_train = path == TRAIN
        inputs = data.train if is_train else data.evaluation
        if inputs:
            label = "train data" if is_train else "evaluation data"
            yield Change(f"{path}.{INPUT}", list_text(inputs), label, ", ".join(inputs))
            text = data.label_map or "none: the records' own ids are the classes"
            yield Change(
                f"{path}.{LABEL_MAP}", data.label_map, "label map", text if is_train else ""
            )
    if config.eval_input_reader and not data.evaluation:
        yield Change(EVALUATION, "", "evaluation data", "nothing is held out: no evaluation")
    detector = detector_of(config.model) if config.model else None
    if config.model is not None and detector and detector.num_classes != data.num_classes:
        place = f"model.{config.model.which('model')}.num_classes"
        text = f"{data.num_classes} in the data, {detector.num_classes} in the config"
        yield Change(place, str(data.num_classes), "classes", text)
