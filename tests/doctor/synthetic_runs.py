"""Runs for tests: events that look like those of real trainings, noise and all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.cli.commands import CONFIG
from tests.doctor.cases import case_of

from holdfast.doctor.case import Case
from holdfast.runs.events import Event

CLASSES, BOXES = "Loss/classification_loss", "Loss/localization_loss"
GROUPS = ("backbone/conv1", "backbone/block2", "neck/smooth", "head/classes", "head/boxes")


def falling(steps: int, first: float, last: float, half_life: float = 60.0) -> NDArray[np.float64]:
    """A loss that falls as losses do: fast, then ever slower."""
    gone = 2.0 ** (-np.arange(steps) / half_life)
    return last + (first - last) * gone


def warm_cosine(steps: int, rate: float = 0.01, warmup: int = 50, total: int | None = None):
    """The usual schedule."""
    at, total = np.arange(steps), total or steps
    down = rate * 0.5 * (1 + np.cos(np.pi * np.minimum((at - warmup) / max(total - warmup, 1), 1)))
    return np.where(at < warmup, rate * (at + 1) / warmup, down)


def step_events(
    terms: Mapping[str, NDArray[np.float64]],
    *,
    rate: NDArray[np.float64] | None = None,
    noise: float = 0.15,
    gradient_norm: NDArray[np.float64] | None = None,
    step_seconds: NDArray[np.float64] | None = None,
    resident_bytes: NDArray[np.float64] | None = None,
    seed: int = 0,
) -> list[Event]:
    """Steps of a run; noise: of the losses' logarithms, 0.1 for batches of 16, 0.5 for one image.

    Batches that are hard are hard for all terms; gradients scatter by heavier tails, first steps
    build the graph, memory wobbles: as seen in real runs.
    """
    steps = len(next(iter(terms.values())))
    chance = np.random.default_rng(seed)
    hard = chance.normal(0, noise * 0.8, steps)
    own = {name: chance.normal(0, noise * 0.6, steps) for name in terms}
    noisy = {name: values * np.exp(hard + own[name]) for name, values in terms.items()}
    norms = gradient_norm if gradient_norm is not None else falling(steps, 60.0, 5.0, 20.0)
    norms = norms * np.exp(chance.standard_t(5, steps) * 2 * noise)
    seconds = step_seconds if step_seconds is not None else np.full(steps, 0.4)
    seconds = seconds * np.exp(np.abs(chance.normal(0, 0.08, steps)))
    if step_seconds is None:
        seconds[0] += 14.0
    held = resident_bytes if resident_bytes is not None else np.full(steps, 1.8e9)
    held = held + chance.normal(0, 6e6, steps)
    rate = rate if rate is not None else warm_cosine(steps)
    return [
        Event(
            at + 1,
            "step",
            {
                "losses": {
                    **{name: float(values[at]) for name, values in noisy.items()},
                    "Loss/regularization_loss": 0.08,
                    "Loss/total_loss": float(sum(values[at] for values in noisy.values())) + 0.08,
                },
                "learning_rate": float(rate[at]),
                "gradient_norm": float(norms[at]),
                "step_seconds": float(seconds[at]),
                "input_seconds": 0.01,
                "resident_bytes": int(held[at]),
            },
        )
        for at in range(steps)
    ]


def healthy_steps(steps: int = 1000, **changes: Any) -> list[Event]:
    """A training that learns."""
    terms = {CLASSES: falling(steps, 1.6, 0.3), BOXES: falling(steps, 0.9, 0.2, 120)}
    return step_events(terms, **changes)


def evaluation(
    step: int,
    at_half: float,
    *,
    at_three_quarters: float | None = None,
    losses: Mapping[str, float] | None = None,
    per_class: Mapping[str, tuple[float, int]] | None = None,
) -> Event:
    """An evaluation with mAP at IoU 0.5; per_class: AP at 0.5 and objects."""
    strict = at_half * 0.6 if at_three_quarters is None else at_three_quarters
    losses = losses or {CLASSES: 0.35, BOXES: 0.22}
    return Event(
        step,
        "evaluation",
        {
            "metrics": {
                "DetectionBoxes_Precision/mAP": at_half * 0.55,
                "DetectionBoxes_Precision/mAP@.50IOU": at_half,
                "DetectionBoxes_Precision/mAP@.75IOU": strict,
                **losses,
                "Loss/total_loss": sum(losses.values()) + 0.08,
            },
            "per_class": {
                name: {"ap": score * 0.5, "ap50": score, "objects": objects}
                for name, (score, objects) in (per_class or {"cat": (at_half, 90)}).items()
            },
            "images": 40,
            "seconds": 9.0,
        },
    )


def vitals(
    step: int,
    *,
    positive_mean: float = 0.5,
    agreement: float = 0.9,
    dead: Mapping[str, float] | None = None,
    drift: Mapping[str, tuple[float, float]] | None = None,
    gradient: Mapping[str, float] | None = None,
    boxes: Mapping[str, int] | None = None,
) -> Event:
    """A look at the network; drift: mean shift and log variance by group."""
    boxes = boxes or {"cat": 500, "dog": 420}
    norms = dict.fromkeys(GROUPS, 0.5) | dict(gradient or {})
    return Event(
        step,
        "vitals",
        {
            "images": 8,
            "steps": 100,
            "layers": {
                group: {"gradient_norm": norm, "weight_norm": 10.0, "ratio": norm / 10.0}
                for group, norm in norms.items()
            },
            "activations": {
                group: {"zeros": 0.4, "dead": (dead or {}).get(group, 0.05), "mean": 0.4}
                for group in GROUPS
            },
            "batch_norm": {
                group: dict(
                    zip(
                        ("mean_shift", "log_variance"),
                        (drift or {}).get(group, (0.15, 0.12)),
                        strict=True,
                    )
                )
                for group in GROUPS[:3]
            },
            "positives": {"share": 0.004, "per_image": 20.0, "proposal_share": None},
            "scores": {
                "edges": [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9],
                "places": [9000, 400, 100, 50, 20, 10, 10, 8, 5, 2],
                "positives": [0, 1, 2, 3, 4, 10, 30, 30, 10, 5],
                "positive_mean": positive_mean,
                "positive_agreement": agreement,
            },
            "classes": {
                "boxes": dict(boxes),
                "looked_at": {name: count // 20 for name, count in boxes.items()},
                "matched": {name: count // 21 for name, count in boxes.items()},
            },
            "input_share": 0.02,
        },
    )


def run_case(events: Sequence[Event], overrides: dict[str, Any] | None = None) -> Case:
    """The case of a run in which this happened, trained as long as it was to be."""
    last = max((event.step for event in events), default=1)
    case = case_of(CONFIG, {"train_config.num_steps": last} | (overrides or {}))
    case.events = tuple(sorted(events, key=lambda event: event.step))
    case.run_path = Path("no-such-run")
    return case
