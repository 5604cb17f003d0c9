from __future__ import annotations

from pathlib import Path

import numpy as np
from tests.cli.commands import CONFIG
from tests.data.splitting.pictures import COPIES, jpeg, photograph
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, data_case

BOX = np.array([[0.2, 0.2, 0.6, 0.6]], np.float32)


def photographed(seed: int, encoded: bytes | None = None, name: str = "") -> Scene:
    image = jpeg(photograph(seed)) if encoded is None else encoded
    return Scene(np.zeros(0), BOX, (1,), name or f"{seed}.jpg", (), image)


def test_copies_of_training_images_are_a_warning(tmp_path: Path):
    train = [photographed(seed) for seed in range(12)]
    copies = [
        photographed(seed, COPIES[kind](photograph(seed)), f"copy {kind}")
        for seed, kind in enumerate(("mirrored", "darker", "smaller"))
    ]
    others = [photographed(seed) for seed in range(20, 26)]
    finding = found(data_case(tmp_path, train, [*others, *copies, train[5]]), "split-leak")
    assert finding is not None
    assert finding.severity == "warning"
    assert finding.evidence["images"] == 4
    assert finding.evidence["identical"] == 1
    assert {"evaluation": "copy mirrored", "training": "0.jpg"} in finding.evidence["examples"]


def test_other_photographs_are_fine(tmp_path: Path):
    train = [photographed(seed) for seed in range(12)]
    others = [photographed(seed) for seed in range(20, 28)]
    assert found(data_case(tmp_path, train, others), "split-leak") is None


def test_an_evaluation_that_reads_the_training_data_is_sent_to_what_lies_beside_it(tmp_path: Path):
    train, others = ([photographed(seed) for seed in seeds] for seeds in (range(9), range(20, 24)))
    config = CONFIG.replace("records/val.record-*", "records/train.record-*")
    finding = found(data_case(tmp_path, train, others, config=config), "split-leak")
    assert finding is not None
    assert "the training data itself" in finding.what
    (meant,) = finding.fix.set.values()
    assert [Path(meant).parent / "val.record-0"] == sorted(Path(meant).parent.glob("val.record*"))
    assert meant.endswith("val.record*")
