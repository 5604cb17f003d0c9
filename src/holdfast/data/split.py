"""Train, val and test: what a data set says itself, and a split that is fair to every class."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

TRAIN, VAL, TEST = "train", "val", "test"
SPLITS = (TRAIN, VAL, TEST)
_WORDS = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("val", "valid", "validation"), VAL),
    **dict.fromkeys(("test", "testing"), TEST),
}


def named_split(path: str, *, by_name: bool = False) -> str | None:
    """Tell from the folders of a path (and from the file's own name) which split it belongs to.

    >>> named_split("valid/images/1.jpg"), named_split("train2017/1.jpg"), named_split("1.jpg")
    ('val', 'train', None)
    >>> named_split("annotations/instances_val2017.json", by_name=True)
    'val'
    >>> named_split("trainval.json", by_name=True)
    """
    *folders, name = path.lower().split("/")
    if by_name:
        found = {_WORDS[word] for word in re.findall("[a-z]+", name) if word in _WORDS}
        if len(found) == 1:
            return found.pop()
    for folder in reversed(folders):
        if (word := re.sub(r"[-_]?\d*$", "", folder)) in _WORDS:
            return _WORDS[word]
    return None


def stratified(counts: Sequence[Mapping[int, int]], val: float, seed: int) -> list[str]:
    """Put a share `val` of the images, and of the objects of every class, into val; train else.

    counts holds for every image class -> objects. This is iterative stratification (Sechidis et
    al. 2011) with objects as the quantity: the class that is left on the fewest images is dealt
    first, while there is still choice, its richest image first; each image goes where that class
    is missing most. Images of no class are dealt last, by number.
    """
    order = np.random.default_rng(seed).permutation(len(counts)).tolist()
    dealer = _Dealer(counts, {TRAIN: 1 - val, VAL: val}, order)
    while (rarest := dealer.rarest_class()) is not None:
        # Sorting is stable: images with equally many objects stay in random order.
        for image in sorted(dealer.holders[rarest], key=lambda one: -counts[one][rarest]):
            dealer.deal(image, rarest)
    for image in order:
        if image not in dealer.chosen:
            dealer.deal(image, None)
    return [dealer.chosen[image] for image in range(len(counts))]


class _Dealer:
    """Deals images to splits and keeps the books."""

    def __init__(
        self, counts: Sequence[Mapping[int, int]], shares: Mapping[str, float], order: Sequence[int]
    ) -> None:
        objects: Counter[int] = Counter()
        # Class -> images not dealt yet; a dict and not a set, as it keeps the order.
        self.holders: dict[int, dict[int, None]] = defaultdict(dict)
        for image in order:
            objects.update(counts[image])
            for number in counts[image]:
                self.holders[number][image] = None
        self.counts = counts
        self.missing = {
            name: {number: share * amount for number, amount in objects.items()}
            for name, share in shares.items()
        }
        self.missing_images = {name: share * len(counts) for name, share in shares.items()}
        self.chosen: dict[int, str] = {}

    def rarest_class(self) -> int | None:
        """Give the class on the fewest images that are not dealt yet; None if there is none."""
        left = [number for number, images in self.holders.items() if images]
        return min(left, key=lambda number: (len(self.holders[number]), number), default=None)

    def deal(self, image: int, number: int | None) -> None:
        """Put an image where objects of the class, then where images are missing most."""
        split = max(self.missing, key=lambda name: self._need(name, number))
        self.chosen[image] = split
        self.missing_images[split] -= 1
        for other, amount in self.counts[image].items():
            self.missing[split][other] -= amount
            del self.holders[other][image]

    def _need(self, split: str, number: int | None) -> tuple[float, float]:
        objects = 0.0 if number is None else self.missing[split][number]
        return objects, self.missing_images[split]
