"""The label map that a config names, wherever it is needed without the records."""

from __future__ import annotations

from pathlib import Path

from holdfast.config.label_map import class_name, classes
from holdfast.config.paths import Base, find_files, is_remote
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.records.label_map_files import open_label_map


def build_label_map(config: TrainEvalPipelineConfig, folder: Path) -> StringIntLabelMap | None:
    """Read the first label map that an input reader names and that is there; None without one.

    folder: where the config lies; relative paths are looked up there after the working directory.
    """
    readers = [*config.eval_input_reader, config.train_input_reader]
    for path in (reader.label_map_path for reader in readers if reader is not None):
        if not path:
            continue
        if is_remote(path):
            return open_label_map(path)
        found = find_files(path, folder)
        if found.base is not Base.NOWHERE:
            return open_label_map(str(found.files[0]))
    return None


def names_by_id(label_map: StringIntLabelMap | None) -> dict[int, str]:
    """Name the classes by their ids; {} without a label map."""
    return {} if label_map is None else {item.id: class_name(item) for item in classes(label_map)}
