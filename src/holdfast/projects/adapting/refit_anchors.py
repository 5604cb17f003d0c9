"""Anchors refit to a data set: from k-means on, those that really cover more boxes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from holdfast.config.facts.anchor_counts import anchor_layers, anchors_per_location
from holdfast.config.facts.networks import network_of
from holdfast.config.recipes.anchor_choices import anchor_choices
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.model import DetectionModel
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.pooled_boxes import BoxPool, PoolCoverage, pool_boxes
from holdfast.models.detectors.build_layout import anchor_layout
from holdfast.projects.adapting.anchor_forms import AnchorForm, anchor_form
from holdfast.projects.fit_boxes import with_anchors

SEED = 0  # of k-means
_SEEDS = (SEED, SEED + 1, SEED + 2)
_STEPS = (0.3, 0.15, 0.07)  # of a number's logarithm
_IMAGES = 600  # looked at in the search
_GAIN = 1e-6
_CLEARLY_MORE = 0.01  # of the boxes: less is not worth other anchors
_FULL = 0.9999


@dataclass(frozen=True, kw_only=True)
class RefitAnchors:
    """Anchors for a data set, and what share of the boxes they and those before cover."""

    generator: AnchorGenerator
    before: PoolCoverage
    after: PoolCoverage


def refit_anchors(model: DetectionModel, seen: Sequence[Observation]) -> RefitAnchors | None:
    """Find anchors that cover more boxes, with at most as many at each place as before.

    The shapes that k-means finds are where a search begins that measures the anchors themselves,
    on their grids, by the matcher's threshold. All boxes and the mean class count alike.

    Returns:
        The anchors, those of the model if none cover clearly more; None where there are no
        anchors, or no boxes.
    """
    network, layout = network_of(model), anchor_layout(model)
    if network is None or layout is None:
        return None
    pool, some = pool_boxes(seen, layout), pool_boxes(_some(seen), layout)
    if pool is None or some is None:
        return None
    search = _Search(model, some)
    before = pool.coverage(layout)
    if min(before.all, *before.classes.values()) >= _FULL:
        return RefitAnchors(generator=network.generator, before=before, after=before)
    best = _best(network.generator, search, some)
    after = search.coverage(best, pool)
    if after.score < before.score + _CLEARLY_MORE:
        return RefitAnchors(generator=network.generator, before=before, after=before)
    return RefitAnchors(generator=best, before=before, after=after)


def _best(published: AnchorGenerator, search: _Search, pool: BoxPool) -> AnchorGenerator:
    """Try the usual choices, then what k-means finds; what covers all boxes ends the search."""
    best = max(filter(search.fits, anchor_choices(published)), key=search.score)
    for seed in _SEEDS:
        form = None if search.covers_all(best) else anchor_form(published, pool, seed)
        if form is not None:
            best = max(best, search.improved(form), key=search.score)
    return best


class _Search:
    """Measures generators in place of a model's own."""

    def __init__(self, model: DetectionModel, pool: BoxPool) -> None:
        network = network_of(model)
        assert network is not None
        self._model, self._pool, self._published = model, pool, network.generator
        self._known: dict[str, PoolCoverage] = {}  # by what is written

    def coverage(self, generator: AnchorGenerator, pool: BoxPool) -> PoolCoverage:
        """Measure on the boxes of a pool."""
        layout = anchor_layout(with_anchors(self._model, generator))
        assert layout is not None
        return pool.coverage(layout)

    def score(self, generator: AnchorGenerator) -> float:
        """Give one number to compare generators by."""
        return self._measured(generator).score

    def covers_all(self, generator: AnchorGenerator) -> bool:
        """Tell whether nothing is left to gain."""
        measured = self._measured(generator)
        return min(measured.all, *measured.classes.values()) >= _FULL

    def _measured(self, generator: AnchorGenerator) -> PoolCoverage:
        key = repr(generator)
        if key not in self._known:
            self._known[key] = self.coverage(generator, self._pool)
        return self._known[key]

    def fits(self, generator: AnchorGenerator) -> bool:
        """Tell whether no place gets more anchors than before."""
        return all(
            anchors_per_location(generator, layer) <= anchors_per_location(self._published, layer)
            for layer in range(anchor_layers(generator))
        )

    def improved(self, form: AnchorForm) -> AnchorGenerator:
        """Change one number after the other for as long as that covers more."""
        logs = [math.log(number) for number in form.start]
        best = self.score(form.build([math.exp(each) for each in logs]))
        for step in _STEPS:
            for tried in self._moves(logs, step):
                score = self.score(form.build([math.exp(each) for each in tried]))
                if score > best + _GAIN:
                    best, logs[:] = score, tried
        return form.build([math.exp(each) for each in logs])

    def _moves(self, logs: list[float], step: float) -> Iterator[list[float]]:
        for index in range(len(logs)):
            for sign in (1.0, -1.0):
                yield [each + sign * step * (place == index) for place, each in enumerate(logs)]


def _some(seen: Sequence[Observation]) -> list[Observation]:
    every = max(1, len(seen) // _IMAGES)
    return list(islice(seen, 0, None, every))
