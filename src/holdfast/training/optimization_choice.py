"""What a user chooses about optimization beyond the config: optimizer, schedule, clipping.

Each choice is one text, as `--optimizer adamw,weight_decay=0.05`: the run's manifest keeps it
complete, with the numbers that were not given, so that a resumed run takes the same.
"""

from __future__ import annotations

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
        try:
            numbers[key] = float(value)
        except ValueError:
            raise HoldfastError(
                f"{option} {name}: {key} is {value!r}, which is not a number.",
                fix=f"Write for example {name},{key}=0.1.",
            ) from None
    ordered = {key: numbers[key] for key in known[name] if key in numbers}
    return NamedNumbers(name=name, numbers=ordered)


def _unknown(option: str, name: str, known: Sequence[str]) -> HoldfastError:
    near = get_close_matches(name, known, 1)
    fix = f"Did you mean {near[0]}?" if near else f"Choose one of {', '.join(known)}."
    return HoldfastError(f"{option} has no {name!r}.", fix=fix)


def _text(number: float) -> str:
    """Write a number shortly, so that it reads back as the same."""
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
