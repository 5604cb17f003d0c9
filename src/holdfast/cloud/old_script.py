"""Old scripts of AI Platform, which was shut down in January 2025, as commands of today."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holdfast.cloud.machine_types import MACHINES
from holdfast.errors import HoldfastError

_SUBMIT = re.compile(r"gcloud\s+(?:\w+\s+)*?(?:ai-platform|ml-engine)\s+jobs\s+submit\s+training\b")
_NO_VALUE = {"async", "stream-logs", "enable-web-access", "quiet", "alsologtostderr"}
_PLACEHOLDER_CONFIG = "pipeline.config"

# Machines of AI Platform's tiers, as far as they have a like today. (machine, card, cards)
_TIERS: Mapping[str, tuple[str, str | None, int]] = {
    "basic": ("n1-standard-4", "T4", 1),
    "basic_gpu": ("n1-standard-8", "T4", 1),
    "standard_1": ("n1-standard-8", "T4", 1),
    "premium_1": ("n1-standard-16", "T4", 1),
}
_OLD_MACHINES: Mapping[str, tuple[str, str | None, int]] = {
    "standard_gpu": ("n1-standard-8", "T4", 1),
    "complex_model_m_gpu": ("n1-standard-16", "T4", 4),
    "complex_model_l_gpu": ("n1-standard-32", "V100", 8),
    "standard_p100": ("n1-standard-8", "P100", 1),
    "complex_model_m_p100": ("n1-standard-16", "P100", 4),
    "standard_v100": ("n1-standard-8", "V100", 1),
    "large_model_v100": ("n1-highmem-8", "V100", 1),
    "complex_model_m_v100": ("n1-standard-16", "V100", 4),
    "complex_model_l_v100": ("n1-standard-32", "V100", 8),
}


@dataclass(frozen=True, kw_only=True)
class Translated:
    """What became of one option."""

    option: str  # as written
    became: str


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A script of AI Platform as a command of Holdfast."""

    options: tuple[Translated, ...]
    command: tuple[str, ...]


def translate_script(text: str) -> Translation:
    """Translate the first submission of a training that a script has.

    >>> script = "gcloud ai-platform jobs submit training j --region us-central1 --job-dir gs://b/d"
    >>> shlex.join(translate_script(script).command[3:7])
    'pipeline.config --on n1-standard-8 --card'
    """
    words = _submission(text)
    mark = words.index("--") if "--" in words else len(words)
    options = dict(_options(words[:mark]))
    arguments = dict(_options(words[mark + 1 :]))
    rows = [*_service_rows(options), *_program_rows(arguments)]
    return Translation(options=tuple(rows), command=tuple(_command(options, arguments)))


def _submission(text: str) -> list[str]:
    joined = re.sub(r"\\\s*\n", " ", text)
    for line in joined.splitlines():
        found = _SUBMIT.search(line)
        if found and not line.lstrip().startswith("#"):
            return shlex.split(line[found.end() :], comments=True)
    raise HoldfastError(
        "No `gcloud ai-platform jobs submit training`, nor `gcloud ml-engine …`, is in the script.",
        fix="Name the script that starts the training; scripts of Vertex AI need no translation.",
    )


