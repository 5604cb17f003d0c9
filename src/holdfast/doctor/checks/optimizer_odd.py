"""optimizer-odd: settings of the optimizer with which nothing was ever trained."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.config.schema.optimizer import AdamOptimizer, MomentumOptimizer, RMSPropOptimizer
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity

# All published configs have a momentum of 0.9, RMSProp a decay of 0.9 and an epsilon of 1, Adam an
# epsilon of 1e-8 to 1e-7.
_HIGH_MOMENTUM, _LOW_MOMENTUM = 0.98, 0.5
_LARGE_ADAM_EPSILON = 1e-2  # above most gradients' size: Adam becomes a slow gradient descent
_SMALL_RMSPROP_EPSILON = 1e-3  # with the usual rate of 0.004, steps are then as long as that
_LARGE_BIAS_MULTIPLIER = 10.0  # Caffe's usual one is 2
_SMALL_CLIP = 0.1  # published: 10; norms of a detector's gradient are 1 to 30


@check("optimizer-odd", about="config", needs=("train_config",))
def optimizer_odd(case: Case) -> Iterator[Finding]:
    """The optimizer has settings far from all that were published.

    Why it happens: numbers of another framework or optimizer. A momentum of 1 adds up steps for
    ever. RMSProp's epsilon of 1e-8 with the rate that was published for an epsilon of 1 takes steps
    that are a hundred times as long; Adam with an epsilon of 1 takes hardly any. A gradient that is
    clipped to a norm of 0.01 moves nothing.

    How it is seen: momentum, decay and epsilon of the optimizer, and gradient_clipping_by_norm.

    What helps: the published values, 0.9, 0.9 and 1.0, and clipping at 10 or not at all.
    """
    optimizer = case.train_config.optimizer
    chosen = optimizer.chosen("optimizer") if optimizer is not None else None
    name = optimizer.which("optimizer") if optimizer is not None else None
    place = f"train_config.optimizer.{name}"
    if isinstance(chosen, MomentumOptimizer | RMSPropOptimizer):
        yield from _momentum(chosen.momentum_optimizer_value, place)
    if isinstance(chosen, RMSPropOptimizer):
        yield from _rmsprop(chosen, place)
    if isinstance(chosen, AdamOptimizer) and chosen.epsilon > _LARGE_ADAM_EPSILON:
        yield _odd(
            "warning",
            f"Adam's epsilon is {chosen.epsilon:g}: larger than most gradients, it makes steps "
            "shorter by as much.",
            {"epsilon": chosen.epsilon},
            Fix(text="Set it to 1e-8.", set={f"{place}.epsilon": "1e-8"}),
        )
    yield from _clipping(case.train_config.gradient_clipping_by_norm)
    yield from _biases(case.train_config.bias_grad_multiplier)


def _momentum(momentum: float, place: str) -> Iterator[Finding]:
    if _LOW_MOMENTUM <= momentum <= _HIGH_MOMENTUM:
        return
    what = f"The momentum is {momentum:g}; published is 0.9."
    if momentum > _HIGH_MOMENTUM:
        repeated = "for ever" if momentum >= 1 else f"{1 / (1 - momentum):.0f} times"
        what += f" Every step is repeated {repeated}."
    yield _odd(
        "error" if momentum >= 1 or momentum < 0 else "warning",
        what,
        {"momentum_optimizer_value": momentum},
        Fix(text="Set it to 0.9.", set={f"{place}.momentum_optimizer_value": "0.9"}),
    )


def _rmsprop(chosen: RMSPropOptimizer, place: str) -> Iterator[Finding]:
    if not 0 < chosen.decay < 1:
        yield _odd(
            "error",
            f"RMSProp's decay is {chosen.decay:g}: the mean of squares does not follow, or grows.",
            {"decay": chosen.decay},
            Fix(text="Set it to 0.9.", set={f"{place}.decay": "0.9"}),
        )
    if chosen.epsilon < _SMALL_RMSPROP_EPSILON:
        yield _odd(
            "warning",
            f"RMSProp's epsilon is {chosen.epsilon:g}; the OD API's rates are for an epsilon of 1.",
            {"epsilon": chosen.epsilon},
            Fix(text="Set it to 1.0.", set={f"{place}.epsilon": "1.0"}),
        )


def _clipping(norm: float) -> Iterator[Finding]:
    if 0 < norm < _SMALL_CLIP:
        yield _odd(
            "warning",
            f"Gradients are clipped to a norm of {norm:g}; published is 10.",
            {"gradient_clipping_by_norm": norm},
            Fix(
                text="Set it to 10, or to 0 to clip nothing.",
                set={"train_config.gradient_clipping_by_norm": "10.0"},
            ),
        )


def _biases(multiplier: float) -> Iterator[Finding]:
    if multiplier > _LARGE_BIAS_MULTIPLIER:
        yield _odd(
            "warning",
            f"Gradients of biases are multiplied by {multiplier:g}; published is 1.",
            {"bias_grad_multiplier": multiplier},
            Fix(text="Leave it out.", set={"train_config.bias_grad_multiplier": "0.0"}),
        )


def _odd(severity: Severity, what: str, evidence: Mapping[str, float], fix: Fix) -> Finding:
    return Finding(
        code="optimizer-odd",
        severity=severity,
        what=what,
        why="With it, a step is far longer or shorter than the learning rate says.",
        evidence=dict(evidence),
        fix=fix,
    )
