"""What a user chooses about optimization beyond the config: optimizer, schedule, clipping, pruning.

Each choice is one text, as `--optimizer adamw,weight_decay=0.05`: the run's manifest keeps it
complete, with the numbers that were not given, so that a resumed run takes the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches

from holdfast.errors import HoldfastError


@dataclass(frozen=True, kw_only=True)
class OptimizationChoice:
    """None: what the config says."""

    optimizer: str | None = None  # adamw, lion or rmsprop_decoupled, and their numbers
    schedule: str | None = None  # cosine_restarts or one_cycle, and their numbers
    clip_by_group: float | None = None  # the longest that the gradient of a layer group may be
    prune: str | None = None  # the share of the weights that end up 0, and by which steps

    def facts(self) -> dict[str, str | float]:
        """Give what is chosen, for the manifest."""
        return {name: value for name, value in asdict(self).items() if value is not None}


AS_CONFIGURED = OptimizationChoice()


@dataclass(frozen=True, kw_only=True)
class NamedNumbers:
    """A name with numbers, written as NAME,KEY=NUMBER and so on."""

    name: str
    numbers: Mapping[str, float]

    def __str__(self) -> str:
        pairs = (f"{key}={_text(each)}" for key, each in self.numbers.items())
        return ",".join([self.name, *pairs])


OPTIMIZERS: Mapping[str, Mapping[str, float]] = {
    "adamw": {"weight_decay": 0.004, "beta_1": 0.9, "beta_2": 0.999, "epsilon": 1e-7},
    "lion": {"weight_decay": 0.004, "beta_1": 0.9, "beta_2": 0.99},
    "rmsprop_decoupled": {"weight_decay": 0.004, "decay": 0.9, "momentum": 0.0, "epsilon": 1e-7},
}
# Without a rate, the highest of the config's schedule; steps: of the whole run.
SCHEDULES: Mapping[str, Mapping[str, float | None]] = {
    "cosine_restarts": {
        "rate": None,
        "period": 1000,
        "multiplier": 2.0,
        "decay": 1.0,
        "warmup": 0,
    },
    "one_cycle": {"rate": None, "steps": None, "rise": 0.3, "start": 25.0, "end": 1e4},
}


def read_choice(
    option: str, text: str, known: Mapping[str, Mapping[str, float | None]]
) -> NamedNumbers:
    """Read NAME,KEY=NUMBER,…; numbers that are not given are the known ones, or missing.

    >>> str(read_choice("--optimizer", "lion,weight_decay=0.1", OPTIMIZERS))
    'lion,weight_decay=0.1,beta_1=0.9,beta_2=0.99'
    """
    name, *pairs = text.split(",")
    if name not in known:
        raise _unknown(option, name, list(known))
    numbers = {key: value for key, value in known[name].items() if value is not None}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key not in known[name]:
            raise _unknown(f"{option} {name}", key, list(known[name]))
        numbers[key] = _number(f"{option} {name}: {key}", value, f"{name},{key}=0.1")
    ordered = {key: numbers[key] for key in known[name] if key in numbers}
    return NamedNumbers(name=name, numbers=ordered)


def read_pruning(text: str, steps: int) -> NamedNumbers:
    """Read SHARE,KEY=NUMBER,…; steps: of the whole run, where numbers are not given.

    Pruning takes from a tenth to six tenths of the run: after its end the detector learns to do
    without what is gone.

    >>> str(read_pruning("0.5", 1000)), str(read_pruning("0.8,end=300,every=100", 1000))
    ('0.5,begin=100,end=600,every=10', '0.8,begin=100,end=300,every=100')
    """
    share, *pairs = text.split(",")
    numbers: dict[str, float] = {"begin": steps // 10, "end": steps * 6 // 10}
    for pair in pairs:
        key, _, value = pair.partition("=")
        if key not in _PRUNING_STEPS:
            raise _unknown("--prune", key, _PRUNING_STEPS)
        numbers[key] = _number(f"--prune: {key}", value, f"{share},{key}=100")
    numbers.setdefault("every", max(1.0, (numbers["end"] - numbers["begin"]) // _PRUNINGS))
    numbers = {key: float(int(numbers[key])) for key in _PRUNING_STEPS}
    pruned = _number("--prune", share, "0.5")
    _refuse_pruning(pruned, numbers, steps)
    return NamedNumbers(name=_text(pruned), numbers=numbers)


_PRUNING_STEPS = ("begin", "end", "every")
_PRUNINGS = 50  # between begin and end; how many hardly matters (arXiv 1710.01878, section 4)


def _refuse_pruning(share: float, numbers: Mapping[str, float], steps: int) -> None:
    begin, end, every = (int(numbers[key]) for key in _PRUNING_STEPS)
    if not 0.0 < share < 1.0:
        raise HoldfastError(
            f"--prune: a share of {_text(share)} cannot be pruned.",
            fix="Give a number between 0 and 1, such as 0.5.",
        )
    if not 0 <= begin <= end < steps or every < 1:
        raise HoldfastError(
            f"--prune: pruning from step {begin} to {end}, every {every}, is not within a run of "
            f"{steps} steps.",
            fix="Choose begin <= end < the run's steps, and every >= 1.",
        )


def _unknown(option: str, name: str, known: Sequence[str]) -> HoldfastError:
    near = get_close_matches(name, known, 1)
    fix = f"Did you mean {near[0]}?" if near else f"Choose one of {', '.join(known)}."
    return HoldfastError(f"{option} has no {name!r}.", fix=fix)


def _number(what: str, text: str, example: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise HoldfastError(
            f"{what} is {text!r}, which is not a number.", fix=f"Write for example {example}."
        )
    return number


def _text(number: float) -> str:
    """Write a number shortly, so that it reads back as the same."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