def _options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of options; names with - also where scripts write _."""
    waiting: str | None = None
    for word in words:
        if waiting is not None and not word.startswith("--"):
            yield waiting, word
            waiting = None
        elif word.startswith("--"):
            if waiting is not None:
                yield waiting, ""
            name, mark, value = word[2:].partition("=")
            waiting = None if mark or name in _NO_VALUE else name
            if waiting is None:
                yield name, value
    if waiting is not None:
        yield waiting, ""


def _machine(options: Mapping[str, str]) -> tuple[str, str | None, int, str]:
    """Give machine, card, number of cards, and why."""
    tier = options.get("scale-tier", "custom").lower().replace("-", "_")
    named = options.get("master-machine-type", "").lower()
    if tier.endswith("tpu") or "tpu" in named:
        raise HoldfastError(
            "The script trains on TPUs, and there is no TensorFlow 2.21 for them.",
            fix="Choose a machine with GPUs: `holdfast cloud job … --on g2-standard-8`.",
        )
    accelerator = options.get("master-accelerator", "")
    if named in MACHINES and accelerator:
        fields = dict(part.split("=", 1) for part in accelerator.split(",") if "=" in part)
        card = fields.get("type", "t4").rpartition("-")[2].upper()
        return named, card, int(fields.get("count", 1)), "the same machine and cards"
    if named in MACHINES:
        is_bare = bool(MACHINES[named].choices)
        return named, "T4" if is_bare else None, 1, "the same machine"
    if found := _OLD_MACHINES.get(named) or _TIERS.get(tier):
        return *found, f"the nearest to {named or tier}, which are no longer offered"
    return "n1-standard-8", "T4", 1, f"{named or tier} is not known: a usual one"


def _workers(options: Mapping[str, str]) -> int:
    tier = options.get("scale-tier", "").lower()
    default = {"standard_1": 4, "premium_1": 19}.get(tier, 0)
    given = options.get("worker-count", "")
    return 1 + (int(given) if given.isdecimal() else default)


def _service_rows(options: Mapping[str, str]) -> Iterator[Translated]:
    """Say what becomes of each option of AI Platform."""
    machine, card, cards, why = _machine(options)
    cards_text = f" --card {card} --cards {cards}" if card else ""
    is_machine = {"scale-tier", "master-machine-type", "master-accelerator"}
    for name, value in options.items():
        written = f"--{name} {value}".rstrip()
        if name in is_machine:
            became = f"--on {machine}{cards_text} ({why})"
        else:
            became = _SERVICE.get(name, "left out: nothing of today corresponds to it")
        yield Translated(option=written, became=became.format(value=value, of=_workers(options)))


def _program_rows(arguments: Mapping[str, str]) -> Iterator[Translated]:
    """Say what becomes of each option of the program."""
    for name, value in arguments.items():
        plain = name.replace("-", "_")
        became = _PROGRAM.get(plain, "left out: `holdfast train` has no such option")
        yield Translated(option=f"--{name} {value}".rstrip(), became=became.format(value=value))


_SERVICE = {
    "region": "--region {value}",
    "job-dir": "--run, unless --model_dir names another place",
    "worker-count": "--workers {of}: the first one counts too, and all train",
    "worker-machine-type": "left out: all machines are alike",
    "worker-accelerator": "left out: all machines are alike",
    "parameter-server-count": "left out: gradients are summed by the workers themselves",
    "parameter-server-machine-type": "left out: there are no parameter servers",
    "runtime-version": "left out: the image has TensorFlow 2.21",
    "python-version": "left out: the image has its Python",
    "module-name": "holdfast train",
    "packages": "left out: the image has all packages",
    "package-path": "left out: the image has all packages",
    "staging-bucket": "left out: nothing is staged",
    "config": "left out: read it yourself, a file of AI Platform's settings is not translated",
    "project": "left out: `gcloud config set project {value}`",
    "labels": "left out",
    "master-image-uri": "--image, if it is an image of `holdfast cloud job`",
}
_PROGRAM = {
    "model_dir": "--run {value}",
    "train_dir": "--run {value}",
    "pipeline_config_path": "CONFIG: copy {value} here",
    "num_train_steps": "train_config.num_steps: {value}, in the config",
    "checkpoint_every_n": "--checkpoint-every {value}",
    "checkpoint_dir": "left out: evaluations are part of a training",
    "sample_1_of_n_eval_examples": "sample_1_of_n_examples: {value}, in eval_input_reader",
    "use_tpu": "left out: TPUs are not supported",
    "alsologtostderr": "left out: logs go there anyway",
    "num_workers": "left out: --workers says it",
}


def _command(options: Mapping[str, str], arguments: Mapping[str, str]) -> Iterator[str]:
    machine, card, cards, _ = _machine(options)
    plain = {name.replace("-", "_"): value for name, value in arguments.items()}
    config = plain.get("pipeline_config_path", _PLACEHOLDER_CONFIG).rpartition("/")[2]
    run = plain.get("model_dir") or plain.get("train_dir") or options.get("job-dir")
    yield from ("holdfast", "cloud", "job", config, "--on", machine)
    yield from ("--card", card, "--cards", str(cards)) if card else ()
    yield from ("--run", run or "gs://BUCKET/FOLDER")
    yield from ("--workers", str(_workers(options))) if _workers(options) > 1 else ()
    yield from ("--region", options["region"]) if options.get("region") else ()
    every = plain.get("checkpoint_every_n")
    yield from ("--checkpoint-every", every) if every else ()
    yield from ("--out", "job")
