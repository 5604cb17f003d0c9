"""Compare models on the same data: size, speed, memory and accuracy, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.errors import HoldfastError
from holdfast.progress import Progress, silent


@dataclass(frozen=True, kw_only=True)
class ComparisonSettings:
    """On what, and how long, models are compared."""

    data: str | None = None  # config, run or records; None: no accuracy, and images of noise
    label_map: str | None = None  # of records
    rounds: int = 5  # in each, every model has its turn
    images: int = 10  # a turn
    batch_size: int = 8  # for the throughput
    cores: int | None = None  # that a model may use; None: all


@dataclass(frozen=True, kw_only=True)
class ComparedModel:
    """What was measured of one model."""

    model: str
    runtime: str
    cores: int
    bytes: int
    zipped_bytes: int
    latency_ms_median: float
    latency_ms_p90: float
    images_per_second: float  # in batches; the median of the rounds
    memory_bytes: int  # most that loading and detecting added to the process
    map: float | None  # COCO's, from 0 to 1
    map_50: float | None
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Give what `--json` says of the model."""
        return asdict(self)


def compare_models(
    models: Sequence[str], settings: ComparisonSettings, progress: Progress = silent
) -> list[ComparedModel]:
    """Load every model, time them in turns, and evaluate one after the other.

    Args:
        models: What `holdfast.load_model` takes, or CONFIG@CHECKPOINT.
        settings: The data, and how long to measure.
        progress: Is told how many turns are over, and of how many.
    """
    total, done = len(models) * (settings.rounds + 2), 0
    with ExitStack() as opened:
        workers = []
        for model in models:
            workers.append(opened.enter_context(_Worker(model, settings)))
            progress(done := done + 1, total)
        for turn in range(settings.rounds):
            # Another one begins each time: what heats up or slows down meets all.
            for worker in (*workers[turn % len(workers) :], *workers[: turn % len(workers)]):
                worker.take_turn()
                progress(done := done + 1, total)
        compared = []
        for worker in workers:
            compared.append(worker.result())
            progress(done := done + 1, total)
    return compared


class _Worker:
    """The process of one model."""

    def __init__(self, model: str, settings: ComparisonSettings) -> None:
        self._model, self._settings = model, settings
        self._seconds: list[float] = []
        self._rates: list[float] = []

    def __enter__(self) -> _Worker:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "holdfast.prediction.compare_process"],
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if not os.environ.get("HOLDFAST_DEBUG") else None,
            text=True,
        )
        path, _, checkpoint = self._model.partition("@")
        settings = self._settings
        try:
            self._ask(
                model=path,
                checkpoint=checkpoint or None,
                data=settings.data,
                label_map=settings.label_map,
                images=settings.images,
                batch_size=settings.batch_size,
                cores=settings.cores,
            )
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def take_turn(self) -> None:
        """Time some images alone, and a batch."""
        self._seconds += self._do("latency", self._settings.images)["seconds"]
        batch = self._do("throughput", self._settings.batch_size)
        self._rates.append(batch["images"] / batch["seconds"])

    def result(self) -> ComparedModel:
        """Evaluate the model, and give all that is known of it."""
        facts, accuracy = self._do("facts"), self._do("evaluate")
        return ComparedModel(
            model=self._model,
            latency_ms_median=1000 * _quantile(self._seconds, 0.5),
            latency_ms_p90=1000 * _quantile(self._seconds, 0.9),
            images_per_second=_quantile(self._rates, 0.5),
            map=accuracy["map"],
            map_50=accuracy["map_50"],
            note=accuracy["note"],
            **facts,
        )

    def _do(self, what: str, *values: object) -> dict[str, Any]:
        return self._ask(**{"do": what, "with": values})

    def _ask(self, **request: object) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise self._died()
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise HoldfastError(f"{self._model}: {answer['error']}", fix=answer["fix"])
        return answer

    def _died(self) -> HoldfastError:
        _, errors = self._process.communicate()
        last = ((errors or "").strip().splitlines() or ["no message"])[-1]
        return HoldfastError(
            f"{self._model}: its process ended with code {self._process.returncode}: {last}",
            fix="Try `holdfast predict` with this model alone.",
        )


def _quantile(values: Sequence[float], share: float) -> float:
    """Give the value below which a share of them lies, between the two nearest.

    >>> _quantile([1.0, 2.0, 3.0], 0.5), _quantile([1.0, 2.0], 0.9)
    (2.0, 1.9)
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (place - low) * (ordered[high] - ordered[low]), 9)
