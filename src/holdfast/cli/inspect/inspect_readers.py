"""What `holdfast inspect` looks at: the data sets that a config or a path leads to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.config.load import load_config
from holdfast.config.paths import expand
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.build_input import build_augmentations, open_reader
from holdfast.data.records.label_map_files import open_label_map
from holdfast.data.sources.source import Source
from holdfast.data.survey.inspection import Records, open_data, refuse_images
from holdfast.errors import HoldfastError

_CONFIG_ENDINGS = (".config", ".pbtxt")


class Opened(NamedTuple):
    """Data sets by name, the training data first; how that is augmented, and what learns it."""

    sets: dict[str, Records | Source]
    augmentations: Sequence[Any] = ()
    model: DetectionModel | None = None


def open_all(
    location: str,
    format_name: str | None,
    label_map_path: str | None,
    images: str | None = None,
    use: Sequence[str] = (),
) -> Opened:
    """Open what the user named: all readers of a config, or one data set."""
    label_map = open_label_map(label_map_path) if label_map_path else None
    if format_name is None and location.endswith(_CONFIG_ENDINGS):
        refuse_images(images)
        path = Path(expand(location))
        return _open_config(load_config(path, use=use), path.parent, label_map)
    return Opened({"": open_data(location, format_name, label_map, images=images)})


def _open_config(
    config: TrainEvalPipelineConfig, folder: Path, label_map: StringIntLabelMap | None
) -> Opened:
    readers = {"train": config.train_input_reader} if config.train_input_reader else {}
    for index, reader in enumerate(config.eval_input_reader):
        readers["eval" if len(config.eval_input_reader) == 1 else f"eval {index}"] = reader
    if not readers:
        raise HoldfastError("The config has no input reader.", fix="Add train_input_reader { … }.")
    sets: dict[str, Records | Source] = {}
    for name, reader in readers.items():
        opened = open_reader(reader, folder, name=f"{name}_input_reader", label_map=label_map)
        if opened not in sets.values():  # training and evaluation on the same files
            sets[name] = opened
    steps = config.train_config.data_augmentation_options if config.train_config else ()
    augmentations = build_augmentations(steps, config.parts) if "train" in sets else ()
    return Opened(sets, augmentations, config.model)
