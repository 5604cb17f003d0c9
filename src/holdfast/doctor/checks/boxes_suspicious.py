"""boxes-suspicious: boxes would fit the pixels better after a change that a mistake explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix, Severity
from holdfast.doctor.lazy_part import MissingError
from holdfast.runs.json_text import JsonValue

if TYPE_CHECKING:
    from holdfast.doctor.box_fit import Change, Fit
    from holdfast.doctor.looks import ImageLook

# Measured on data sets of blood cells, okra and raccoons. As they are, no turn or move gains more
# than 0.05; planted ones gain 0.2 to 0.9, by 5 to 22 standard errors, wherever objects are small
# enough to have surroundings. Round objects leave the corners of their box empty: 0.8 of the box
# gains up to 0.45, 0.6 of it 0.06; of boxes 1.4 times too large, 0.6 gains 0.9 and more.
LEAST_GAIN = 0.15
LEAST_GAIN_SMALLER = 0.5
LEAST_CERTAINTY = 4.5  # standard errors; some 80 changes are tried
LEAST_IMAGES = 15
# Boxes of other images fit worse by 0.4. That they do not has to be known to this.
STRANGERS = -0.15
LOOSE_TIMES = 1.6  # area of a label, to that of a detection that is sure
LOOSE_SHARE = 0.1  # of the labels
_LEAST_PAIRS = 50


_SMALLER = {"scaled by 0.5": 0.5, "scaled by 0.6": 0.6}


class _Kind(NamedTuple):
    what: str  # boxes are …
    fix: str


_SHUFFLED = _Kind(
    "not those of their images",
    "Pair images and annotations anew: by name and not by order; then convert again.",
)
_EXCHANGED = _Kind(
    "written with x and y exchanged",
    "Exchange x and y where the records are written: image/object/bbox/ymin comes from y.",
)


@check("boxes-suspicious", about="data", needs=("train.records", "train.statistics"))
def boxes_suspicious(case: Case) -> Iterator[Finding]:
    """Boxes do not fit what the images show: x and y exchanged, mirrored, moved, or too large.

    Such boxes are valid numbers, so nothing refuses them. The detector learns places beside the
    objects: the loss falls a little and stays, and detections are shifted or missing.

    How it is seen: an object differs in color from the ring around it. In a sample of images the
    mean difference is measured for the boxes as they are and as a mistake would have changed them:
    x and y exchanged, mirrored, upside down, turned, moved by parts of the image or of their own
    size, scaled. If one of these fits better, by 15 % (half as large: 50 %) and 4.5 standard
    errors, boxes were probably written so. If boxes of other images fit as well as its own, images
    and labels are mixed up. Objects that fill their images have no ring, and are not judged so.
    With a run: a tenth of the labels being 1.6 times as large as what its detector is sure of, are
    loose. Loose boxes are a warning, all others an error.

    What helps: look at the sheet that `holdfast inspect` draws, correct what writes the
    records, and convert again.
    """
    looks = [look for look in case.train.looks if len(look.image.boxes)]
    finding = _by_pixels(looks) if len(looks) >= LEAST_IMAGES else None
    finding = finding or _by_detector(case)
    if finding is not None:
        yield finding


def _by_pixels(looks: Sequence[ImageLook]) -> Finding | None:
    from holdfast.doctor.box_fit import compare_fits, fit_of_strangers

    changes = _changes()
    fits = compare_fits(looks, {name: change for name, (change, _) in changes.items()})
    better = {
        name: fit
        for name, fit in fits.items()
        if fit.gain >= (LEAST_GAIN_SMALLER if name in _SMALLER else LEAST_GAIN)
        and fit.certainty >= LEAST_CERTAINTY
        and fit.images >= LEAST_IMAGES
    }
    if better:
        best = max(better, key=lambda name: better[name].contrast)
        kind = changes[best][1]
        severity: Severity = "warning" if best in _scalings() else "error"
        return _finding(kind, severity, _told(best, better[best]))
    strangers = fit_of_strangers(looks)
    if strangers.images >= LEAST_IMAGES and strangers.gain - 2 * strangers.error > STRANGERS:
        return _finding(_SHUFFLED, "error", _told("exchanged with another image's", strangers))
    return None


def _changes() -> dict[str, tuple[Change, _Kind]]:
    """List what may have happened to boxes, by what would undo it."""
    from holdfast.doctor import box_fit as fit

    turned = _Kind(
        "drawn on turned or mirrored images",
        "Apply the images' EXIF orientation before labeling, or to the boxes; `holdfast convert` "
        "does so. Check which corner the annotations count y from.",
    )
    changes: dict[str, tuple[Change, _Kind]] = {
        "x and y exchanged": (fit.exchanged, _EXCHANGED),
        "mirrored": (fit.mirrored, turned),
        "upside down": (fit.upside_down, turned),
        "a half turn": (lambda boxes: fit.mirrored(fit.upside_down(boxes)), turned),
        "a quarter turn right": (lambda boxes: fit.mirrored(fit.exchanged(boxes)), turned),
        "a quarter turn left": (lambda boxes: fit.upside_down(fit.exchanged(boxes)), turned),
    }
    return changes | _moves() | _scalings()


def _moves() -> dict[str, tuple[Change, _Kind]]:
    from holdfast.doctor import box_fit as fit

    corner = _Kind(
        "moved by half their size",
        "The annotation gives the center of a box and was read as its corner, or the other way "
        "round: correct that where the records are written.",
    )
    offset = _Kind(
        "moved by the same distance",
        "Look for an offset where the records are written: a border that was cut off or added, or "
        "boxes of an image before it was cropped.",
    )
    by_size = {
        f"moved by {down:+g} of their height, {right:+g} of their width": (
            fit.moved_by_size(down, right),
            corner,
        )
        for down in (-0.5, 0.0, 0.5)
        for right in (-0.5, 0.0, 0.5)
        if down or right
    }
    steps = (-0.1, -0.05, -0.025, 0.0, 0.025, 0.05, 0.1)
    by_image = {
        f"moved by {down:+g} of the image's height, {right:+g} of its width": (
            fit.moved(down, right),
            offset,
        )
        for down in steps
        for right in steps
        if down or right
    }
    return by_size | by_image


def _scalings() -> dict[str, tuple[Change, _Kind]]:
    from holdfast.doctor import box_fit as fit

    loose = _Kind(
        "larger than their objects",
        "Draw boxes along the outline of objects; look for a margin that was added on the way.",
    )
    tight = _Kind(
        "smaller than their objects",
        "Draw boxes along the outline of objects; look for a size that was read as half of it.",
    )
    return {
        **{name: (fit.resized(factor), loose) for name, factor in _SMALLER.items()},
        "scaled by 1.5": (fit.resized(1.5), tight),
        "scaled by 2": (fit.resized(2.0), tight),
    }


def _told(change: str, fit: Fit) -> dict[str, JsonValue]:
    return {
        "would_fit_better": change,
        "gain": round(fit.gain, 3),
        "standard_errors": round(fit.certainty, 1),
        "images": fit.images,
    }


def _finding(kind: _Kind, severity: Severity, evidence: Mapping[str, JsonValue]) -> Finding:
    gain = evidence.get("gain")
    measured = (
        f" {evidence['would_fit_better'].capitalize()}, they would fit the pixels {gain:+.0%}."
        if isinstance(gain, float) and isinstance(evidence["would_fit_better"], str)
        else ""
    )
    return Finding(
        code="boxes-suspicious",
        severity=severity,
        what=f"Boxes of the training data are probably {kind.what}.{measured}",
        why="The detector learns places where the objects are not: it will find them beside their "
        "place, or not at all.",
        evidence=evidence,
        fix=Fix(text=f"{kind.fix} The sheet of `holdfast inspect` shows it."),
    )


def _by_detector(case: Case) -> Finding | None:
    """Compare labels with the detections of a run that are sure of the same objects."""
    try:
        seen = case.seen_by_model
    except MissingError:
        return None
    from holdfast.doctor.label_doubts import paired_areas

    ratios = paired_areas(seen)
    loose = [ratio for ratio in ratios if ratio >= LOOSE_TIMES]
    if len(ratios) < _LEAST_PAIRS or len(loose) < LOOSE_SHARE * len(ratios):
        return None
    kind = _Kind(
        f"larger than their objects: {len(loose)} of {len(ratios)} are {LOOSE_TIMES:g} times as "
        "large as what the run's detector is sure of",
        "Draw boxes along the outline of objects.",
    )
    evidence: dict[str, JsonValue] = {"labels": len(ratios), "loose": len(loose)}
    return _finding(kind, "warning", evidence)
