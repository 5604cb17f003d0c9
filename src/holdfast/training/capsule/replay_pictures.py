"""Pictures of the images of a step: their boxes, and where their losses come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from holdfast.pictures import Objects, Pixels, draw_objects, label_colors, save_png
from holdfast.training.capsule.replay import Replayed

_PLACES = 3  # with the largest losses, drawn on an image


def save_step_pictures(replayed: Replayed, folder: Path) -> list[Path]:
    """Write a PNG of each image as the network saw it; give the files."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for image in range(len(replayed.batch.images)):
        path = folder / f"image-{image:03d}.png"
        save_png(str(path), _picture(replayed, image))
        paths.append(path)
    return paths


def _picture(replayed: Replayed, image: int) -> Pixels:
    truth = replayed.batch.truth
    names = replayed.capsule.document["class_names"]
    is_box = np.asarray(truth.weights[image]) > 0.0
    boxes = [np.asarray(truth.boxes[image][is_box], np.float32)]
    labels = [names.get(str(each + 1), str(each + 1)) for each in truth.classes[image][is_box]]
    places = [each for each in replayed.largest if each.image == image][:_PLACES]
    boxes.append(np.array([each.box for each in places], np.float32).reshape(-1, 4))
    labels += [f"{each.term.rpartition('/')[2]} {each.loss:.3g}" for each in places]
    pixels = np.nan_to_num(np.asarray(replayed.batch.images[image], np.float32))
    drawn = np.ascontiguousarray(np.clip(pixels, 0, 255).astype(np.uint8)[..., :3])
    joined = np.concatenate(boxes)
    # A box that is not finite cannot be drawn; the report names it.
    is_drawn = np.asarray(np.isfinite(joined).all(axis=1))
    objects = Objects(
        boxes=np.clip(joined[is_drawn], 0.0, 1.0),
        labels=[
            label for label, drawable in zip(labels, is_drawn.tolist(), strict=True) if drawable
        ],
    )
    return draw_objects(drawn, objects, label_colors(objects.labels))
