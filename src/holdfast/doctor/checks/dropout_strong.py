"""dropout-strong: the head loses most of what it sees."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.box_predictor import (
    ConvolutionalBoxPredictor,
    MaskRCNNBoxPredictor,
    WeightSharedConvolutionalBoxPredictor,
)
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.network_facts import parts_of_kind

# Published: 0.8 and 1.0, nearly always with use_dropout: false. The paper of dropout (Srivastava
# 2014, section 7.3) finds 0.4 to 0.8 flat, and errors that rise steeply below.
_LOW, _HARDLY_ANY = 0.4, 0.15
_Heads = ConvolutionalBoxPredictor | MaskRCNNBoxPredictor | WeightSharedConvolutionalBoxPredictor


@check("dropout-strong", about="config", needs=("model",))
def dropout_strong(case: Case) -> Iterator[Finding]:
    """Dropout takes most of the features away from the head.

    Why it happens: dropout_keep_probability is the share that is kept. Whoever reads it as the
    share that is dropped writes 0.2 and drops four fifths. The head then learns from so little that
    it underfits: train loss stays high.

    How it is seen: use_dropout with a dropout_keep_probability below 0.4; an error below 0.15.

    What helps: 0.8, or no dropout, as in nearly all published configs.
    """
    for placed in parts_of_kind(case.model, *_Heads.__args__):
        head = placed.message
        if not isinstance(head, _Heads) or not head.use_dropout:
            continue
        kept = head.dropout_keep_probability
        if kept >= _LOW:
            continue
        yield Finding(
            code="dropout-strong",
            severity="error" if kept < _HARDLY_ANY else "warning",
            what=f"Dropout keeps {kept:.0%} of what the head sees.",
            why="A head that loses most of its input in every step learns little of it.",
            evidence={"dropout_keep_probability": kept, "field": placed.path},
            fix=Fix(
                text="Keep 80 %, as published; the field is what is kept, not what is dropped.",
                set={f"{placed.path}.dropout_keep_probability": "0.8"},
            ),
        )
