"""Which trained detector a user means: the config, and the checkpoint that fills it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.config.load import load_config
from holdfast.config.paths import expand
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.runs.fetched_run import local_folder
from holdfast.runs.run import Run, is_run


class TrainedModel(NamedTuple):
    """A config with a checkpoint of it."""

    config: TrainEvalPipelineConfig
    folder: Path  # from where relative paths in the config lead
    checkpoint: str
    description: str  # which one of a run it is; "" where the user named it


def choose_trained(
    target: Path,
    checkpoint: str | None = None,
    *,
    latest: bool = False,
    overrides: Mapping[str, str] | None = None,
    use: Sequence[str] | None = None,
) -> TrainedModel:
    """Find the config and the checkpoint of a run, or of a config whose checkpoint is named.

    Args:
        target: Folder of a run, or a pipeline.config.
        checkpoint: Prefix or folder. Default: the best one of the run.
        latest: Take the last checkpoint of the run, not the best.
        overrides: Fields of the config to be set.
        use: Parts of a user's own, as --use takes them. Default: those of the run.
    """
    target = local_folder(target)
    if target.is_dir() or is_run(target):
        run = Run.open(target)
        path, what = _of_run(run, latest) if checkpoint is None else (expand(checkpoint), "")
        own = run.part_choices if use is None else use
        config = load_config(run.config_path, dict(overrides or {}), own)
        return TrainedModel(config, run.config_folder, path, what)
    config = load_config(target, dict(overrides or {}), use or ())
    if checkpoint is None or latest:
        raise HoldfastError(
            f"{target} is a config: without a checkpoint there are no weights.",
            fix="Give --checkpoint PREFIX, or the folder of a run instead of the config.",
        )
    return TrainedModel(config, target.parent, expand(checkpoint), "")


def _of_run(run: Run, latest: bool) -> tuple[str, str]:
    """Choose a checkpoint of a run, and say why."""
    found = saved_checkpoints.checkpoints_in(run.checkpoints)
    if not found:
        raise HoldfastError(
            f"The run {run.path} has no checkpoint yet.",
            fix="Train until the first one is saved (--checkpoint-every says when).",
        )
    best = None if latest else saved_checkpoints.best_of(found)
    chosen = best or found[-1]
    which = "the best" if best else "the last" if latest else "the last; none was evaluated"
    return str(chosen.path), f"step {chosen.step}, {which} of {run.path}"
