from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.data.splitting.pictures import COPIES, frame, jpeg, photograph
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, data_case

BOX = np.array([[0.2, 0.2, 0.6, 0.6]], np.float32)
OTHER = np.array([[0.5, 0.5, 0.9, 0.9]], np.float32)


def shown(name: str, encoded: bytes, boxes: np.ndarray = BOX) -> Scene:
    return Scene(np.zeros(0), boxes, (1,) * len(boxes), name, (), encoded)


PHOTOGRAPHS = [shown(f"{seed}.jpg", jpeg(photograph(seed))) for seed in range(10)]


def test_copies_with_other_boxes_are_a_warning(tmp_path: Path):
    copies = [
        shown("same file.jpg", jpeg(photograph(0)), OTHER),
        shown("again.jpg", COPIES["requantized"](photograph(1)), OTHER),
        shown("no box.jpg", COPIES["as png"](photograph(2)), BOX[:0]),
    ]
    finding = found(data_case(tmp_path, [*PHOTOGRAPHS, *copies]), "duplicate-images")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["with_other_boxes"] == 3


def test_copies_with_the_same_boxes_are_a_note(tmp_path: Path):
    finding = found(
        data_case(tmp_path, [*PHOTOGRAPHS, shown("copy.jpg", jpeg(photograph(0)))]),
        "duplicate-images",
    )
    assert finding is not None
    assert finding.severity == "note"


def test_frames_of_a_video_and_mirrored_images_are_not_copies(tmp_path: Path):
    frames = [
        shown(f"frame {number}.jpg", jpeg(frame(3, number)), BOX + 0.1 * (number % 2))
        for number in range(0, 12, 3)
    ]
    mirrored = shown("mirrored.jpg", COPIES["mirrored"](photograph(0)), OTHER)
    case = data_case(tmp_path, [*PHOTOGRAPHS, *frames, mirrored])
    assert found(case, "duplicate-images") is None
