"""Which labels a trained detector contradicts, ranked by how surely it does.

The measure follows confident learning (Northcutt et al. 2021, arXiv 1911.00068): a score counts
against what is usual for its class. t(k) is the mean score with which labels of class k are found,
and the relative score of a detection of class k is r = min(score / t(k), 1): 1 is as sure as the
detector is of labels on average. That makes classes and losses comparable whose scores differ.

1. Labels and detections of one class are paired one to one, by falling overlap, from an IoU of 0.5
   on. The support of a label is r * min(IoU / usual IoU, 1) of its detection; 0 without one.
2. What contradicts a label is the strongest of:
   - another class: r of a detection of another class without a label of its own, at an IoU of 0.5
     or more;
   - elsewhere: r of a detection of the same class without a label of its own. It counts fully
     where the box would have to move by no more than its size, and less the farther it is;
     also r of the label's own detection, where their overlap is poorer than usual;
   - nothing there: half the share of labels of its class that are found at all.
3. The doubt is what contradicts minus the support. Above 0.5 the label is a candidate.

Detections that no label pairs with and no moved label explains, at r = 1, are objects that were
probably not labeled. They are counted apart: they are no labels that could be wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.doctor.box_overlap import overlaps

if TYPE_CHECKING:
    from holdfast.doctor.seen_by_model import SeenImage
    from holdfast.doctor.whole_images import WholeImage

MATCHING_IOU = 0.5
CANDIDATE = 0.5  # least doubt
LEAST_FOUND = 0.4  # of the labels, for a detector to judge any
_FREE_IOU = 0.3  # a detection that overlaps a label more than this is not an object without label
_NO_SUPPORT = 0.5  # a label with less may have been moved away from a detection
_FARTHEST = 0.55  # what a detection in another place of the image counts
_LEAST_USUAL_SCORE = 0.05  # of a class that the detector hardly knows
_USUAL_IOU = 0.8  # where nothing is found from which to tell

Kind = Literal["class", "moved", "nothing there"]
_Against = tuple[float, Kind, int]  # how strong, of which kind, and the detection; -1: none

# G labels and D detections of an image


class Doubt(NamedTuple):
    """A label that is probably wrong."""

    doubt: float  # up to 1
    kind: Kind
    image: WholeImage
    label_index: int  # which label of the image
    label: str
    seen_as: str  # the class that the detector sees
    seen_box: NDArray[np.float32] | None  # (4,) where it sees the object
    score: float  # of that detection


class Unlabeled(NamedTuple):
    """An object that the detector is sure of and that has no label."""

    image: WholeImage
    box: NDArray[np.float32]  # (4,)
    name: str
    score: float


class LabelDoubts(NamedTuple):
    """What a detector has against the labels."""

    ranked: tuple[Doubt, ...]  # every label of every image, the most doubtful first
    unlabeled: tuple[Unlabeled, ...]  # by falling score
    found_share: float  # of the labels, paired with a detection

    @property
    def candidates(self) -> tuple[Doubt, ...]:
        """The labels that are probably wrong."""
        return tuple(each for each in self.ranked if each.doubt >= CANDIDATE)


def doubt_labels(images: Sequence[SeenImage]) -> LabelDoubts:
    """Rank all labels of some images by how surely the detector contradicts them."""
    pairings = [_paired(seen) for seen in images]
    usual = _Usual(images, pairings)
    ranked: list[Doubt] = []
    unlabeled: list[Unlabeled] = []
    for seen, pairing in zip(images, pairings, strict=True):
        judged = _Judged(seen, pairing, usual)
        ranked += judged.doubts()
        unlabeled += judged.unlabeled()
    ranked.sort(key=lambda each: -each.doubt)
    unlabeled.sort(key=lambda each: -each.score)
    labels = sum(len(pairing.detection) for pairing in pairings)
    found = sum(int((pairing.detection >= 0).sum()) for pairing in pairings)
    return LabelDoubts(tuple(ranked), tuple(unlabeled), found / max(labels, 1))


def paired_areas(images: Sequence[SeenImage]) -> list[float]:
    """Give the area of each label, divided by that of its detection, where this is a sure one."""
    pairings = [_paired(seen) for seen in images]
    usual = _Usual(images, pairings)
    ratios = []
    for seen, pairing in zip(images, pairings, strict=True):
        for index, detection in enumerate(pairing.detection.tolist()):
            name = seen.image.class_names[index]
            if detection >= 0 and seen.scores[detection] >= usual.score(name):
                pair = np.stack([seen.image.boxes[index], seen.boxes[detection]])
                label, found = (pair[:, 2:] - pair[:, :2]).prod(axis=-1).tolist()
                ratios.append(label / max(found, 1e-9))
    return ratios


class _Pairing(NamedTuple):
    """Which detection each label has, and which detections are left."""

    detection: NDArray[np.int64]  # (G,) -1: none
    iou: NDArray[np.float32]  # (G,) of the pair; 0 without one
    is_free: NDArray[np.bool_]  # (D,) no label pairs with it
    overlap: NDArray[np.float32]  # (G, D)
    is_same: NDArray[np.bool_]  # (G, D) of one class


def _paired(seen: SeenImage) -> _Pairing:
    overlap = overlaps(seen.image.boxes, seen.boxes)  # (G, D)
    labels, names = np.array(seen.image.class_names), np.array(seen.class_names)
    is_same = labels[:, None] == names[None] if overlap.size else np.zeros(overlap.shape, np.bool_)
    detection = np.full(len(labels), -1, np.int64)
    iou = np.zeros(len(labels), np.float32)
    is_free = np.ones(len(names), np.bool_)
    # Overlap decides, and of about equal ones the score.
    strength = np.where(is_same & (overlap >= MATCHING_IOU), overlap + 0.5 * seen.scores, -1.0)
    while strength.size and strength.max() > 0:
        row, column = np.unravel_index(int(strength.argmax()), strength.shape)
        detection[row], iou[row], is_free[column] = column, overlap[row, column], False
        strength[row, :] = strength[:, column] = -1
    return _Pairing(detection, iou, is_free, overlap, is_same)


class _Usual:
    """What is usual for the labels of each class: score, overlap, share that is found."""

    def __init__(self, images: Sequence[SeenImage], pairings: Sequence[_Pairing]) -> None:
        scores: defaultdict[str, list[float]] = defaultdict(list)
        self._labels: defaultdict[str, int] = defaultdict(int)
        ious: list[float] = []
        for seen, pairing in zip(images, pairings, strict=True):
            for name, index, iou in zip(
                seen.image.class_names, pairing.detection.tolist(), pairing.iou, strict=True
            ):
                self._labels[name] += 1
                if index >= 0:
                    scores[name].append(float(seen.scores[index]))
                    ious.append(float(iou))
        self._scores = scores
        self.iou = float(np.median(ious)) if ious else _USUAL_IOU

    def score(self, name: str) -> float:
        """Give t(k)."""
        found = self._scores.get(name)
        return max(float(np.mean(found)), _LEAST_USUAL_SCORE) if found else 1.0

    def found_share(self, name: str) -> float:
        return len(self._scores.get(name, ())) / max(self._labels[name], 1)


class _Judged:
    """The labels of one image beside what the detector sees."""

    def __init__(self, seen: SeenImage, pairing: _Pairing, usual: _Usual) -> None:
        self.seen, self.pairing, self.usual = seen, pairing, usual
        typical = np.array([usual.score(name) for name in seen.class_names])
        self.relative = np.minimum(seen.scores / np.maximum(typical, 1e-6), 1.0)  # (D,)
        self.support = self._support()  # (G,)
        self.explained: set[int] = set()  # free detections that a moved label belongs to

    def _support(self) -> NDArray[np.float64]:
        fits = np.minimum(self.pairing.iou / self.usual.iou, 1.0)
        has_pair = self.pairing.detection >= 0
        scores = np.append(self.relative, 0.0)[self.pairing.detection]  # -1: the 0 at the end
        return np.where(has_pair, scores * fits, 0.0)

    def doubts(self) -> Iterator[Doubt]:
        """Yield a doubt for each label, in their order."""
        places = self._moves()
        for index, name in enumerate(self.seen.image.class_names):
            against = [self._other_class(index), self._own_place(index), places.get(index)]
            nothing: _Against = (0.5 * self.usual.found_share(name), "nothing there", -1)
            strength, kind, detection = max(
                [nothing, *(each for each in against if each is not None)], key=lambda each: each[0]
            )
            yield self._doubt(index, strength - float(self.support[index]), kind, detection)

    def unlabeled(self) -> Iterator[Unlabeled]:
        """Yield detections that are as sure as those of labels, and belong to none."""
        covered = self.pairing.overlap.max(axis=0, initial=0.0)  # (D,)
        for index in np.flatnonzero(self.pairing.is_free & (covered < _FREE_IOU)).tolist():
            if self.relative[index] >= 1.0 and index not in self.explained:
                yield Unlabeled(
                    self.seen.image,
                    self.seen.boxes[index],
                    self.seen.class_names[index],
                    float(self.seen.scores[index]),
                )

    def _doubt(self, index: int, doubt: float, kind: Kind, detection: int) -> Doubt:
        has = detection >= 0
        label = self.seen.image.class_names[index]
        return Doubt(
            doubt=doubt,
            kind=kind,
            image=self.seen.image,
            label_index=index,
            label=label,
            seen_as=self.seen.class_names[detection] if has else "",
            seen_box=self.seen.boxes[detection] if has else None,
            score=float(self.seen.scores[detection]) if has else 0.0,
        )

    def _other_class(self, index: int) -> _Against | None:
        is_other = self.pairing.is_free & ~self.pairing.is_same[index]
        near = np.flatnonzero(is_other & (self.pairing.overlap[index] >= MATCHING_IOU))
        if not len(near):
            return None
        best = int(near[self.relative[near].argmax()])
        return float(self.relative[best]), "class", best

    def _own_place(self, index: int) -> _Against | None:
        """Give the label's own detection, which may say that the box should lie otherwise."""
        detection = int(self.pairing.detection[index])
        return (float(self.relative[detection]), "moved", detection) if detection >= 0 else None

    def _moves(self) -> dict[int, _Against]:
        """Pair labels without support with free detections of their class, the nearest first."""
        # What lies on a label says something about that label: its class, or a second box for it.
        covered = self.pairing.overlap.max(axis=0, initial=0.0)  # (D,)
        free = np.flatnonzero(self.pairing.is_free & (covered < MATCHING_IOU))
        lost = np.flatnonzero(self.support < _NO_SUPPORT)
        if not len(free) or not len(lost):
            return {}
        strengths = self._nearness(lost, free) * self.relative[free]  # (L, F)
        strengths = np.where(self.pairing.is_same[np.ix_(lost, free)], strengths, 0.0)
        found: dict[int, _Against] = {}
        while strengths.max() > 0:
            row, column = np.unravel_index(int(strengths.argmax()), strengths.shape)
            detection = int(free[column])
            found[int(lost[row])] = (float(strengths[row, column]), "moved", detection)
            self.explained.add(detection)
            strengths[row, :] = strengths[:, column] = 0
        return found

    def _nearness(
        self, labels: NDArray[np.int64], detections: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Give 1 up to a distance of the box's size, falling to _FARTHEST at four times that."""
        boxes, others = self.seen.image.boxes[labels], self.seen.boxes[detections]
        centers, sides = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
        there = (others[:, :2] + others[:, 2:]) / 2
        steps = np.abs(centers[:, None] - there[None]) / np.maximum(sides, 1e-6)[:, None]
        distance = np.sqrt((steps**2).sum(axis=-1))  # (L, F) in sizes of the box
        return np.asarray(np.clip(1.0 - (distance - 1.0) * (1 - _FARTHEST) / 3, _FARTHEST, 1.0))
