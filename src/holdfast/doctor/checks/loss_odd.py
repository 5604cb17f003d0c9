"""loss-odd: a loss is weighed or sampled so that objects, or the background, hardly count."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.losses import HardExampleMiner, SigmoidFocalClassificationLoss
from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity
from holdfast.doctor.network_facts import parts_of_kind
from holdfast.runs.json_text import JsonValue

# Published: an alpha of 0.25 and 0.75 with a gamma of 1.5 and 2. Table 1 of arXiv 1708.02002 tries
# 0.1 to 0.999 and 0 to 5: beyond these, accuracy falls.
_USUAL_ALPHA, _LOW_ALPHA, _HIGH_ALPHA = 0.25, 0.02, 0.99
_USUAL_GAMMA, _HIGH_GAMMA = 2.0, 5.0
# Published: weights of 1, 2 and 4 in all; users go from 0.8 to 5.
_MOST_APART = 50.0
# Published: 3000 anchors of an image in one stage, 64 regions in two; at least an object and the
# usual three negatives of each of four.
_FEW_EXAMPLES = 16
# Published: 256 anchors and 64 regions of an image.
_FEW_SAMPLED = 8


@check("loss-odd", about="config", needs=("detector",))
def loss_odd(case: Case) -> Iterator[Finding]:
    """A loss is weighed or sampled so that objects, background or boxes hardly count.

    Why it happens: numbers from another loss, or from a trial. The focal loss weighs objects by
    alpha and background by 1 - alpha: 0 leaves nothing of the one, 1 nothing of the other. A gamma
    of 20 takes away what is not wholly wrong. A hard_example_miner, or the sampler of a second
    stage, that keeps one example of an image shows the network next to nothing. If one of
    classification_weight and localization_weight is a thousandth of the other, only the other is
    learned.

    How it is seen: alpha below 0.02 or above 0.99 (0 and 1 are errors), gamma above 5, weights that
    are 50 times apart, fewer than 16 mined or 8 sampled examples an image.

    What helps: the published values.
    """
    for placed in parts_of_kind(case.model, SigmoidFocalClassificationLoss):
        if isinstance(placed.message, SigmoidFocalClassificationLoss):
            yield from _focal(placed.message, placed.path)
    for placed in parts_of_kind(case.model, HardExampleMiner):
        if isinstance(placed.message, HardExampleMiner):
            yield from _mined(placed.message, placed.path, isinstance(case.detector, Ssd))
    if isinstance(case.detector, Ssd) and case.detector.loss is not None:
        loss = case.detector.loss
        names = ("classification_weight", "localization_weight")
        yield from _weights({name: getattr(loss, name) for name in names}, "model.ssd.loss")
    if isinstance(case.detector, FasterRcnn):
        yield from _sampled(case.detector, case.detector_path)


def _focal(loss: SigmoidFocalClassificationLoss, place: str) -> Iterator[Finding]:
    alpha, gamma = loss.alpha, loss.gamma
    if loss.has("alpha") and not _LOW_ALPHA <= alpha <= _HIGH_ALPHA:
        drowned = "objects count" if alpha < _LOW_ALPHA else "the background counts"
        little = "nothing" if alpha <= 0 or alpha >= 1 else "next to nothing"
        yield _odd(
            "error" if alpha <= 0 or alpha >= 1 else "warning",
            f"With an alpha of {alpha:g}, {drowned} for {little} in the focal loss.",
            {"alpha": alpha, "usual": _USUAL_ALPHA},
            Fix(text="Set it to 0.25, as published.", set={f"{place}.alpha": str(_USUAL_ALPHA)}),
        )
    if gamma > _HIGH_GAMMA:
        yield _odd(
            "warning",
            f"With a gamma of {gamma:g}, the focal loss forgets all but what is wholly wrong.",
            {"gamma": gamma, "usual": _USUAL_GAMMA},
            Fix(text="Set it to 2, as published.", set={f"{place}.gamma": str(_USUAL_GAMMA)}),
        )


def _mined(miner: HardExampleMiner, place: str, is_single: bool) -> Iterator[Finding]:
    kept = miner.num_hard_examples
    if not 0 < kept < _FEW_EXAMPLES:  # 0 keeps all
        return
    usual = 3000 if is_single else 64
    yield _odd(
        "error" if kept == 1 else "warning",
        f"Of each image {kept} of all {'anchors' if is_single else 'regions'} "
        f"{'is' if kept == 1 else 'are'} learned from: num_hard_examples.",
        {"num_hard_examples": kept, "usual": usual},
        Fix(text=f"Keep {usual}, as published.", set={f"{place}.num_hard_examples": str(usual)}),
    )


def _weights(weights: dict[str, float], place: str) -> Iterator[Finding]:
    low, high = sorted(weights, key=lambda name: weights[name])
    if weights[low] <= 0 or weights[high] < _MOST_APART * weights[low]:
        return  # of weights of 0, nothing-trains tells
    times = weights[high] / weights[low]
    yield _odd(
        "warning",
        f"{high} is {times:.4g} times {low}.",
        dict(weights),
        Fix(text="Set both to 1.", set={f"{place}.{name}": "1.0" for name in weights}),
    )


def _sampled(detector: FasterRcnn, place: str) -> Iterator[Finding]:
    usual = {"first_stage_minibatch_size": 256, "second_stage_batch_size": 64}
    for name, published in usual.items():
        sampled: int = getattr(detector, name)
        if sampled < _FEW_SAMPLED:
            yield _odd(
                "error" if sampled <= 1 else "warning",
                f"{name} is {sampled}: so few examples of an image are learned from.",
                {name: sampled, "usual": published},
                Fix(text=f"Set it to {published}.", set={f"{place}.{name}": str(published)}),
            )


def _odd(severity: Severity, what: str, evidence: dict[str, JsonValue], fix: Fix) -> Finding:
    return Finding(
        code="loss-odd",
        severity=severity,
        what=what,
        why="What counts for next to nothing in the loss is not learned.",
        evidence=evidence,
        fix=fix,
    )
