"""Where the labels of boxes stand: beside each other where there is room, inside the picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from holdfast.lettering import LINE_HEIGHT, shortened_end, text_width

Frame = tuple[int, int, int, int]  # left, top, right, bottom in pixels

_PLAIN_SIDE = 1000  # of an image up to which lines and letters have their plain size
_MARGIN = 3


class Plate(NamedTuple):
    """A label and the rectangle that it is written on."""

    text: str
    frame: Frame


def drawing_scale(size: tuple[int, int]) -> float:
    """Give how much larger lines and letters are on a large image, which is seen scaled down.

    >>> drawing_scale((640, 480)), drawing_scale((4000, 3000))
    (1.0, 4.0)
    """
    return max(1.0, max(size) / _PLAIN_SIDE)


def placed_plates(
    frames: Sequence[Frame], labels: Sequence[str], size: tuple[int, int]
) -> list[Plate]:
    """Place each label at its box, the first ones best: above it, in it, below it.

    Where another label is everywhere, it lies over that one. Labels wider than the picture lose
    their end.

    Args:
        frames: The boxes in pixels.
        labels: The text of each.
        size: Width and height of the picture.

    Example:
        >>> both = placed_plates([(10, 40, 90, 90)] * 2, ["a", "b"], (100, 100))
        >>> [plate.frame[1] for plate in both]  # above, and inside
        [21, 40]
    """
    scale = drawing_scale(size)
    placed: list[Plate] = []
    for frame, label in zip(frames, labels, strict=True):
        text = shortened_end(label, size[0] - 2 * _MARGIN, scale)
        wide, high = text_width(text, scale) + 2 * _MARGIN, round(LINE_HEIGHT * scale)
        left = max(0, min(frame[0] - 1, size[0] - 1 - wide))
        tops = (frame[1] - high, frame[1], frame[3] + 2, frame[3] - high)
        inside = [top for top in tops if 0 <= top < size[1] - high] or [0]
        places = [(left, top, left + wide, top + high) for top in inside]
        taken = [plate.frame for plate in placed]
        free = (each for each in places if not any(_overlap(each, other) for other in taken))
        placed.append(Plate(text, next(free, places[0])))
    return placed


def _overlap(one: Frame, other: Frame) -> bool:
    is_beside = one[2] <= other[0] or other[2] <= one[0]
    return not is_beside and one[1] < other[3] and other[1] < one[3]
