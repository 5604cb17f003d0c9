"""Whether a trial fits into memory, asked before it starts; the answer is kept for others like it.

Trials that differ only in their learning rate need the same memory: one plan serves all of them,
and their trainings follow it.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.config.schema.optimizer import Optimizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.encode import encode
from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.tuning.trial_process import error_of, run_quietly
from holdfast.units import bytes_text

_FITS, _DOES_NOT_FIT = 0, 1  # exit codes of `holdfast plan`


@dataclass(frozen=True, kw_only=True)
class TrialMemory:
    """A plan that fits, or why there is none."""

    plan: Path
    too_large: str  # "": it fits


def trial_memory(
    config: TrainEvalPipelineConfig, arguments: Sequence[str], folder: Path
) -> TrialMemory:
    """Plan the trial of a config.

    arguments: the config's file, and the options by which `holdfast plan` knows the trial. folder:
    where plans are kept. HoldfastError if it cannot be planned.
    """
    path = folder / f"{_key(config, arguments)}.json"
    if not path.exists():
        done = run_quietly(["plan", *arguments, "--json", "--no-table"])
        if done.returncode not in (_FITS, _DOES_NOT_FIT) or not done.stdout:
            raise HoldfastError(f"It cannot be planned: {error_of(done.stderr)}")
        write_text(path, done.stdout)
    plan = json.loads(path.read_text(encoding="utf-8"))
    needed = plan["base_bytes"] + plan["predicted_peak_bytes"]
    text = (
        f"It needs {bytes_text(needed)} of memory in the cheapest way, and there are "
        f"{bytes_text(plan['limit_bytes'])}."
    )
    return TrialMemory(plan=path, too_large="" if plan["fits"] else text)


def _key(config: TrainEvalPipelineConfig, arguments: Sequence[str]) -> str:
    """Name what decides about memory: all but the learning rate, and the machine."""
    others = [each for each in arguments[1:] if "=" not in each and each != "--set"]
    text = "\n".join([encode(_without_rate(config)), *others, platform.node()])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _without_rate(config: TrainEvalPipelineConfig) -> TrainEvalPipelineConfig:
    train = config.train_config
    optimizer = train.optimizer if train is not None else None
    name = (optimizer or Optimizer()).which("optimizer")
    if train is None or optimizer is None or name is None:
        return config
    bare = getattr(optimizer, name).without("learning_rate")
    return config.replace(
        train_config=train.replace(optimizer=optimizer.replace(**{name: bare})),
    )
