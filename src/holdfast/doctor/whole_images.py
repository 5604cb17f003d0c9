"""Images with all of their boxes, also where a data set has a record for each box."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from holdfast.data.records.merged_records import Place
    from holdfast.data.survey.observe import Observation


class WholeImage(NamedTuple):
    """An image as it is labeled; N boxes."""

    name: str  # what the data calls it, else its place
    place: Place  # file and number of its (first) record
    content: bytes  # hash of the encoded image
    height: int
    width: int
    boxes: NDArray[np.float32]  # (N, 4) y_min, x_min, y_max, x_max, normalized to the image
    class_names: tuple[str, ...]  # N

    @property
    def sides(self) -> NDArray[np.float32]:
        """Height and width of each box in pixels of the image: (N, 2)."""
        sides = (self.boxes[:, 2:] - self.boxes[:, :2]) * (self.height, self.width)
        return np.asarray(sides, np.float32)


def whole_images(observations: Iterable[Observation]) -> tuple[WholeImage, ...]:
    """Give the images that records show; boxes of later records join those of the first."""
    found: dict[Place, WholeImage] = {}
    for seen in observations:
        if seen.record is None:
            continue
        if seen.merged_into is None:
            found[seen.record] = _image(seen)
        elif (first := found.get(seen.merged_into.record)) is not None:
            found[first.place] = first._replace(
                boxes=np.concatenate([first.boxes, seen.boxes]),
                class_names=(*first.class_names, *seen.class_names),
            )
    return tuple(found.values())


def _image(seen: Observation) -> WholeImage:
    assert seen.record is not None
    return WholeImage(
        name=seen.source_id or seen.place,
        place=seen.record,
        content=seen.content,
        height=seen.height,
        width=seen.width,
        boxes=seen.boxes,
        class_names=seen.class_names,
    )
