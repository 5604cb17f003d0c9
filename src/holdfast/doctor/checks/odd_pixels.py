"""odd-pixels: images whose pixels are not what they should be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from holdfast.doctor.case import Case
from holdfast.doctor.check import check
from holdfast.doctor.finding import Finding, Fix
from holdfast.doctor.lazy_part import MissingError

if TYPE_CHECKING:
    from holdfast.doctor.looks import ImageLook

ERROR_SHARE = 0.5  # of the images: there is hardly anything to learn from
WARNING_SHARE = 0.02
GRAY_DIFFERENCE = 0.5  # between the shares of gray images in training and evaluation
MIXED = 0.1  # of the images: as many gray and as many colored ones are a mixture
_EXAMPLES = 5


class _Oddity(NamedTuple):
    data: str
    what: str
    images: int
    share: float
    examples: tuple[str, ...]


@check("odd-pixels", about="data", needs=("train.records", "train.statistics"))
def odd_pixels(case: Case) -> Iterator[Finding]:
    """Pixels of some images are inverted, gray, squeezed or out of range.

    A network sees numbers. 16 bits read as 8, or colors of 0..1 written as bytes, leave images that
    are black to it; inverted or gray ones, or red and blue exchanged, in a part of the data or in
    the evaluation only, are another world than the one it learns.

    How it is seen, in a sample of training and evaluation images: nothing brighter than 24 of 255,
    or darker than 235; one color; four gray levels or fewer; where images are alike, a mean color
    that is far from that of the training images (four times their spread), and near once it is
    inverted or red and blue are exchanged, and the same of the evaluation's median; red that
    exceeds blue in training as blue exceeds red in the evaluation; images without color beside
    others with it. Half of the images are an error, 2 % a warning. Gray images throughout are fine.

    What helps: look at the sheet that `holdfast inspect` draws, and read them as what they
    are when converting: divide 16 bits by their real maximum, multiply 0..1 by 255.
    """
    odd = sorted(_oddities(case), key=lambda each: -each.share)
    if not odd:
        return
    worst = odd[0]
    is_blind = worst.share >= ERROR_SHARE and "gray" not in worst.what
    yield Finding(
        code="odd-pixels",
        severity="error" if is_blind else "warning" if worst.share >= WARNING_SHARE else "note",
        what=f"{worst.images} of the {worst.data} images looked at ({worst.share:.0%}) are "
        f"{worst.what}.",
        why="The network sees numbers: these images show it little, or another world than the "
        "rest.",
        evidence={
            "odd": [
                {
                    "data": each.data,
                    "images": each.images,
                    "share": round(each.share, 3),
                    "what": each.what,
                    "examples": ", ".join(each.examples),
                }
                for each in odd
            ]
        },
        fix=Fix(
            text="Look at the examples, read them in their real range and order of colors, and "
            "convert the data again."
        ),
    )


def _oddities(case: Case) -> Iterator[_Oddity]:
    from holdfast.doctor.pixel_faults import fault_of, fault_of_all, is_gray, typical_colors

    train, evaluation = case.train.looks, _evaluation_looks(case)
    if not train:
        return
    typical = typical_colors(train)
    odd_ones = 0  # of the evaluation
    for data, looks in (("training", train), ("evaluation", evaluation)):
        found: defaultdict[str, list[str]] = defaultdict(list)
        for look in looks:
            fault = fault_of(look, typical)
            if fault is not None:
                depth = f" (stored with {look.bits} bits)" if look.bits > 8 else ""
                found[fault + depth].append(look.image.name)
        odd_ones = sum(map(len, found.values()))
        for what, names in found.items():
            yield _Oddity(data, what, len(names), len(names) / len(looks), tuple(names[:_EXAMPLES]))
    if not odd_ones and (shared := fault_of_all(train, evaluation)) is not None:
        examples = tuple(look.image.name for look in evaluation[:_EXAMPLES])
        yield _Oddity("evaluation", shared, len(evaluation), 1.0, examples)
    grays = [
        (data, [look.image.name for look in looks if is_gray(look)], len(looks))
        for data, looks in (("training", train), ("evaluation", evaluation))
        if looks
    ]
    yield from _gray(grays)


def _gray(sides: Sequence[tuple[str, list[str], int]]) -> Iterator[_Oddity]:
    shares = [len(names) / count for _, names, count in sides]
    if max(shares) - min(shares) >= GRAY_DIFFERENCE:
        data, names, _ = sides[shares.index(max(shares))]
        other = sides[shares.index(min(shares))][0]
        what = f"gray, and those of the {other} data are not"
        yield _Oddity(data, what, len(names), max(shares), tuple(names[:_EXAMPLES]))
    elif sides and MIXED <= shares[0] <= 1 - MIXED:
        data, names, _ = sides[0]
        what = "gray, the others colored"
        # Photographs of either kind in one data set are common, and no fault by themselves.
        yield _Oddity(
            data, what, len(names), min(shares[0], WARNING_SHARE / 2), tuple(names[:_EXAMPLES])
        )


def _evaluation_looks(case: Case) -> tuple[ImageLook, ...]:
    try:
        return case.evaluation.looks
    except MissingError:
        return ()
