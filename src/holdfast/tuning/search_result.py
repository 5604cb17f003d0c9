"""What came of a search: the winner as a config, the trials as a document and a picture."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.config.load import load_config, save_config
from holdfast.config.text.encode import to_json
from holdfast.config.text.overrides import apply_overrides
from holdfast.pictures import save_png
from holdfast.projects.adapting.field_change import changed
from holdfast.projects.adapting.moved_paths import moved_paths
from holdfast.runs.difference import differences
from holdfast.tuning.parallel_coordinates import draw_trials
from holdfast.tuning.search_loop import SearchRequest
from holdfast.tuning.search_study import SearchStudy, TrialRecord

BEST_NAME = "best.config"
PICTURE_NAME = "trials.png"


@dataclass(frozen=True, kw_only=True)
class BestConfig:
    """The winner, ready to be trained."""

    trial: TrialRecord
    path: Path
    differences: tuple[str, ...]  # from the config that was searched, field by field
    command: str  # that trains it, with the options that a config has no field for


def write_best(request: SearchRequest, study: SearchStudy) -> BestConfig | None:
    """Write the config of the best trial, whose relative paths lead where they led; None: no trial.

    Comments of the config are lost.
    """
    best = study.best()
    if best is None:
        return None
    base = load_config(request.config)
    variant = request.variant(best.settings)
    config, _ = apply_overrides(base, {**request.overrides, **variant.overrides})
    path = request.out / BEST_NAME
    save_config(changed(config, moved_paths(config, request.config.parent, request.out)), path)
    command = ["holdfast", "train", str(path), "--run", str(request.out / "best"), *variant.options]
    return BestConfig(
        trial=best,
        path=path,
        differences=differences(to_json(base), to_json(config)),
        command=shlex.join(command),
    )


def write_picture(request: SearchRequest, study: SearchStudy) -> Path:
    """Draw the trials: a line through its values for each."""
    path = request.out / PICTURE_NAME
    picture = draw_trials(
        request.space, study.records(), metric=request.metric, is_minimized=request.is_minimized
    )
    save_png(str(path), picture)
    return path


def search_document(
    request: SearchRequest, study: SearchStudy, best: BestConfig | None
) -> dict[str, Any]:
    """Give all of it as JSON values."""
    return {
        "best": None
        if best is None
        else {
            **_trial(request, best.trial),
            "config": str(best.path),
            "differences": list(best.differences),
            "command": best.command,
        },
        "trials": [_trial(request, each) for each in study.records()],
        "metric": request.metric,
        "over": [str(each) for each in request.space],
    }


def _trial(request: SearchRequest, record: TrialRecord) -> Mapping[str, Any]:
    return {
        "number": record.number,
        "settings": dict(record.settings),
        "metric": record.metric,
        "state": record.state.value,
        "reason": record.reason,
        "run": str(request.run(record.number)),
    }
