"""How many groups of each size make up a share of the images, as nearly as groups allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np


def wanted_images(images: int, share: float) -> int:
    """Give the number of images that is nearest to a share; neither side is left empty.

    >>> wanted_images(164, 0.2), wanted_images(3, 0.1), wanted_images(1, 0.5)
    (33, 1, 0)
    """
    return min(max(round(share * images), 1), images - 1) if share > 0 and images else 0


def nearest_total(sizes: Mapping[int, int], wanted: int) -> int:
    """Give the number of images nearest to `wanted` that whole groups add up to.

    sizes holds for every size of a group how many groups have it. All and none are not taken if
    there is anything else.
    """
    totals = _reachable(sizes)[-1]
    images = sum(size * count for size, count in sizes.items())
    for off in range(max(images, wanted) + 1):
        for total in (wanted - off, wanted + off):
            if 0 < total < images and totals >> total & 1:
                return total
    return 0


def adds_up(sizes: Mapping[int, int], total: int) -> bool:
    """Tell whether whole groups can add up to so many images."""
    return bool(_reachable(sizes)[-1] >> total & 1)


def choose_counts(
    sizes: Mapping[int, int], total: int, share: float, random: np.random.Generator
) -> dict[int, int]:
    """Choose how many groups of each size add up to exactly `total` images, which must be possible.

    Each size gives its share of groups, rounded up or down by chance, so that a group has the
    same chance whatever its size; the small ones make up for what is missing in the end.
    """
    reachable = _reachable(sizes)
    counts = {}
    for place, size in reversed(list(enumerate(sorted(sizes)))):
        ideal = int(share * sizes[size] + random.random())
        fitting = (
            count
            for count in _outwards(ideal, sizes[size])
            if count * size <= total and reachable[place] >> (total - count * size) & 1
        )
        counts[size] = next(fitting)
        total -= counts[size] * size
    return counts


def _reachable(sizes: Mapping[int, int]) -> list[int]:
    """Give as bits which totals the smallest 0, 1, 2, … sizes of groups can add up to."""
    reachable = [1]
    for size in sorted(sizes):
        bits, left, step = reachable[-1], sizes[size], 1
        while left:  # 1, 2, 4, … groups at once: any number of them is a sum of these
            step = min(step, left)
            bits |= bits << size * step
            left, step = left - step, 2 * step
        reachable.append(bits)
    return reachable


def _outwards(middle: int, largest: int) -> Iterator[int]:
    """Yield 0 to largest, the nearest to the middle first."""
    yield middle
    for off in range(1, largest + 1):
        if middle - off >= 0:
            yield middle - off
        if middle + off <= largest:
            yield middle + off
