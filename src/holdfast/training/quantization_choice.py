"""What `--quantize` makes of a config: it asks for quantization-aware training, in its own words.

So the run's config has it, and whatever opens the run - a resumed training, an evaluation, an
export - builds the same network.
"""

from __future__ import annotations

from pathlib import Path

from holdfast.config.facts.quantization import asked_quantization
from holdfast.config.load import load_config
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.runs.run import Run, is_run

_DELAY = "graph_rewriter.quantization.delay"


def quantization_overrides(
    config: TrainEvalPipelineConfig, run: Path, steps: int | None
) -> dict[str, str]:
    """Give the fields to set; none where the config asks for quantization by itself.

    Half of the steps observe ranges. A run that exists keeps its own delay, however many steps
    are wanted now.
    """
    if asked_quantization(config) is not None:
        return {}
    if is_run(run):
        opened = Run.open(run)
        kept = asked_quantization(load_config(opened.config_path, {}, opened.part_choices))
        if kept is not None:
            return {_DELAY: str(kept.delay)}
    wanted = steps or (config.train_config.num_steps if config.train_config is not None else 0)
    return {_DELAY: str(wanted // 2)}
