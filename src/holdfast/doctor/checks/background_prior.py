"""background-prior: a head with focal loss does not begin by expecting background."""

from __future__ import annotations

import math
from collections.abc import Iterator

from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.network_facts import single_stage_head

# arXiv 1708.02002, section 4.1: a prior of 0.01, whose logit is -4.6. Priors of 0.001 to 0.1 train
# as well; above a half, thousands of anchors begin as false alarms.
_USUAL = -4.6
_NO_PRIOR, _WRONG_SIGN = -1.5, 1.5
_TOO_SURE = -9.0  # a prior of 0.0001: positives get hardly any gradient from so low


@check("background-prior", about="config", needs=("detector",))
def background_prior(case: Case) -> Iterator[Finding]:
    """The head does not begin by expecting background, although its loss counts on it.

    Why it happens: class_prediction_bias_init is not copied along with the focal loss, or its sign
    is lost. An image has some hundred thousand anchors, nearly all of them background. If each
    begins with a score of 0.5, the first steps are a loss of thousands that drowns the objects and
    may destroy weights that were loaded.

    How it is seen: weighted_sigmoid_focal together with a bias above -1.5 (a prior above 0.18); a
    positive bias is an error. A bias below -9 is a warning, too: such a head is too sure.

    What helps: -4.6, which is a prior of 0.01.
    """
    found = single_stage_head(case.detector)
    assert found is None or isinstance(case.detector, Ssd)
    loss = case.detector.loss if isinstance(case.detector, Ssd) else None
    if found is None or loss is None or loss.classification_loss is None:
        return
    name, head = found
    bias = head.class_prediction_bias_init
    is_focal = loss.classification_loss.weighted_sigmoid_focal is not None
    if not (is_focal and bias > _NO_PRIOR) and bias >= _TOO_SURE and bias < _WRONG_SIGN:
        return
    prior = 1 / (1 + math.exp(-max(min(bias, 50.0), -50.0)))
    place = f"{case.detector_path}.box_predictor.{name}.class_prediction_bias_init"
    yield Finding(
        code="background-prior",
        severity="error" if bias >= _WRONG_SIGN else "warning",
        what=f"Every anchor begins with a score of {prior:.2g} for every class "
        f"(class_prediction_bias_init is {bias:g}).",
        why="Nearly all anchors are background: a first loss of thousands drowns the objects."
        if bias > _NO_PRIOR
        else "From so low a score objects get hardly any gradient.",
        evidence={"class_prediction_bias_init": bias, "prior": prior, "usual": _USUAL},
        fix=Fix(text=f"Set it to {_USUAL}: a prior of 0.01.", set={place: str(_USUAL)}),
    )
