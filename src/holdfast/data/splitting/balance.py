"""Choose groups of images for validation by chance, and exchange until both sides are alike.

The idea is rerandomization (Morgan & Rubin 2012): a random choice is only kept if what is known
about the images is alike on both sides. In place of drawing again, groups of equal size are
exchanged, so that the number of images stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from holdfast.data.splitting.contents import Contents, features_of

# Random splits have a discrepancy of 1 on average, and one in a hundred has this or less (measured
# on the shared sets). To go on to the best split would give few images the same one every time; as
# they have few splits in all, more of these have to do.
_ALIKE, _ALIKE_IF_FEW = 0.25, 3.0  # the second divided by the number of groups
_TRIES = 3000
_CANDIDATES = 64


def choose_groups(
    contents: Sequence[Contents],
    groups: Sequence[Sequence[int]],
    counts: Mapping[int, int],
    allowed: Sequence[bool],
    random: np.random.Generator,
) -> set[int]:
    """Choose groups for validation: of each size as many as counts says, from those allowed.

    Every class that is in several groups gets onto both sides where exchanging can do that.
    """
    chosen: set[int] = set()
    order = random.permutation(len(groups)).tolist()
    for size, count in counts.items():
        fitting = [one for one in order if allowed[one] and len(groups[one]) == size]
        chosen.update(fitting[:count])
    table = _Table(contents, groups, chosen, random)
    table.spread_classes()
    table.exchange()
    return {group for group, inside in enumerate(table.inside.tolist()) if inside}


def scaled_features(
    contents: Sequence[Contents], groups: Sequence[Sequence[int]], share: float
) -> NDArray[np.float64]:
    """Give features of the groups (G, F), whose sum over a side is 0 if it is like the whole.

    Each is divided by the standard deviation of that sum over random splits of single images, so
    that rare and frequent things count alike; each family of features counts as one.
    """
    sizes = np.array([len(group) for group in groups], np.float64)
    group_of_image = np.repeat(np.arange(len(groups)), sizes.astype(int))
    images = np.array([image for group in groups for image in group], int)
    families = []
    for family in features_of(contents):
        sums = np.zeros((len(groups), family.shape[1]))
        np.add.at(sums, group_of_image, family[images])
        mean = family.mean(axis=0)
        away = sums - sizes[:, None] * mean
        spread = np.sqrt(share * (1 - share) * ((family - mean) ** 2).sum(axis=0))
        varied = spread > 1e-9
        if varied.any():
            families.append(away[:, varied] / spread[varied] / np.sqrt(varied.sum()))
    if not families:
        return np.zeros((len(groups), 0))
    return np.asarray(np.concatenate(families, axis=1) / np.sqrt(len(families)))


class _Table:
    """The two sides, and what an exchange of two groups would change."""

    def __init__(
        self,
        contents: Sequence[Contents],
        groups: Sequence[Sequence[int]],
        chosen: Iterable[int],
        random: np.random.Generator,
    ) -> None:
        self.random = random
        self.sizes = np.array([len(group) for group in groups], int)
        self.inside = np.zeros(len(groups), bool)
        self.inside[list(chosen)] = True
        share = self.sizes[self.inside].sum() / max(self.sizes.sum(), 1)
        self.features = scaled_features(contents, groups, share)
        self.sum = self.features[self.inside].sum(axis=0)
        self.classes = [
            frozenset(number for image in group for number in contents[image].class_counts)
            for group in groups
        ]
        self.everywhere = Counter(number for one in self.classes for number in one)
        self.in_val = Counter(number for group in chosen for number in self.classes[group])

    def spread_classes(self) -> None:
        """Bring each class of several groups onto both sides, the rarest first."""
        holders: dict[int, list[int]] = {number: [] for number in self.everywhere}
        for group in self.random.permutation(len(self.classes)).tolist():
            for number in self.classes[group]:
                holders[number].append(group)
        for number in sorted(holders, key=lambda number: (len(holders[number]), number)):
            if self._lack(number, self.in_val[number]):
                for group in holders[number][:_CANDIDATES]:
                    if self._exchange_best(group, must_spread=True):
                        break

    def exchange(self) -> None:
        """Exchange groups of val, in random order, until the sides are alike or none helps."""
        alike = _ALIKE + _ALIKE_IF_FEW / max(len(self.sizes), 1)
        tries, helped = 0, True
        while helped:
            helped = False
            for group in self.random.permutation(np.flatnonzero(self.inside)).tolist():
                if tries == _TRIES or float(self.sum @ self.sum) <= alike:
                    return
                tries += 1
                helped |= self._exchange_best(group, must_spread=False)

    def _exchange_best(self, group: int, *, must_spread: bool) -> bool:
        """Exchange a group with the best of some of the other side; tell whether one was good."""
        other = np.flatnonzero(
            (self.inside != self.inside[group]) & (self.sizes == self.sizes[group])
        )
        some = self.random.choice(other, min(_CANDIDATES, len(other)), replace=False)
        sign = -1 if self.inside[group] else 1
        sums = self.sum + sign * (self.features[group] - self.features[some])  # (C, F)
        costs = (sums**2).sum(axis=1)
        now = float(self.sum @ self.sum)
        for place in np.argsort(costs, kind="stable").tolist():
            gain = self._spreading(group, int(some[place]))
            if gain > 0 or (gain == 0 and not must_spread and costs[place] < now):
                self._swap(group, int(some[place]), sums[place])
                return True
        return False

    def _swap(self, first: int, second: int, new_sum: NDArray[np.float64]) -> None:
        leaving, entering = (first, second) if self.inside[first] else (second, first)
        self.inside[[leaving, entering]] = False, True
        self.in_val.subtract(self.classes[leaving])
        self.in_val.update(self.classes[entering])
        self.sum = new_sum

    def _spreading(self, first: int, second: int) -> int:
        """Tell by how much an exchange would lessen the classes that a side lacks."""
        leaving, entering = (first, second) if self.inside[first] else (second, first)
        gain = 0
        for number in self.classes[leaving] ^ self.classes[entering]:
            now = self.in_val[number]
            then = now + (1 if number in self.classes[entering] else -1)
            gain += self._lack(number, now) - self._lack(number, then)
        return gain

    def _lack(self, number: int, in_val: int) -> int:
        """Weigh what is wrong if so many groups of a class are in val: none in train is worse."""
        if in_val == self.everywhere[number]:
            return 2
        return int(in_val == 0 and self.everywhere[number] > 1)
