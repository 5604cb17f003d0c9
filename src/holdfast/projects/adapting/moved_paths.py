"""Paths of a config that is written to another folder: they lead to the same files from there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.config.paths import Found, find_checkpoint, find_files, is_remote
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.suggestions.change import INPUT, LABEL_MAP, inputs_of, readers_of
from holdfast.projects.adapting.field_change import FieldChange
from holdfast.projects.project_folder import written_path

_CHECKPOINT = "train_config.fine_tune_checkpoint"
_WHY = "The same file, seen from the folder of the new config."


def moved_paths(
    config: TrainEvalPipelineConfig, before: Path, after: Path
) -> Iterator[FieldChange]:
    """Change the relative paths that would lead elsewhere, or nowhere, from another folder."""
    for place, reader in readers_of(config):
        inputs = inputs_of(reader)
        moved = tuple(_moved(each, before, after, find_files) for each in inputs)
        if moved != inputs:
            yield FieldChange(path=f"{place}.{INPUT}", before=inputs, after=moved, why=_WHY)
        label_map = _moved(reader.label_map_path, before, after, find_files)
        if label_map != reader.label_map_path:
            yield FieldChange(
                path=f"{place}.{LABEL_MAP}", before=reader.label_map_path, after=label_map, why=_WHY
            )
    checkpoint = config.train_config.fine_tune_checkpoint if config.train_config else ""
    moved_checkpoint = _moved(checkpoint, before, after, find_checkpoint)
    if moved_checkpoint != checkpoint:
        yield FieldChange(path=_CHECKPOINT, before=checkpoint, after=moved_checkpoint, why=_WHY)


def _moved(text: str, before: Path, after: Path, look: Callable[[str, Path], Found]) -> str:
    if not text or is_remote(text) or os.path.isabs(text):
        return text
    found = look(text, before).files
    if not found or look(text, after).files == found:
        return text
    # Relative, so that both folders can be moved together.
    place = os.path.relpath(os.path.join(before, text))
    return written_path(place, after, look)
