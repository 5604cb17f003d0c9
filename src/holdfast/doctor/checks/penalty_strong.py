"""penalty-strong: weights are pulled to 0 faster than they learn."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.schema.hyperparams import L1Regularizer, L2Regularizer
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.network_facts import parts_of_kind

# Published: 0.00004 and 0.0004. At 0.01 and the usual rate, weights lose half of their size in
# some thousand steps unless the loss holds against it; at 0.1, in some hundred.
_STRONG, _OVERWHELMING = 0.005, 0.05
_USUAL = "0.00004"


@check("penalty-strong", about="config", needs=("model",))
def penalty_strong(case: Case) -> Iterator[Finding]:
    """The penalty on large weights is far stronger than in any published config.

    Why it happens: l2_regularizer has a default of 1.0, so that leaving out its weight is not
    leaving out the penalty; or a weight decay of another framework was copied, where it is
    multiplied by the learning rate. The total loss falls nicely, since the penalty is most of it,
    and the weights shrink to where all images look alike.

    How it is seen: the weight of l1_regularizer and l2_regularizer. Published are 0.00004 and
    0.0004; from 0.005 on it is a warning, from 0.05 on an error.

    What helps: the published weight. Against overfitting, augmentation helps more.
    """
    found = {
        placed.path: placed.message.weight
        for placed in parts_of_kind(case.model, L1Regularizer, L2Regularizer)
        if isinstance(placed.message, L1Regularizer | L2Regularizer)
    }
    strong = {path: weight for path, weight in found.items() if weight >= _STRONG}
    if not strong:
        return
    most = max(strong.values())
    yield Finding(
        code="penalty-strong",
        severity="error" if most >= _OVERWHELMING else "warning",
        what=f"A penalty of {most:g} pulls weights to 0; published are 0.00004 and 0.0004.",
        why="The penalty outweighs what the images teach: weights shrink, and all images look "
        "alike to the network.",
        evidence={
            "penalties": [{"field": path, "weight": weight} for path, weight in found.items()]
        },
        fix=Fix(
            text=f"Set {'it' if len(strong) == 1 else 'them'} to {_USUAL}.",
            set={f"{path}.weight": _USUAL for path in strong},
        ),
    )
