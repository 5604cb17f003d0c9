"""What the anchors of a student learn from those of a teacher that stand at the same places.

B images, A anchors, C class columns.
"""

from __future__ import annotations

from keras import ops

from holdfast.geometry.tensor import Tensor


def softened_divergence(
    logits: Tensor, teacher_logits: Tensor, *, is_softmax: bool, temperature: float = 2.0
) -> Tensor:
    """Say how far the student's classes (B, A, C) are from the teacher's: (B, A), 0 where equal.

    The Kullback-Leibler divergence of both at a temperature, times its square, which keeps
    gradients as large as at temperature 1 (arXiv 1503.02531, section 2). Where columns are scored
    one by one (sigmoid), the sum over them.

    >>> logits = ops.array([[[2.0, -1.0]]])
    >>> float(softened_divergence(logits, logits, is_softmax=False)[0, 0])
    0.0
    """
    own, wanted = logits / temperature, teacher_logits / temperature
    if is_softmax:
        columns = ops.softmax(wanted) * (ops.log_softmax(wanted) - ops.log_softmax(own))
    else:
        score = ops.sigmoid(wanted)
        columns = score * (ops.log_sigmoid(wanted) - ops.log_sigmoid(own)) + (1.0 - score) * (
            ops.log_sigmoid(-wanted) - ops.log_sigmoid(-own)
        )
    return temperature**2 * ops.sum(columns, axis=-1)
