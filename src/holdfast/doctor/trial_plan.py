"""What there is to try about a finding: the change, and where to start from."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.checkpoints.own.saved_checkpoints import Checkpoint, best_of, checkpoints_in
from holdfast.doctor.case import Case
from holdfast.doctor.diagnose import examine
from holdfast.doctor.finding import Finding
from holdfast.doctor.history import best_precision
from holdfast.doctor.lazy_part import MissingError
from holdfast.doctor.learning import evaluations_of
from holdfast.errors import HoldfastError
from holdfast.runs.run import CHECKPOINTS_NAME

_LEARNED = 0.05  # mAP at IoU 0.5: weights that are worth going on from
_WEIGHTS = "--class-weights"


@dataclass(frozen=True, kw_only=True)
class TriedFix:
    """A change to be tried."""

    name: str  # the finding's code, or the options
    text: str
    overrides: Mapping[str, str] = field(default_factory=dict)  # field of the config -> value
    class_weights: str | None = None

    @property
    def keeps_loss(self) -> bool:
        """Whether the losses with and without it are of one kind, and can be compared."""
        changed = ("model.", "train_input_reader", "train_config.data_augmentation_options")
        return self.class_weights is None and not any(
            path.startswith(changed) for path in self.overrides
        )


def fix_of(case: Case, code: str) -> TriedFix:
    """Look for a finding and give its fix; HoldfastError if there is none that can be tried."""
    diagnosis = examine(case, only=[code])
    found = next(iter(diagnosis.findings), None)
    if found is None:
        reasons = [each.reason for each in diagnosis.not_looked_at]
        raise HoldfastError(
            f"{code} was not found here" + (f": {reasons[0]}." if reasons else "."),
            fix="`holdfast doctor` without --try lists what was found.",
        )
    weights = _class_weights(found)
    if not found.fix.set and weights is None:
        raise HoldfastError(
            f"What helps against {code} is not a setting that can be tried: {found.fix.text}",
            fix="Try settings of your own: --try set --set FIELD=VALUE.",
        )
    return TriedFix(
        name=code, text=found.fix.text, overrides=dict(found.fix.set), class_weights=weights
    )


def start_of(case: Case, fix: TriedFix) -> Checkpoint | None:
    """Choose the checkpoint to go on from; None: the weights are not worth it, start anew.

    What spoils training spoils its weights, too: a fix is tried on those of a run that had learned
    something, or on any if it only changes how they are evaluated.
    """
    try:
        run = case.run_path
    except MissingError:
        return None
    only_evaluates = bool(fix.overrides) and all(path.startswith("eval_") for path in fix.overrides)
    if (best_precision(evaluations_of(case)) or 0.0) < _LEARNED and not only_evaluates:
        return None
    if any(path.startswith("model.") for path in fix.overrides):
        return None
    kept = checkpoints_in(run / CHECKPOINTS_NAME)
    return best_of(kept) or (kept[-1] if kept else None)


def _class_weights(finding: Finding) -> str | None:
    words = shlex.split(finding.fix.command or "")
    return words[words.index(_WEIGHTS) + 1] if _WEIGHTS in words[:-1] else None
