"""Input size and anchors for the user's boxes: the published ones, unless others cover more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from holdfast.config.facts.networks import network_of
from holdfast.config.recipes.anchor_choices import anchor_choices
from holdfast.config.recipes.fill import PUBLISHED_INPUT, FittedAnchors, recipe_model
from holdfast.config.recipes.recipe import Recipe
from holdfast.config.schema.anchor_generator import AnchorGenerator
from holdfast.config.schema.model import DetectionModel
from holdfast.data.survey.anchor_coverage import AnchorCoverage, measure
from holdfast.data.survey.inspection import Records
from holdfast.data.survey.observe import Observation
from holdfast.data.survey.statistics import Statistics
from holdfast.models.detectors.build_layout import anchor_layout, usable_records

_IMAGES = 300  # looked at; more tell the same
_CLEARLY_MORE = 0.02  # of the boxes of the mean class
_ABOUT_EQUAL = 0.005
_ENOUGH = 0.9  # of the boxes of the mean class: no larger input is tried
_FACTORS = (1.25, 1.5, 1.75)  # of larger inputs
_MULTIPLE = 32  # pyramids add their maps


@dataclass(frozen=True, kw_only=True)
class ChosenAnchors:
    """Anchors for a data set, and what share of the boxes they and the published ones cover."""

    generator: AnchorGenerator
    coverage: float  # mean over the classes, 0 to 1
    published_coverage: float

    @property
    def is_published(self) -> bool:
        """Whether the published ones are kept."""
        return self.coverage == self.published_coverage


@dataclass(frozen=True, kw_only=True)
class NetworkFit:
    """A recipe at the input size that suits the data, and the reason for both choices."""

    recipe: Recipe
    input_reason: str
    anchors: FittedAnchors | None  # None: the published ones


def fit_network(
    recipe: Recipe,
    num_classes: int,
    records: Records,
    statistics: Statistics,
    *,
    input_size: int | None = None,
) -> NetworkFit:
    """Choose input size and anchors by how many boxes have an anchor near enough.

    Args:
        recipe: The network as published.
        num_classes: Of the data.
        records: To train on.
        statistics: Of the records.
        input_size: What the user wants. None: the smallest that covers enough boxes, from the
            published one on; the images are not enlarged for it.

    Returns:
        The recipe at that size, and its anchors.
    """
    sizes = [input_size] if input_size is not None else _sizes(recipe, statistics)
    every = max(1, statistics.images // _IMAGES)
    seen = list(islice(usable_records(records, statistics), 0, None, every))
    tried: list[tuple[Recipe, ChosenAnchors]] = []
    for size in sizes:
        sized = replace(recipe, input_size=size)
        chosen = choose_anchors(recipe_model(sized, num_classes), seen)
        if chosen is None:
            reason = _input_reason(recipe, input_size)
            return NetworkFit(recipe=sized, input_reason=reason, anchors=None)
        tried.append((sized, chosen))
        if chosen.coverage >= _ENOUGH:
            break
    sized, chosen = max(tried, key=lambda each: each[1].coverage)
    reason = _input_reason(recipe, input_size)
    if input_size is None and sized.input_size != recipe.input_size:
        reason = (
            f"Published with {recipe.input_size}. At that size, anchors would match "
            f"{tried[0][1].coverage:.0%} of the boxes of an average class; here they match "
            f"{chosen.coverage:.0%}."
        )
    return NetworkFit(recipe=sized, input_reason=reason, anchors=_fitted(chosen))


def _input_reason(recipe: Recipe, wanted: int | None) -> str:
    if wanted in (None, recipe.input_size):
        return PUBLISHED_INPUT
    return f"As asked for; published with {recipe.input_size}."


def _sizes(recipe: Recipe, statistics: Statistics) -> list[int]:
    """List the input sizes to try: the published one, and larger ones up to the median image."""
    images, smallest = statistics.image_sizes, recipe.input_size
    if images is None or recipe.keeps_aspect_ratio:
        return [smallest]
    longest = max(images.height.median, images.width.median)
    larger = [round(smallest * factor / _MULTIPLE) * _MULTIPLE for factor in _FACTORS]
    return [smallest, *(size for size in larger if size <= longest)]


def _fitted(chosen: ChosenAnchors) -> FittedAnchors | None:
    if chosen.is_published:
        return None
    return FittedAnchors(
        generator=chosen.generator,
        reason=(
            f"Fitted to the training boxes: anchors match {chosen.coverage:.0%} of the boxes of an "
            f"average class; the published ones match {chosen.published_coverage:.0%}."
        ),
    )


def choose_anchors(model: DetectionModel, seen: Sequence[Observation]) -> ChosenAnchors | None:
    """Choose the anchors that cover most boxes of the mean class, the published ones if in doubt.

    A box is covered if an anchor overlaps it by the matcher's threshold. Classes count alike, else
    a common class of large objects hides a rare one of small objects.

    Returns:
        The choice; None for a detector without such anchors.

    """
    network, layout = network_of(model), anchor_layout(model)
    if network is None or layout is None:
        return None
    generators = list(anchor_choices(network.generator))
    models = [with_anchors(model, each) for each in generators]
    # The images lie in the input alike, whatever the anchors.
    frame = lru_cache(_IMAGES)(layout.frame)
    layouts = [replace(each, frame=frame) for each in map(anchor_layout, models) if each]
    shares = [_mean_class(each) for each in measure(seen, layouts[:1])]
    if shares[0] <= 1 - _CLEARLY_MORE:  # else there is no room for others
        shares += [_mean_class(each) for each in measure(seen, layouts[1:])]
    best = _choose(shares)
    return ChosenAnchors(
        generator=generators[best], coverage=shares[best], published_coverage=shares[0]
    )


def with_anchors(model: DetectionModel, generator: AnchorGenerator) -> DetectionModel:
    """Give a detector of anchors other ones."""
    if model.ssd is not None:
        return model.replace(ssd=model.ssd.replace(anchor_generator=generator))
    assert model.faster_rcnn is not None
    two_stage = model.faster_rcnn.replace(first_stage_anchor_generator=generator)
    return model.replace(faster_rcnn=two_stage)


def _choose(shares: Sequence[float]) -> int:
    """Give the first that is about as good as the best, if that is clearly better than the first.

    >>> _choose([0.9, 0.91]), _choose([0.5, 0.9, 0.904]), _choose([0.0])
    (0, 1, 0)
    """
    most = max(shares)
    if most < shares[0] + _CLEARLY_MORE:
        return 0
    return next(index for index, share in enumerate(shares) if share >= most - _ABOUT_EQUAL)


def _mean_class(coverage: AnchorCoverage) -> float:
    shares = [share.covered / share.boxes for share in coverage.classes.values()]
    return sum(shares) / len(shares) if shares else 0.0
