"""Judge a config that reads well: what would fail, and what would not do what it seems to say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.config.validate.network import check_network
from holdfast.config.validate.obedience import check_obedience
from holdfast.config.validate.readers import check_files
from holdfast.config.validate.required import check_required
from holdfast.config.validate.schedule import check_schedule
from holdfast.config.validate.settings import check_settings
from holdfast.errors import Problem


def validate(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Problem]:
    """Yield errors and warnings; `folder` is the config's, for relative paths."""
    yield from check_required(config)
    yield from check_network(config)
    yield from check_schedule(config)
    yield from check_settings(config)
    yield from check_obedience(config)
    yield from check_files(config, folder)
