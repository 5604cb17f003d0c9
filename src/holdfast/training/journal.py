"""What a training writes: the run folder, its events, its checkpoints, TensorBoard's files."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.checkpoints.own import saved_checkpoints
from holdfast.checkpoints.own.saved_checkpoints import Checkpoint, Restored
from holdfast.checkpoints.own.store import CheckpointStore
from holdfast.errors import HoldfastError
from holdfast.evaluation.result import EvaluationResult
from holdfast.memory.devices.gpu import peak_above
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.plan import MemoryPlan, read_plan
from holdfast.memory.watch.contract import Surplus
from holdfast.memory.watch.leak_watch import Growth
from holdfast.pictures import Pixels
from holdfast.runs.run import CHECKPOINTS_NAME, Run, is_run
from holdfast.training.board import Board
from holdfast.training.early_stopping import judged_metric
from holdfast.training.evaluation_pictures import save_pictures, step_name
from holdfast.training.peers.present_peers import doing
from holdfast.training.reporter import Recovered, TakenStep
from holdfast.training.session import Session
from holdfast.training.step.state import restore_state, state_of
from holdfast.training.step.training_step import StepOutcome
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.supervisor import SAVED
from holdfast.training.training_settings import TrainingSettings
from holdfast.training.uploads import UPLOAD_FAILED, Uploads

EVALUATING = "evaluating"  # among the facts, while an evaluation is under way


class Journal:
    """Writes down what happens; a process that is not the first of several writes nothing."""

    def __init__(
        self,
        folder: Path,
        run: Run | None,
        settings: TrainingSettings,
        uploads: Uploads | None = None,
    ) -> None:
        self.folder = folder
        self.run = run
        self.settings = settings
        self.has_begun = False  # the first step: from then on there is something to keep
        self.metrics: dict[str, float] = {}
        self.plan_now: MemoryPlan | None = None  # that this process follows
        self._saved: Checkpoint | None = None
        self._store: CheckpointStore | None = None
        self._board = Board(run.tensorboard if run is not None else None)
        self._uploads = uploads
        if run is not None:
            self._store = CheckpointStore(run.checkpoints, keep=settings.keep)

    def begin(self, step: int) -> None:
        """Note that the first step comes now: from here on there is something to keep."""
        self.has_begun = True
        self._upload(step)

    def earlier_metrics(self, first: int = 0) -> list[Mapping[str, float | None]]:
        """List the metrics of the evaluations since a step, also of earlier processes."""
        if self.run is None:
            return []
        events = (each for each in self.run.read_events() if each.kind == "evaluation")
        return [each.values["metrics"] for each in events if each.step >= first]

    def last_metrics(self) -> dict[str, float]:
        """Give the metrics of the last evaluation, also of an earlier process; {} without one."""
        earlier = next(reversed(self.earlier_metrics()), {})
        read = {name: math.nan if each is None else each for name, each in earlier.items()}
        return self.metrics or read

    def has_evaluated(self, step: int) -> bool:
        """Tell whether the weights of a step were evaluated, also by an earlier process."""
        events = self.run.read_events() if self.run is not None else ()
        return any(event.kind == "evaluation" and event.step == step for event in events)

    @property
    def saved_step(self) -> int | None:
        """The step of the last checkpoint; None before the first."""
        return self._saved.step if self._saved is not None else None

    def must_exist(self) -> None:
        """Raise if the run's folder was deleted or moved: all that is written would be lost."""
        if self.run is not None and not is_run(self.run.path):
            raise TrainingFailedError(
                f"The folder {self.run.path} was deleted or moved while it was being trained in: "
                "nothing can be saved there any more, so the training stopped.",
                fix="Move it back to resume from its last checkpoint; otherwise the same "
                "command starts over.",
            )

    def recall(self, key: str) -> Any:
        """Give a fact that was noted in the manifest of the run, also by an earlier process."""
        return self.run.manifest.facts.get(key) if self.run is not None else None

    def remember(self, key: str, value: Any) -> None:
        """Note a fact in the manifest, where it outlives the process."""
        self.must_exist()
        if self.run is not None:
            self.run.update(facts={**self.run.manifest.facts, key: value})

    def forget(self, *keys: str) -> None:
        """Remove facts from the manifest."""
        self.must_exist()
        if self.run is not None:
            known = self.run.manifest.facts
            self.run.update(facts={key: known[key] for key in known if key not in keys})

    @contextmanager
    def evaluating(self, images_at_once: int | None) -> Iterator[None]:
        """Note that an evaluation is under way: a kill in here leaves the fact in the manifest."""
        self.remember(EVALUATING, {"images_at_once": images_at_once})
        yield
        self.forget(EVALUATING)

    @property
    def plan(self) -> MemoryPlan | None:
        """The plan that the run followed last, also in an earlier process."""
        document = self.run.manifest.plan if self.run is not None else None
        return None if document is None else read_plan(document)

    @property
    def latest_step(self) -> int:
        """The step of the last checkpoint that is there, before it is restored; 0 without one."""
        latest = self._store.latest() if self._store is not None else None
        return latest.step if latest is not None else 0

    def restore(self, session: Session) -> tuple[int, str]:
        """Give the step to go on with, and say where the weights come from."""
        restored = self._latest()
        if restored is None:
            if self.run is not None:
                self.run.events.truncate_after(0)
            origin = session.start_weights()
            self.noted(0, f"Starts from {origin}.")
            return 0, origin
        restore_state(session.step, restored)
        step = restored.checkpoint.step
        self._saved = restored.checkpoint
        if self.run is not None:
            self.run.events.truncate_after(step)
        return step, f"step {step} of this run"

    def _latest(self) -> Restored | None:
        if self._store is not None:
            return self._store.restore_latest()
        checkpoints = self.folder / CHECKPOINTS_NAME  # of the first process, which may clean up
        return saved_checkpoints.restore_latest(checkpoints) if checkpoints.is_dir() else None

    def stepped(
        self,
        session: Session,
        step: int,
        result: StepOutcome,
        *,
        step_seconds: float,
        input_seconds: float,
        peak_bytes: int | None = None,
    ) -> TakenStep:
        """Note a step; peak_bytes: what it held at most, above the base."""
        self.must_exist()
        progress = TakenStep(
            step=step,
            losses={name: float(value) for name, value in result.losses.items()},
            learning_rate=float(result.learning_rate),
            gradient_norm=float(result.gradient_norm),
            step_seconds=step_seconds,
            input_seconds=input_seconds,
            resident_bytes=resident_bytes(),
            peak_bytes=peak_bytes,
            measures={name: float(value) for name, value in result.measures.items()},
        )
        groups = {}
        if step % self.settings.group_norms_every == 0:
            norms = np.asarray(result.group_norms).tolist()
            groups = {"group_norms": dict(zip(session.step.groups, norms, strict=True))}
        known = {name: value for name, value in vars(progress).items() if name != "measures"}
        self.record(kind="step", **{**known, **progress.measures, **groups})
        self._board.draw(
            step,
            {
                **progress.losses,
                "learning_rate": progress.learning_rate,
                "gradient_norm": progress.gradient_norm,
                "step_seconds": step_seconds,
                "input_seconds": input_seconds,
                "images_per_second": session.train_config.batch_size
                / (step_seconds + input_seconds),
                "memory/resident_bytes": progress.resident_bytes,
                **progress.measures,
            },
        )
        return progress

    def recovered(self, recovery: Recovered) -> None:
        """Note that memory ran out, and how the training goes on."""
        self.record(
            recovery.step,
            "recovered",
            before=asdict(recovery.before),
            after=asdict(recovery.after),
            reason=recovery.reason,
            repeated=recovery.repeated,
        )

    def grown(self, growth: Growth) -> None:
        """Note that memory grows and does not stop."""
        self.record(kind="growth", **{**asdict(growth), "cause": growth.cause._asdict()})

    def exceeded(self, surplus: Surplus) -> None:
        """Note that a step held more than was planned."""
        values = {**asdict(surplus), "surplus_bytes": surplus.surplus_bytes}
        self.record(kind="surplus", **values)

    def noted(self, step: int, text: str) -> None:
        """Note something worth a line."""
        self.record(step, "note", text=text)

    def record(self, step: int, kind: str, **values: Any) -> None:
        """Note what happened at a step: an event of a kind."""
        if self.run is not None:
            self.run.events.append(step, kind, **values)

    def planned(self, plan: MemoryPlan) -> None:
        """Note the plan that is followed."""
        self.must_exist()
        self.plan_now = plan
        if self.run is not None:
            document = plan.document()
            self.run.update(plan=document, predicted_peak_bytes=plan.predicted_peak_bytes)

    def save(self, session: Session, step: int) -> Path | None:
        """Write a checkpoint."""
        if self._store is None:
            return None
        doing(f"saves the checkpoint of step {step}")
        state = state_of(session.step)
        try:
            self._saved = self._store.save(step, state, {"seed": self.settings.seed})
        except HoldfastError:
            self.must_exist()
            raise
        if self.run is not None:
            self.run.events.append(step, SAVED)
            self.run.events.sync()  # mounts of a store keep nothing before
        for name, fact in session.step.facts().items():
            self.remember(name, {"step": step, **fact})
        self._upload(step)
        return self._saved.path

    def evaluated(
        self,
        step: int,
        result: EvaluationResult,
        pictures: Mapping[str, Pixels],
        *,
        counts: bool = True,
    ) -> None:
        """Note an evaluation; if it counts, the checkpoint of the same step is judged by it."""
        self.must_exist()
        self.metrics = dict(result.metrics)
        if self.run is None or self._store is None:
            return
        document = result.document()
        self.run.events.append(step, "evaluation", **document)
        self._board.draw(
            step, {f"evaluation/{name}": value for name, value in self.metrics.items()}
        )
        self._board.show(step, pictures)
        steps = [each.step for each in saved_checkpoints.checkpoints_in(self.run.checkpoints)]
        save_pictures(self.run.pictures / step_name(step), pictures, steps)
        metric = judged_metric(self.metrics) if counts else None
        if metric is not None and self._saved is not None and self._saved.step == step:
            self._saved = self._store.rate(self._saved, metric)
        self._upload(step)

    def finish(self, base_bytes: int) -> int:
        """Close what is open; give the most memory that the process held above its base."""
        self.must_exist()
        peak = peak_above(base_bytes)
        if self.run is not None:
            self.run.update(measured_peak_bytes=peak)
        self._board.close()
        if self._uploads is not None:
            self._uploads.finish()
        return peak

    def _upload(self, step: int) -> None:
        """Bring the run to its place in the store, if it has one; what fails there is an event."""
        run = self.run
        if run is not None and self._uploads is not None:
            self._board.flush()
            self._uploads.push(lambda why: run.events.append(step, UPLOAD_FAILED, why=why))
