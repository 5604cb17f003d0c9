"""How many of the labels that `holdfast doctor` doubts are wrong: blood cells with planted faults.

8 % of BCCD's labels are corrupted, half of them moved beside their object, half given another
class. A detector is trained on them, and looks at its training images. Printed is the precision
among as many candidates as there are corrupted labels. What is in the working folder already, data
or a finished run, is used again.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
CHECKPOINT = SHARED / "weights" / "ssd_mobilenet_v2_coco" / "model.ckpt"
SHARE = 0.08
SIDES = ("ymin", "xmin", "ymax", "xmax")
SAME_PLACE = 0.004  # shares of the image: boxes are rounded to pixels on the way


class Corrupted(NamedTuple):
    """A label that was made wrong, as it is now."""

    image: str  # name without ending
    kind: str  # moved or class
    name: str
    box: tuple[float, ...]  # y_min, x_min, y_max, x_max, normalized


def main() -> None:
    arguments = _arguments()
    work: Path = arguments.work
    data = work / "data"
    if not data.exists():
        shutil.copytree(SHARED / "datasets" / "bccd", data)
    wrong = list(_corrupt(SHARED / "datasets" / "bccd" / "Annotations", data / "Annotations"))
    if not (work / "project" / "pipeline.config").exists():
        start = ("--checkpoint", str(arguments.checkpoint), "--steps", str(arguments.steps))
        project = ("--out", str(work / "project"))
        _holdfast("new", arguments.recipe, "--data", str(data), *start, *project)
    if not (work / "run" / "checkpoints").exists():
        _holdfast("train", str(work / "project" / "pipeline.config"), "--run", str(work / "run"))
    _judge(work / "run", wrong)


def _corrupt(source: Path, target: Path) -> Iterator[Corrupted]:
    """Write corrupted copies of all annotations; the same ones every time."""
    random = np.random.default_rng(0)
    for path in sorted(source.glob("*.xml")):
        tree = ElementTree.parse(path)
        sizes = {side: float(tree.findtext(f"size/{side}", "0")) for side in ("height", "width")}
        frame = np.array([sizes["height"], sizes["width"]] * 2)
        for labeled in tree.iter("object"):
            if random.uniform() >= SHARE:
                continue
            is_moved = random.uniform() < 0.5
            (_move if is_moved else _rename)(labeled, frame, random)
            box = tuple((_box(labeled) / frame).tolist())
            kind = "moved" if is_moved else "class"
            yield Corrupted(path.stem, kind, labeled.findtext("name", ""), box)
        tree.write(target / path.name)


def _move(labeled: ElementTree.Element, frame: np.ndarray, random: np.random.Generator) -> None:
    """Move a box by half to one and a half times its size, inside of the image."""
    box = _box(labeled)
    side = box[2:] - box[:2]
    for _ in range(100):
        angle, distance = random.uniform(0, 2 * np.pi), random.uniform(0.5, 1.5)
        moved = box + np.tile(side * distance * np.array([np.sin(angle), np.cos(angle)]), 2)
        if (moved >= 1).all() and (moved <= frame).all():
            break
    else:
        moved = box  # a cell as large as the image has nowhere to go
    for name, value in zip(SIDES, np.round(moved).astype(int).tolist(), strict=True):
        corner = labeled.find(f"bndbox/{name}")
        assert corner is not None
        corner.text = str(value)


def _rename(labeled: ElementTree.Element, _: np.ndarray, random: np.random.Generator) -> None:
    name = labeled.find("name")
    assert name is not None
    others = [each for each in ("RBC", "WBC", "Platelets") if each != name.text]
    name.text = str(random.choice(others))


def _box(labeled: ElementTree.Element) -> np.ndarray:
    return np.array([float(labeled.findtext(f"bndbox/{side}", "0")) for side in SIDES])


def _judge(run: Path, wrong: Sequence[Corrupted]) -> None:
    from holdfast.doctor.diagnose import open_case
    from holdfast.doctor.label_doubts import Doubt, doubt_labels

    case = open_case(run)
    images = {Path(image.name).stem for image in case.train.images}
    planted = [each for each in wrong if each.image in images]
    doubts = doubt_labels(case.seen_by_model)

    def planted_kind(doubt: Doubt) -> str | None:
        box = doubt.image.boxes[doubt.label_index]
        for each in planted:
            is_here = each.image == Path(doubt.image.name).stem and each.name == doubt.label
            if is_here and np.abs(np.array(each.box) - box).max() < SAME_PLACE:
                return each.kind
        return None

    found = [planted_kind(each) for each in doubts.ranked[: len(planted)]]
    kinds, among = Counter(each.kind for each in planted), Counter(found)
    print(f"labels {len(doubts.ranked)}, corrupted {len(planted)}")
    print(f"the detector finds {doubts.found_share:.0%} of the labels")
    for kind, count in kinds.items():
        print(f"{kind}: {among[kind]} of {count} among the first {len(planted)}")
    print(f"precision at {len(planted)}: {1 - among[None] / max(len(found), 1):.3f}")
    print(f"candidates of the doctor: {len(doubts.candidates)}")


def _holdfast(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "holdfast", *arguments], check=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="ssd_mobilenet_v2")
    parser.add_argument("--checkpoint", type=Path, default=CHECKPOINT, help="weights to start from")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--work", type=Path, default=Path("build/label_noise"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
