"""Steps and evaluations that outlive an out-of-memory error: retried in a cheaper way."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.config.schema.eval import EvalConfig
from holdfast.memory.devices.host import resident_bytes
from holdfast.memory.plan import StepSettings
from holdfast.memory.search.ladder import settings_text
from holdfast.models.layers.batch_norm import trains_batch_norm
from holdfast.runs.trace_marks import STEP_MARK, WAITING_MARK
from holdfast.training.capsule.capsule_writer import CapsuleWriter
from holdfast.training.capsule.capture import local_batch
from holdfast.training.cluster import num_workers
from holdfast.training.journal import EVALUATING, Journal
from holdfast.training.peers.peers import COMPUTING
from holdfast.training.peers.present_peers import doing
from holdfast.training.reporter import Recovered, Reporter, TakenStep
from holdfast.training.session import Session
from holdfast.training.step.training_step import TOTAL, StepOutcome
from holdfast.training.surviving.failure import TrainingFailedError, wrong_number, wrong_step
from holdfast.training.surviving.memory_contract import MemoryContract
from holdfast.training.surviving.out_of_memory import (
    Snapshot,
    is_out_of_memory,
    reason_text,
    release,
)
from holdfast.training.surviving.store_wait import StoreWait
from holdfast.training.surviving.supervisor import RAN_OUT
from holdfast.training.training_settings import TrainingSettings
from holdfast.training.vitals.vitals_record import VitalsRecord, of_first_device
from holdfast.units import bytes_text, count_text

_FACT = "recovered"  # in the manifest
_NO_CHUNKS = {"region_chunks": 1}  # what runs that know of none were given
_EVALUATED_AT_ONCE = "evaluated_at_once"


def remembered(
    settings: TrainingSettings, journal: Journal, reporter: Reporter
) -> TrainingSettings:
    """Give the settings that the run ended with, if it recovered from the ones given now."""
    fact = journal.recall(_FACT)
    if num_workers() > 1 or fact is None or _NO_CHUNKS | fact["given"] != _given(settings):
        return settings
    after = _read(fact["after"])
    reporter.note(
        f"Memory ran out earlier in this run; continuing as it ended: {settings_text(after)}."
    )
    return replace(
        settings,
        accumulation=after.accumulation,
        rematerialize=after.rematerialize,
        region_chunks=after.region_chunks,
        plan=None,  # it was too large
    )


def descend(session: Session, journal: Journal, reporter: Reporter) -> None:
    """Take the next cheaper way if the process before this one died because memory ran out."""
    reason, evaluating = journal.recall(RAN_OUT), journal.recall(EVALUATING)
    session.evaluated_at_once = journal.recall(_EVALUATED_AT_ONCE)
    if reason is not None or evaluating is not None:
        journal.forget(RAN_OUT, EVALUATING)
    if reason is None:
        return
    if evaluating is not None:
        _evaluate_in_pieces(session, journal, reporter, evaluating["images_at_once"], reason)
    else:
        _compute_cheaper(session, journal, reporter, reason)


def _compute_cheaper(session: Session, journal: Journal, reporter: Reporter, reason: str) -> None:
    before = _followed(session, journal)
    after = next(iter(session.cheaper_settings(before)), None)
    if after is None:
        raise _cheapest_died(f"the batch is computed in the cheapest way: {reason}")
    session.switch(after)
    session.settings = replace(session.settings, plan=None)  # it was too large
    journal.remember(_FACT, {"given": _given(journal.settings), "after": asdict(after)})
    recovery = Recovered(
        step=journal.latest_step,
        before=before,
        after=after,
        reason=reason,
        trains_batch_norm=trains_batch_norm(session.detector),
    )
    journal.recovered(recovery)
    reporter.recovered(recovery)


def _evaluate_in_pieces(
    session: Session, journal: Journal, reporter: Reporter, before: int | None, reason: str
) -> None:
    config = session.config.eval_config or EvalConfig()
    after = (before or config.batch_size) // 2
    if not after:
        raise _cheapest_died(f"one image is evaluated at a time: {reason}")
    session.evaluated_at_once = after
    journal.remember(_EVALUATED_AT_ONCE, after)
    text = f"Memory ran out in an evaluation, which now takes {count_text(after, 'image')} at once."
    journal.noted(journal.latest_step, text)
    reporter.note(text)


def _cheapest_died(what: str) -> TrainingFailedError:
    return TrainingFailedError(
        f"Memory ran out though {what}.",
        fix="Give the process more memory, then start the same command again. With this memory "
        "take a smaller image_resizer or network, in a new run.",
    )


def _followed(session: Session, journal: Journal) -> StepSettings:
    """Give how steps were computed when the process died: as planned, or cheaper since."""
    present = session.step_settings
    planned = journal.plan.settings if journal.plan is not None else present
    known = [each for each in (planned, present) if each.batch_size == present.batch_size]
    return max(known, key=_cheapness)


class RecoveringSteps:
    """The steps of a training, one after the other."""

    def __init__(self, session: Session, journal: Journal, reporter: Reporter) -> None:
        self._session = session
        self._journal = journal
        self._reporter = reporter
        self._cheaper = iter(session.cheaper_settings())
        self._snapshot = Snapshot(session.step.side_state)
        self._too_large: list[StepSettings] = []  # for the memory there is
        self._updates = 0  # of the weights, before the step
        self._vitals = VitalsRecord(session, journal, reporter)
        self._capsules = CapsuleWriter(session, journal, reporter)
        self._contract = MemoryContract(session, journal, reporter)
        self.store_wait = StoreWait(journal, reporter)
        self.batches: Iterator[Any] | None = None  # None: to be opened at the next step
        self.shapes: dict[str, tuple[int, ...]] = {}  # of the last batch, by field
        self._batch: Any = None  # of the step under way

    def take(self, step: int) -> TakenStep:
        """Take the step with this number, from 0; if its weights tore, the last saved one's next.

        Nothing is skipped and nothing counted twice, whatever happens on the way.
        """
        while True:
            started = time.perf_counter()
            self._note_state()
            with tf.profiler.experimental.Trace(STEP_MARK, step_num=step + 1, _r=1):
                doing(f"reads the batch of step {step + 1}")
                reason = self._fetch(step)
                ready = time.perf_counter()
                self._capsules.arm(step + 1)
                doing(f"{COMPUTING} {step + 1}")
                result = self._run(step) if reason is None else reason
                # A GPU is still at work until something of the result is read.
                is_odd = isinstance(result, StepOutcome) and self._is_odd(result)
            if is_odd and isinstance(result, StepOutcome):
                result = self._look_into(step, result)
            if isinstance(result, StepOutcome):
                return self._done(step, result, ready - started, time.perf_counter() - ready)
            step = self._recover(step, result)

    def _note_state(self) -> None:
        self._updates = int(self._session.step.optimizer.updates.read_value())
        self._snapshot.take()
        self._contract.begin()

    def _fetch(self, step: int) -> str | None:
        """Get the batch of a step; say why memory did not suffice for it."""
        if self._batch is not None:
            return None
        while self._batch is None:
            try:
                if self.batches is None:
                    self.batches = self._session.batches(step)
                with tf.profiler.experimental.Trace(WAITING_MARK):
                    self._batch = next(self.batches)
            except Exception as error:
                if is_out_of_memory(error):
                    return reason_text(error)
                if not self.store_wait.wait(step, error):
                    raise
                self.batches = None
        self.store_wait.back()
        return None

    def _run(self, step: int) -> StepOutcome | str:
        """Give the result, or say why memory did not suffice; then the error is gone."""
        number = tf.constant(step, tf.int64)
        try:
            result: StepOutcome = self._session.step.run(self._batch, number)
            return result
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return reason_text(error)

    def _is_odd(self, result: StepOutcome) -> bool:
        """Tell whether a step did not move the weights, so that all of it can be kept."""
        skips = self._session.step.loss_scale is not None
        return bool(result.is_held) or wrong_number(result, skips) is not None

    def _look_into(self, step: int, result: StepOutcome) -> StepOutcome | str:
        """Keep the step as it was before it, then take it; a wrong number ends the training."""
        self._snapshot.put_back()
        capsule = self._capsules.held(step + 1, self._batch, result)
        skips = self._session.step.loss_scale is not None
        if what := wrong_number(result, skips):
            ids = np.ravel(local_batch(self._batch).source_ids)
            images = [name.decode(errors="replace") for name in ids]
            raise wrong_step(step + 1, what, images, capsule)
        self._capsules.disarm()
        self._contract.begin()  # what the capsule took is not the step's
        return self._run(step)

    def _done(
        self, step: int, result: StepOutcome, input_seconds: float, step_seconds: float
    ) -> TakenStep:
        """Note the step."""
        batch, self._batch = self._batch, None
        self.shapes = _shapes(batch)
        taken = self._journal.stepped(
            self._session,
            step + 1,
            result,
            step_seconds=step_seconds,
            input_seconds=input_seconds,
            peak_bytes=self._contract.stepped(step + 1, of_first_device(batch)),
        )
        self._capsules.stepped(taken.losses[TOTAL])
        self._vitals.stepped(taken, batch, result)
        return taken

    def _recover(self, step: int, reason: str) -> int:
        """Go back before the step and on to cheaper settings; give the step to go on with."""
        session, before = self._session, self._session.step_settings
        is_torn = int(session.step.optimizer.updates.read_value()) != self._updates
        if not is_torn:
            self._snapshot.put_back()
        self._too_large.append(before)
        after = next(self._cheaper, None)
        if after is None:
            raise self._nothing_left(step, reason, is_torn)
        self._journal.remember(
            _FACT, {"given": _given(self._journal.settings), "after": asdict(after)}
        )
        if num_workers() > 1:
            raise _one_of_several(step, reason, after)
        if is_torn and self._journal.saved_step is None:
            raise _torn_before_first_save(step, reason, after)
        session.switch(after)
        release()
        if not is_torn:
            self._capsules.ran_out(step + 1, self._batch, reason)
        goes_on = self._journal.restore(session)[0] if is_torn else step
        if is_torn or self._batch is None:
            self._batch = self.batches = None
        recovery = Recovered(
            step=goes_on,
            before=before,
            after=after,
            reason=reason,
            trains_batch_norm=trains_batch_norm(session.detector),
            repeated=step - goes_on,
        )
        self._journal.recovered(recovery)
        self._reporter.recovered(recovery)
        return goes_on

    def _nothing_left(self, step: int, reason: str, is_torn: bool) -> TrainingFailedError:
        """Save what was learned, and say what could be done."""
        session, journal = self._session, self._journal
        # Without a step done since the last checkpoint there is nothing to save; and while there is
        # no checkpoint at all, the config of the run can still be changed.
        self._batch = None
        release()
        if not is_torn and step > (journal.saved_step or 0) and num_workers() <= 1:
            journal.save(session, step)
        kept = journal.saved_step
        rows = "".join(f"\n  {settings_text(each)}" for each in self._too_large)
        return TrainingFailedError(
            f"Out of memory at step {step}, though the batch is computed in the cheapest way. What "
            f"was too large:{rows}\nThe process holds {bytes_text(resident_bytes())}. The runtime "
            f"says: {reason}",
            fix=f"With more memory the same command resumes after step {kept}. With this memory "
            "take a smaller image_resizer or network, in a new run."
            if kept is not None
            else "Give the process more memory, or take a smaller image_resizer or network.",
        )


def _shapes(batch: Any) -> dict[str, tuple[int, ...]]:
    """Give the shapes of a batch, or of the part that the first replica has of it."""
    fields = {**batch._asdict(), **batch.truth._asdict()}
    firsts = {name: getattr(value, "values", [value])[0] for name, value in fields.items()}
    return {
        name: tuple(value.shape)
        for name, value in firsts.items()
        if name != "truth" and value is not None
    }


def _one_of_several(step: int, reason: str, after: StepSettings) -> TrainingFailedError:
    return TrainingFailedError(
        f"Out of memory at step {step} in one of {num_workers()} processes, which cannot take the "
        f"step again alone. The runtime says: {reason}",
        fix=f"Start all of them again with --accumulate {after.accumulation} --rematerialize: they "
        "resume after the last checkpoint.",
    )


def _torn_before_first_save(step: int, reason: str, after: StepSettings) -> TrainingFailedError:
    return TrainingFailedError(
        f"Out of memory at step {step} while weights were being moved, and no checkpoint is there "
        f"to go back to. The runtime says: {reason}",
        fix="Start the same command again: it starts over, in a cheaper way "
        f"({settings_text(after)}).",
    )


def _read(fact: Mapping[str, Any]) -> StepSettings:
    return StepSettings(**{**fact, "rematerialize": tuple(fact["rematerialize"])})


def _given(settings: TrainingSettings) -> dict[str, Any]:
    return {
        "accumulation": settings.accumulation,
        "rematerialize": list(settings.rematerialize),
        "region_chunks": settings.region_chunks,
    }


def _cheapness(settings: StepSettings) -> tuple[int, int, int]:
    return settings.accumulation, settings.region_chunks, len(settings.rematerialize)
