from __future__ import annotations

import numpy as np

from holdfast.models.heads.output import join_levels


def test_anchors_come_level_by_level_row_by_row_cell_by_cell():
    fine = np.arange(2 * 2 * 3 * 8).reshape(2, 2, 3, 8)  # 2 anchors of 4 numbers
    coarse = -np.arange(2 * 1 * 1 * 12).reshape(2, 1, 1, 12)  # 3 anchors
    actual = np.asarray(join_levels([fine, coarse], 4))
    assert actual.shape == (2, 2 * 3 * 2 + 3, 4)
    for y in range(2):
        for x in range(3):
            for anchor in range(2):
                expected = fine[:, y, x, 4 * anchor : 4 * anchor + 4]
                np.testing.assert_array_equal(actual[:, (y * 3 + x) * 2 + anchor], expected)
    np.testing.assert_array_equal(actual[:, 12:], coarse.reshape(2, 3, 4))
