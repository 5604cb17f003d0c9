"""How long `holdfast plan` takes: until its first figure is printed, and in all."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("HOLDFAST_SHARED", PROJECT.parent / "shared"))
CONFIG = SHARED / "corpus/zoo_configs/tf1/ssd_inception_v2_coco.config"
RESIZER = "model.ssd.image_resizer.fixed_shape_resizer"
FIRST_SECONDS, ALL_SECONDS = 15, 40  # wanted, on two quiet cores


def main() -> None:
    if not CONFIG.exists():
        print(f"There is no {CONFIG}: left out.")
        return
    changes = [f"{RESIZER}.height=1024", f"{RESIZER}.width=1024", "train_config.batch_size=24"]
    options = [part for change in changes for part in ("--set", change)]
    command = [sys.executable, "-m", "holdfast", "plan", str(CONFIG), "--card", "T4", *options]
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    first = None
    for line in process.stdout:
        if first is None and "as it is" in line:
            first = time.perf_counter() - start
    process.wait()
    print("holdfast plan, SSD Inception V2, 1024 x 1024, batch 24, T4")
    print(
        f"  first figure after {first or 0.0:.1f} s (wanted <= {FIRST_SECONDS}), "
        f"all after {time.perf_counter() - start:.1f} s (<= {ALL_SECONDS})"
    )


if __name__ == "__main__":
    main()
