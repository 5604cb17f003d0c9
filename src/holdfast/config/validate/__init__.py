"""Judge a config that reads well: what would fail, and what would not do what it seems to say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from holdfast.config.part_choices import choice_problems
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.center_net_fields import check_center_net
from holdfast.config.validate.learned_shapes import check_shapes
from holdfast.config.validate.learning_rate import check_schedule
from holdfast.config.validate.network_fields import check_family, check_network
from holdfast.config.validate.quantization_fields import check_quantization
from holdfast.config.validate.readers import check_files
from holdfast.config.validate.region_networks import check_region_networks
from holdfast.config.validate.region_stages import check_region_stages
from holdfast.config.validate.required import check_required
from holdfast.config.validate.single_stage import check_single_stage
from holdfast.config.validate.unsupported import check_obedience
from holdfast.config.validate.value_ranges import check_settings
from holdfast.errors import Problem


def validate(config: TrainEvalPipelineConfig, folder: Path) -> Iterator[Problem]:
    """Yield errors and warnings; `folder` is the config's, for relative paths."""
    yield from check_required(config)
    yield from check_family(config)
    yield from check_network(config)
    yield from check_single_stage(config)
    yield from check_region_networks(config)
    yield from check_region_stages(config)
    yield from check_center_net(config, folder)
    yield from check_schedule(config)
    yield from check_settings(config)
    yield from check_quantization(config)
    yield from check_obedience(config)
    yield from check_shapes(config)
    yield from check_files(config, folder)
    yield from choice_problems(config.parts)
