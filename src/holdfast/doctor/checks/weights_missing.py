"""weights-missing: training starts from nothing, or from a checkpoint that is not there."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.config.facts.zoo import zoo_weights
from holdfast.config.paths import Base, find_checkpoint, is_remote
from holdfast.config.schema.ssd import Ssd
from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

# Networks that were published without weights to start from saw 25 million images and more
# (0.04 for 64 images, 400 000 steps); with a million, a small one comes to terms.
_ENOUGH_IMAGES = 1_000_000
_NARROW = 0.5  # depth_multiplier: networks so narrow learn from less, and few have weights


@check("weights-missing", about="config", needs=("train_config", "model"))
def weights_missing(case: Case) -> Iterator[Finding]:
    """The training starts from fresh weights, or from a checkpoint that is not there.

    Why it happens: fine_tune_checkpoint was left out or still names a place on another machine. A
    backbone that has never seen an image needs a million of them to become one: on a small data
    set mAP stays far below what the same network reaches from published weights.

    How it is seen: no fine_tune_checkpoint, and fewer than a million images to be seen (num_steps
    times batch_size): a warning, for narrow networks a note. A checkpoint that is named and not
    found, although the data is, is an error: training refuses to begin. So is a frozen batch norm
    without weights: it has no statistics.

    What helps: the weights of the model zoo; `holdfast new RECIPE --pretrained` fetches them.
    """
    named = case.train_config.fine_tune_checkpoint
    if not named:
        yield from _without_statistics(case)
        yield from _fresh(case)
    elif _is_lost(case, named):
        _ = case.train.files  # elsewhere than the data, nothing that is named can be here
        yield _not_found(case, named)


def _without_statistics(case: Case) -> Iterator[Finding]:
    if not isinstance(case.detector, Ssd) or not case.detector.freeze_batchnorm:
        return
    yield Finding(
        code="weights-missing",
        severity="error",
        what="Batch norm is frozen, and there are no weights that would bring its statistics.",
        why="Frozen at a mean of 0 and a variance of 1, it normalizes nothing: deep networks do "
        "not learn so.",
        evidence={"freeze_batchnorm": True, "fine_tune_checkpoint": ""},
        fix=Fix(
            text="Let batch norm train, or start from weights.",
            set={f"{case.detector_path}.freeze_batchnorm": "false"},
        ),
    )


def _fresh(case: Case) -> Iterator[Finding]:
    seen = case.num_steps * case.train_config.batch_size
    archive = zoo_weights("", case.model)
    if seen >= _ENOUGH_IMAGES or archive is None:
        return
    features = getattr(case.detector, "feature_extractor", None)
    is_narrow = getattr(features, "depth_multiplier", 1.0) < _NARROW
    yield Finding(
        code="weights-missing",
        severity="note" if is_narrow else "warning",
        what=f"The training starts from fresh weights, and will see {seen} images in all.",
        why="A backbone that begins with nothing needs about a million images.",
        evidence={"images_to_be_seen": seen, "usually_needed": _ENOUGH_IMAGES},
        fix=Fix(
            text="Start from the zoo's weights of this network.",
            command=_started_from(archive, case),
        ),
    )


def _not_found(case: Case, named: str) -> Finding:
    archive = zoo_weights(named, case.model)
    return Finding(
        code="weights-missing",
        severity="error",
        what=f"There is no checkpoint {named}.",
        why="Training refuses to begin without the weights that it is to start from.",
        evidence={"fine_tune_checkpoint": named},
        fix=Fix(
            text="Fetch the zoo's weights of this network, or correct the path."
            if archive is not None
            else "Correct train_config.fine_tune_checkpoint.",
            command=None if archive is None else _started_from(archive, case),
        ),
    )


def _started_from(archive: str, case: Case) -> str:
    return f"holdfast train {case.shown_path} --pretrained {archive} --run RUN"


def _is_lost(case: Case, named: str) -> bool:
    """Tell whether a checkpoint is needed and not there; a run that has begun needs it no more."""
    if is_remote(named) or _has_begun(case):
        return False
    return find_checkpoint(named, case.folder).base is Base.NOWHERE


def _has_begun(case: Case) -> bool:
    try:
        return bool(case.steps)
    except MissingError:
        return False
