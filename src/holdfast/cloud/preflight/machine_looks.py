"""Looks at the machine: its card's architecture, the split of the batch, the cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from holdfast.cloud.preflight.flight import Flight, Outcome
from holdfast.config.schema.train import TrainConfig
from holdfast.doctor.checks.cluster_wrong import cluster_fault


def look_at_card(flight: Flight) -> Iterator[Outcome]:
    """Compare the card's compute capability with the code that TensorFlow 2.21 has."""
    card = flight.machine.card
    if card is None:
        return
    number = ".".join(map(str, card.capability))
    if card.is_too_old:
        what = f"TensorFlow 2.21 has no code for a {card.name} (compute capability {number})."
        yield Outcome(name="gpu", ok=False, what=what, fix="Choose a T4, L4 or newer.")
    elif card.is_newer_than_tensorflow:
        what = f"For a {card.name} ({number}) TensorFlow 2.21 compiles at its first start: untried."
        yield Outcome(name="gpu", ok=True, what=what, is_unverified=True)
    else:
        what = f"TensorFlow 2.21 has code for a {card.name} (compute capability {number})."
        yield Outcome(name="gpu", ok=True, what=what)


def look_at_batch(flight: Flight) -> Iterator[Outcome]:
    """See whether the batch can be split over all cards."""
    config = flight.report.readable
    if config is None:
        return
    batch = (config.train_config or TrainConfig()).batch_size or 1
    cards = flight.workers * max(1, flight.machine.num_cards)
    if batch % cards:
        what = f"A batch of {batch} cannot be split over {cards} cards."
        fix = f"Make train_config.batch_size a multiple of {cards}."
        yield Outcome(name="batch", ok=False, what=what, fix=fix)
    else:
        yield Outcome(name="batch", ok=True, what=f"{batch // cards} images a step and card.")


def look_at_cluster(flight: Flight) -> Iterator[Outcome]:
    """Judge the TF_CONFIG of this process, if it has one."""
    text = os.environ.get("TF_CONFIG", "").strip()
    if not text:
        what = "TF_CONFIG is not set here; the job's files set it."
        yield Outcome(name="cluster", ok=True, what=what, is_unverified=flight.workers > 1)
        return
    fault = cluster_fault(text)
    if fault is not None and fault[1]:
        fix = "Unset TF_CONFIG: the files of `holdfast cloud job` set it."
        yield Outcome(name="cluster", ok=False, what=fault[0], fix=fix)
        return
    cluster = json.loads(text)["cluster"]
    found = sum(len(cluster.get(kind, ())) for kind in ("chief", "master", "worker"))
    what = f"TF_CONFIG names {found} machines that train, --workers {flight.workers}."
    fix = "" if found == flight.workers else "Make them equal, or unset TF_CONFIG."
    yield Outcome(name="cluster", ok=not fix, what=what, fix=fix)
