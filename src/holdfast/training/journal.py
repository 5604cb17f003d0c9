"""What a training writes: the run folder, its events, its checkpoints, TensorBoard's files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.checkpoints import saved
from holdfast.checkpoints.saved import Checkpoint
from holdfast.checkpoints.store import CheckpointStore
from holdfast.config.encode import encode, to_json
from holdfast.config.schema.pipeline import TrainEvalPipelineConfig
from holdfast.errors import HoldfastError
from holdfast.evaluation.result import EvaluationResult
from holdfast.files import write_text
from holdfast.memory.gpu import peak_above
from holdfast.memory.host import resident_bytes
from holdfast.memory.leak_watch import Growth
from holdfast.memory.plan import MemoryPlan
from holdfast.pictures import Pixels
from holdfast.runs.difference import differences
from holdfast.runs.manifest import Manifest
from holdfast.runs.run import CONFIG_FOLDER, Run, is_run
from holdfast.training.distribution import is_chief
from holdfast.training.reporter import Progress, Recovered
from holdfast.training.session import Session
from holdfast.training.settings import TrainingSettings
from holdfast.training.state import restore_state, state_of
from holdfast.training.step import StepResult

_PACKAGES = ("holdfast", "tensorflow", "keras", "numpy")


@contextmanager
def open_journal(
    config: TrainEvalPipelineConfig, path: Path, settings: TrainingSettings, folder: Path
) -> Iterator[Journal]:
    """Begin a run, or go on with it; only one process of a training writes.

    folder: where the config lies, which those who evaluate the run must know.
    """
    if not is_chief():
        yield Journal(path, None, settings)
        return
    manifest = Manifest(
        config=to_json(config),
        seed=settings.seed,
        versions={name: version(name) for name in _PACKAGES},
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        facts={
            "class_weights": settings.class_weights,
            CONFIG_FOLDER: os.path.relpath(folder, path),  # true when both are moved together
        },
    )
    with _open_run(path, manifest, encode(config)) as run:
        yield Journal(path, run, settings)


def _open_run(path: Path, manifest: Manifest, config_text: str) -> Run:
    if not is_run(path):
        return Run.create(path, manifest, config_text)
    run = Run.resume(path)
    changes = [
        *run.differences(manifest.config),
        *differences(_choices(run.manifest), _choices(manifest)),
    ]
    if changes and saved.step_folders(run.checkpoints):
        run.close()
        raise HoldfastError(
            f"The run {path} was begun with another config:\n  " + "\n  ".join(changes),
            fix=f"Train with {run.config_path}, or give the changed config another --run.",
        )
    if changes:  # nothing is trained yet: the first try failed, and its cause was mended
        write_text(run.config_path, config_text)
        run.update(config=manifest.config, seed=manifest.seed, facts=manifest.facts)
    return run


def _choices(manifest: Manifest) -> Mapping[str, Any]:
    """Give what was decided outside of the config and changes what is learnt."""
    return {"seed": manifest.seed, "class_weights": manifest.facts.get("class_weights")}


class Journal:
    """Writes down what happens; a process that is not the first of several writes nothing."""

    def __init__(self, folder: Path, run: Run | None, settings: TrainingSettings) -> None:
        self.folder = folder
        self.run = run
        self.settings = settings
        self.metrics: dict[str, float] = {}
        self._saved: Checkpoint | None = None
        self._store: CheckpointStore | None = None
        self._board: Any = None
        if run is not None:
            self._store = CheckpointStore(run.checkpoints, keep=settings.keep)
            self._board = tf.summary.create_file_writer(str(run.tensorboard))

    @property
    def best_metric(self) -> float | None:
        """The metric of the best checkpoint so far."""
        best = self._store.best() if self._store is not None else None
        return best.metric if best is not None else None

    @property
    def saved_step(self) -> int | None:
        """The step of the last checkpoint; None before the first."""
        return self._saved.step if self._saved is not None else None

    def recall(self, key: str) -> Any:
        """Give a fact that was noted in the manifest of the run, also by an earlier process."""
        return self.run.manifest.facts.get(key) if self.run is not None else None

    def remember(self, key: str, value: Any) -> None:
        """Note a fact in the manifest, where it outlives the process."""
        if self.run is not None:
            self.run.update(facts={**self.run.manifest.facts, key: value})

    def restore(self, session: Session) -> tuple[int, str]:
        """Give the step to go on with, and say where the weights come from."""
        checkpoints = self.folder / "checkpoints"
        restored = saved.restore_latest(checkpoints) if checkpoints.is_dir() else None
        if restored is None:
            if self.run is not None:
                self.run.events.truncate_after(0)
            return 0, session.start_weights()
        restore_state(session.step, restored)
        step = restored.checkpoint.step
        self._saved = restored.checkpoint
        if self.run is not None:
            self.run.events.truncate_after(step)
        return step, f"step {step} of this run"

    def stepped(
        self,
        session: Session,
        step: int,
        result: StepResult,
        *,
        step_seconds: float,
        input_seconds: float,
    ) -> Progress:
        """Note a step."""
        progress = Progress(
            step=step,
            losses={name: float(value) for name, value in result.losses.items()},
            learning_rate=float(result.learning_rate),
            gradient_norm=float(result.gradient_norm),
            step_seconds=step_seconds,
            input_seconds=input_seconds,
            resident_bytes=resident_bytes(),
        )
        if self.run is None:
            return progress
        groups = {}
        if step % self.settings.group_norms_every == 0:
            norms = np.asarray(result.group_norms).tolist()
            groups = {"group_norms": dict(zip(session.step.groups, norms, strict=True))}
        self.run.events.append(kind="step", **(vars(progress) | groups))
        self._draw(
            step,
            progress.losses
            | {
                "learning_rate": progress.learning_rate,
                "gradient_norm": progress.gradient_norm,
                "step_seconds": step_seconds,
                "input_seconds": input_seconds,
                "images_per_second": session.train_config.batch_size
                / (step_seconds + input_seconds),
                "memory/resident_bytes": progress.resident_bytes,
            },
        )
        return progress

    def recovered(self, recovery: Recovered) -> None:
        """Note that memory ran out, and how the training goes on."""
        if self.run is not None:
            self.run.events.append(
                recovery.step,
                "recovered",
                before=asdict(recovery.before),
                after=asdict(recovery.after),
                reason=recovery.reason,
                repeated=recovery.repeated,
            )

    def grown(self, growth: Growth) -> None:
        """Note that memory grows and does not stop."""
        if self.run is not None:
            values = {**asdict(growth), "cause": growth.cause._asdict()}
            self.run.events.append(kind="growth", **values)

    def noted(self, step: int, text: str) -> None:
        """Note something worth a line."""
        if self.run is not None:
            self.run.events.append(step, "note", text=text)

    def planned(self, plan: MemoryPlan) -> None:
        """Note the plan that is followed."""
        if self.run is not None:
            document = plan.document()
            self.run.update(plan=document, predicted_peak_bytes=plan.predicted_peak_bytes)

    def save(self, session: Session, step: int) -> Path | None:
        """Write a checkpoint."""
        if self._store is None:
            return None
        state = state_of(session.step)
        self._saved = self._store.save(step, state, {"seed": self.settings.seed})
        return self._saved.path

    def evaluated(
        self,
        step: int,
        result: EvaluationResult,
        metric: float | None,
        pictures: Mapping[str, Pixels],
    ) -> None:
        """Note an evaluation; the checkpoint of the same step is judged by it."""
        self.metrics = dict(result.metrics)
        if self.run is None or self._store is None:
            return
        document = result.document()
        self.run.events.append(step, "evaluation", **document)
        self._draw(step, {f"evaluation/{name}": value for name, value in self.metrics.items()})
        with self._board.as_default():
            for name, picture in pictures.items():
                tf.summary.image(name, picture[None], step)
        if metric is not None and self._saved is not None and self._saved.step == step:
            self._saved = self._store.rate(self._saved, metric)

    def finish(self, base_bytes: int) -> int:
        """Close what is open; give the most memory that the process held above its base."""
        peak = peak_above(base_bytes)
        if self.run is not None:
            self.run.update(measured_peak_bytes=peak)
        if self._board is not None:
            self._board.close()
        return peak

    def _draw(self, step: int, values: dict[str, float]) -> None:
        with self._board.as_default():
            for name, value in values.items():
                tf.summary.scalar(name, value, step)
