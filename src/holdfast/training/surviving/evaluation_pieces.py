"""An evaluation that computes its batches in ever smaller pieces when memory runs out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from holdfast.data.input.evaluation_input import EvaluationBatch
from holdfast.evaluation.evaluation_step import EvaluatedBatch
from holdfast.memory.devices.host import resident_bytes
from holdfast.training.surviving.failure import TrainingFailedError
from holdfast.training.surviving.out_of_memory import is_out_of_memory, reason_text, release
from holdfast.units import bytes_text


class EvaluationInPieces:
    """An evaluation step: each image is evaluated once, whatever the size of the pieces.

    tell hears of every halving. A size that was too large is not tried again.
    """

    def __init__(
        self,
        step: Callable[[EvaluationBatch], EvaluatedBatch],
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.tell = tell
        self.images_at_once: int | None = None  # None: whole batches
        self._step = step

    def __call__(self, batch: EvaluationBatch) -> EvaluatedBatch:
        """Give the detections of a batch, and its losses."""
        total = int(batch.images.shape[0])
        results: list[EvaluatedBatch] = []
        weights: list[int] = []  # real images
        done = 0
        while done < total:
            size = min(self.images_at_once or total, total - done)
            piece = _slice(batch, done, done + size) if size < total else batch
            result = self._attempt(piece)
            if isinstance(result, str):
                self._halve(size, result)
                continue
            results.append(result)
            weights.append(int(np.count_nonzero(piece.is_real)))
            done += size
        return results[0] if len(results) == 1 else _joined(results, weights)

    def _attempt(self, piece: EvaluationBatch) -> EvaluatedBatch | str:
        """Give the result, or say why memory did not suffice; then the error is gone."""
        try:
            return self._step(piece)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return reason_text(error)

    def _halve(self, size: int, reason: str) -> None:
        if size == 1:
            raise TrainingFailedError(
                "Out of memory while one image was evaluated. The process holds "
                f"{bytes_text(resident_bytes())}. The runtime says: {reason}",
                fix="Give the process more memory, or take a smaller image_resizer or network.",
            )
        self.images_at_once = size // 2
        release()
        self.tell(
            f"Out of memory while {size} images were evaluated: it goes on with "
            f"{self.images_at_once} at a time."
        )


def _slice(batch: EvaluationBatch, start: int, stop: int) -> EvaluationBatch:
    piece: EvaluationBatch = tf.nest.map_structure(
        lambda values: None if values is None else values[start:stop], batch
    )
    return piece


def _joined(results: Sequence[EvaluatedBatch], weights: Sequence[int]) -> EvaluatedBatch:
    """Put detections one behind the other, and take the mean of the losses over real images."""
    detections = tf.nest.map_structure(_concatenated, *(each.detections for each in results))
    share = np.asarray(weights, np.float32) / max(sum(weights), 1)
    losses = {
        name: tf.add_n(
            [each.losses[name] * part for each, part in zip(results, share, strict=True)]
        )
        for name in results[0].losses
    }
    return EvaluatedBatch(detections, losses)


def _concatenated(*parts: Any) -> Any:
    return None if parts[0] is None else tf.concat(parts, axis=0)
