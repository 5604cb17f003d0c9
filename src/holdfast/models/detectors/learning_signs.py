"""What shows whether a detector learns: what each of its places says, and what it should say."""

from __future__ import annotations

from typing import NamedTuple

from keras import ops

from holdfast.geometry.targets import BACKGROUND
from holdfast.geometry.tensor import Tensor

# B images, N places: anchors, regions or cells of a map; C classes, G ground-truth boxes


class LearningSigns(NamedTuple):
    """Scores of the places that take part in the loss, and what they learn."""

    scores: Tensor  # float32 (B, N, C)  without background
    classes: Tensor  # int32 (B, N)  0-based, BACKGROUND where there is no object
    counts: Tensor  # bool (B, N)  False where a place is ignored, or empty
    box_index: Tensor | None  # int32 (B, N)  whose box a place learns; None: every box has its own
    proposal_share: Tensor | None = None  # float32 (B,)  objects among the anchors of a first stage


def places_of_boxes(signs: LearningSigns, num_boxes: Tensor) -> Tensor | None:
    """Count the places that learn each ground-truth box, float32 (B, G); None: not known."""
    if signs.box_index is None:
        return None
    images = ops.shape(signs.classes)[0]
    first = ops.cast(ops.arange(images) * num_boxes, "int32")[:, None]
    learns = ops.logical_and(signs.classes != BACKGROUND, signs.counts)
    rows = ops.where(learns, signs.box_index + first, images * num_boxes)  # the last one: no box
    counted = ops.segment_sum(
        ops.ones(ops.shape(ops.reshape(rows, (-1,)))),
        ops.reshape(rows, (-1,)),
        num_segments=images * num_boxes + 1,
    )
    return ops.reshape(counted[:-1], (images, num_boxes))
