"""background-collapse: everything is taken for background."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.learning import detects, lately
from holdfast.doctor.rate_fix import scaled_rate

_FROM_STEP = 300
_FEWEST = 2  # looks from there on
_SCORE = 0.05  # of the right class, where an object is
_LOW_EDGE = 0.1  # scores above it are nearly always of objects


@check("background-collapse", about="run", needs=("vitals", "history"))
def background_collapse(case: Case) -> Iterator[Finding]:
    """The network scores nearly 0 everywhere, also where objects are.

    Why it happens: of ten thousand anchors ten are objects. To say "background" everywhere is
    nearly right, and a few steps that are too long end there. Losses that weigh all anchors alike,
    without hard-example mining or focal loss, lead there too.

    How it is seen: after 300 steps the mean score of the right class, at places that learn an
    object, is below 0.05, and it has not risen since the look before.

    What helps: a lower rate with a warm-up; focal loss (alpha 0.25, gamma 2) with
    class_prediction_bias_init: -4.6, or a hard_example_miner.
    """
    looks = [each for each in case.vitals if each.step >= _FROM_STEP]
    if len(looks) < _FEWEST or case.history.is_warming_up or detects(case):
        return
    score = lately(looks, "scores", "positive_mean")
    before = lately(case.vitals[: -len(looks)] or looks[:1], "scores", "positive_mean")
    if score is None or score >= _SCORE or (before is not None and score > 1.5 * before):
        return
    scores = looks[-1].values["scores"]
    places = scores.get("places") or [0]
    above = sum(
        count
        for edge, count in zip(scores.get("edges", ()), places[1:], strict=False)
        if edge >= _LOW_EDGE
    )
    yield Finding(
        code="background-collapse",
        severity="error",
        what=f"Where objects are, the right class scores {score:.3f} on the mean: everything is "
        "taken for background.",
        why="There are thousands of places without an object for each with one: saying nothing is "
        "nearly right, and its gradient is too small to leave from.",
        evidence={
            "positive_mean_score": score,
            "positive_mean_score_before": before,
            "places_above_0.1": above,
            "places": sum(places),
            "positive_share": lately(looks, "positives", "share"),
            "looks_at_steps": [each.step for each in looks[-3:]],
        },
        fix=Fix(
            text="Begin anew with a tenth of the rate; if that ends here too, use focal loss.",
            set=scaled_rate(case, 0.1),
        ),
    )
