"""Make the small goldens of this folder from the OD API's large ones: see README.md.

    python -m tests.goldens.shrink LARGE_GOLDENS

Every value is the OD API's own; what is chosen is where to look.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
FOLDERS = {
    "ssd_mobilenet_v2": "ssd_mobilenet_v2_320x320_coco17_tpu-8",
    "fpnlite": "ssd_mobilenet_v2_fpnlite_320x320_coco17_tpu-8",
    "retinanet": "ssd_resnet50_v1_fpn_640x640_coco17_tpu-8",
    "efficientdet": "ssd_efficientdet_d0_512x512_coco17_tpu-8",
    "ssd_inception_v2": "ssd_inception_v2_coco",
    "faster_rcnn": "faster_rcnn_resnet50_v1_640x640_coco17_tpu-8",
    "mask_rcnn": "mask_rcnn_resnet101_atrous_256x256",
    "centernet": "centernet_resnet50_v2_512x512_kpts_coco17_tpu-8",
    "faster_rcnn_fpn": "faster_rcnn_resnet50_fpn_128x192",
    "centernet_fpn": "centernet_resnet50_v1_fpn_128x160",
}
# Predictions that are left out: they follow from others, or are detections.
LEFT_OUT = ("final", "image_shape", "detection", "num_", "raw_", "proposal_boxes_normalized")
DETECTED = ("detection_scores", "detection_boxes", "detection_classes", "num_detections")
DETECTED_MORE = ("detection_masks", "detection_keypoints", "detection_keypoint_scores")
SAMPLES = 400  # of each array, spread evenly over what the large golden holds of it


def main(large: Path) -> None:
    """Write one file for each family that is there, and one with the images that all were given."""
    for family, folder in FOLDERS.items():
        if (large / folder).is_dir():
            np.savez_compressed(HERE / f"{family}.npz", **shrink(large / folder))
    if (whole := large / FOLDERS["retinanet"] / "input.npz").exists():
        np.savez_compressed(HERE / "images.npz", images=np.load(whole)["image_uint8"])


def shrink(folder: Path) -> dict[str, Any]:
    """Choose what travels of one golden folder."""
    small: dict[str, Any] = dict(np.load(folder / "groundtruth.npz"))
    outputs = np.load(folder / "outputs.npz")
    more = [f"det/{name}" for name in DETECTED_MORE if f"det/{name}" in outputs]
    chosen = {"input": ["preprocessed"], "outputs": [*prediction_names(outputs.files), *more]}
    for file, names in chosen.items():
        arrays, about = np.load(folder / f"{file}.npz"), read(folder / f"{file}.meta.json")
        for name in names:
            kept = name.removeprefix("pred/").removeprefix("det/")
            small |= samples(kept, arrays[name], about[name])
    small |= {name: outputs[f"det/{name}"] for name in DETECTED}
    if (sampled := folder / "sampled_bn_inference.npz").exists():
        small |= {f"sampled/{name}": drawn for name, drawn in np.load(sampled).items()}
    losses = read(folder / "losses.json")["modes"]
    small["variables"] = np.array([json.dumps(row) for row in read(folder / "variables.json")])
    small["gains"] = np.array(json.dumps(read(folder / "rule.json")["gains"]))
    small["losses"] = np.array(json.dumps(chosen_losses(losses)))
    return small


def prediction_names(names: list[str]) -> list[str]:
    return [
        name
        for name in names
        if name == "anchors"
        or (name.startswith("pred/") and not name.removeprefix("pred/").startswith(LEFT_OUT))
    ]


def samples(name: str, stored: np.ndarray, about: dict[str, Any]) -> dict[str, np.ndarray]:
    """Take some values of an array, each with its place in the whole, and the whole's norm."""
    flat = stored.reshape(-1)
    chosen = np.unique(np.linspace(0, len(flat) - 1, SAMPLES).astype(np.int64))
    return {
        f"{name}/values": flat[chosen],
        f"{name}/places": (chosen * about["flat_stride"]).astype(np.int32),
        f"{name}/shape": np.array(about["shape"]),
        f"{name}/range": np.array([about["min"], about["max"]]),
        f"{name}/l2": np.array(about["l2"]),
    }


def chosen_losses(modes: dict[str, Any]) -> dict[str, Any]:
    """Keep the losses with frozen batch norm and with batch statistics, unless those are random."""
    frozen, trained = modes["bn_inference"], modes.get("bn_training")
    chosen = {
        "frozen": frozen["losses"],
        "regularization_loss": frozen["regularization_loss"],
        "gradient_norm": frozen["grad_global_norm"],
    }
    if trained is not None and "NOT_REPRODUCIBLE" not in trained:
        chosen["batch_statistics"] = trained["losses"]
    return chosen


def read(path: Path) -> Any:
    return json.loads(path.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
