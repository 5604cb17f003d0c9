"""Where a training begins a run folder, or resumes one: what must not have changed meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.encode import encode, to_json
from holdfast.errors import HoldfastError
from holdfast.files import write_text
from holdfast.runs.difference import differences
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import CONFIG_FOLDER, PART_CHOICES, Run, is_run
from holdfast.training.cluster import is_chief
from holdfast.training.journal import Journal
from holdfast.training.optimization_choice import OptimizationChoice
from holdfast.training.surviving.out_of_memory import is_out_of_memory
from holdfast.training.teaching.teacher_choice import find_teacher
from holdfast.training.training_settings import TrainingSettings
from holdfast.training.uploads import Uploads

OPTIMIZATION = "optimization"  # among the facts
TEACHER = "teacher"  # among the facts
_PACKAGES = ("holdfast", "tensorflow", "keras", "numpy")


@contextmanager
def open_journal(
    config: TrainEvalPipelineConfig,
    path: Path,
    settings: TrainingSettings,
    folder: Path,
    uploads: Uploads | None = None,
) -> Iterator[Journal]:
    """Begin a run, or go on with it; only one process of a training writes.

    A new run whose first step was never begun, because of an error, does not stay. folder: where
    the config lies, which those who evaluate the run must know. uploads: where else it is kept.
    """
    if not is_chief():
        yield Journal(path, None, settings)
        return
    manifest = RunManifest(
        config=to_json(config),
        seed=settings.seed,
        versions={name: version(name) for name in _PACKAGES},
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        facts={
            "class_weights": settings.class_weights,
            OPTIMIZATION: settings.optimization.facts(),
            **({TEACHER: find_teacher(settings.teacher).facts()} if settings.teacher else {}),
            PART_CHOICES: [str(each) for each in config.parts],
            CONFIG_FOLDER: os.path.relpath(folder, path),  # true when both are moved together
        },
    )
    is_new = not is_run(path)
    with _open_run(path, manifest, encode(config)) as run:
        journal = Journal(path, run, settings, uploads)
        try:
            yield journal
        except BaseException as error:
            # Where memory ran out, the run knows that a cheaper way is to be taken.
            if is_new and not journal.has_begun and not is_out_of_memory(error):
                run.discard()
            raise


def _open_run(path: Path, manifest: RunManifest, config_text: str) -> Run:
    if not is_run(path):
        return Run.create(path, manifest, config_text)
    run = Run.resume(path)
    changes = [
        *run.differences(manifest.config),
        *differences(_choices(run.manifest), _choices(manifest)),
    ]
    if changes and saved_checkpoints.step_folders(run.checkpoints):
        run.close()
        raise HoldfastError(
            f"The run {path} was begun with another config:\n  " + "\n  ".join(changes),
            fix=f"Train with {run.config_path}, or give the changed config another --run.",
        )
    if changes:  # nothing is trained yet: the first try failed, and its cause was mended
        write_text(run.config_path, config_text)
        run.update(config=manifest.config, seed=manifest.seed, facts=manifest.facts)
    return run


def _choices(manifest: RunManifest) -> Mapping[str, Any]:
    """Give what was decided outside of the config and changes what is learned."""
    return {
        "seed": manifest.seed,
        "class_weights": manifest.facts.get("class_weights"),
        **_optimization(manifest),
        "--teacher": _teacher(manifest),
        "--use": ", ".join(manifest.facts.get(PART_CHOICES) or ()),
    }


def _teacher(manifest: RunManifest) -> str | None:
    """Tell a teacher by its weights: it may have been moved."""
    known = manifest.facts.get(TEACHER)
    return None if known is None else f"{known['name']}, weights {known['sha256'][:12]}"


def _optimization(manifest: RunManifest) -> dict[str, Any]:
    """Give what was chosen instead of the config's optimizer, by the options' names."""
    known = manifest.facts.get(OPTIMIZATION) or {}
    names = (each.name for each in fields(OptimizationChoice))
    return {f"--{name.replace('_', '-')}": known.get(name) for name in names}
