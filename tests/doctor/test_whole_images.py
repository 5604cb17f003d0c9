from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.data.example_records import png, record, write
from tests.doctor.scenes import data_case, scenes


def test_boxes_that_were_written_in_several_records_join_their_image(tmp_path: Path):
    case = data_case(tmp_path, scenes(2))
    image = png(40, 30)
    boxes = [(0.1, 0.1, 0.3, 0.3), (0.5, 0.5, 0.9, 0.9)]
    several = [record([box], image=image, source_id="several.png") for box in boxes]
    write(tmp_path / "records" / "train.record-0", several)
    (whole,) = case.train.images
    assert whole.name == "several.png"
    np.testing.assert_allclose(whole.boxes, boxes)
    assert whole.class_names == ("disc", "disc")
    np.testing.assert_allclose(whole.sides, [[6, 8], [12, 16]], rtol=1e-5)
