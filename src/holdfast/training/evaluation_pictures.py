"""Pictures of an evaluation: what is there, and beside it what a detector found."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.evaluation_input import EvaluationBatch, EvaluationInput
from holdfast.evaluation.evaluate import Step
from holdfast.evaluation.pasted_masks import decode_stored, dense_mask, paste_mask
from holdfast.models.inference.detections import Detections
from holdfast.pictures import (
    Cell,
    Objects,
    Pixels,
    contact_sheet,
    draw_objects,
    label_colors,
    save_png,
)

_WIDTH, _HEIGHT = 420, 560  # pixels into which an image is fitted, so that labels can be read
_UNNAMED = (255, 255, 255)


@dataclass(frozen=True, kw_only=True)
class Gallery:
    """Which pictures to draw."""

    names: Mapping[int, str]  # label-map id -> name
    images: int = 10
    min_score: float = 0.5  # detections below are not drawn
    max_boxes: int = 20  # the best ones of an image
    edges: tuple[tuple[int, int], ...] = ()  # keypoints that a line joins


def build_gallery(config: TrainEvalPipelineConfig, names: Mapping[int, str]) -> Gallery:
    """Say what eval_config wants to be drawn."""
    evaluation = config.eval_config or EvalConfig()
    return Gallery(
        names=names,
        images=evaluation.num_visualizations if evaluation.retain_original_images else 0,
        min_score=evaluation.min_score_threshold,
        max_boxes=evaluation.max_num_boxes_to_visualize,
        edges=tuple((edge.start, edge.end) for edge in evaluation.keypoint_edge),
    )


def draw_pictures(step: Step, data: EvaluationInput, gallery: Gallery) -> dict[str, Pixels]:
    """Draw the first images of the data, the ground truth left and the detections right."""
    pictures: dict[str, Pixels] = {}
    if not gallery.images:
        return pictures
    for batch in data.batches():
        detections = step(batch).detections
        for index in np.flatnonzero(np.asarray(batch.is_real)).tolist():
            pictures[f"detections/{len(pictures)}"] = _picture(batch, detections, index, gallery)
            if len(pictures) == gallery.images:
                return pictures
    return pictures


def save_pictures(folder: Path, pictures: Mapping[str, Pixels], steps: Collection[int]) -> None:
    """Write pictures as PNG files named after them, and delete the folders of other steps.

    folder: that of one step, such as `pictures/step-00000500`; steps: those that are kept.
    """
    if not pictures:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        save_png(str(folder / f"{name.replace('/', '-')}.png"), picture)
    kept = {step_name(step) for step in steps} | {folder.name}
    for other in folder.parent.glob("step-*"):
        if other.name not in kept:
            shutil.rmtree(other, ignore_errors=True)


def step_name(step: int) -> str:
    """Name the folder of a step, as those of checkpoints are named."""
    return f"step-{step:08d}"


class _Marked(NamedTuple):
    box: NDArray[np.float32]  # (4,)
    name: str
    text: str
    mask: Pixels | None = None  # (H, W) 0 or 1, of the picture
    keypoints: NDArray[np.float32] | None = None  # (K, 2) y, x normalized; NaN = none


PictureSize = tuple[int, int]  # height and width of a picture


def _picture(
    batch: EvaluationBatch, detections: Detections, index: int, gallery: Gallery
) -> Pixels:
    """Put the two pictures of one image side by side."""
    image = _image(batch, index)
    source = batch.source_ids[index].numpy().decode(errors="replace")
    size = image.shape[0], image.shape[1]
    labeled = _labeled(batch, index, gallery, size)
    found = _found(detections, index, gallery, size)
    sides = {
        f"ground truth  {source}".rstrip(): labeled,
        f"found with a score of at least {gallery.min_score:g}": found,
    }
    cells = [Cell(_drawn(image, each, gallery), caption) for caption, each in sides.items()]
    return contact_sheet(cells, columns=2, cell_width=_WIDTH)


def _labeled(
    batch: EvaluationBatch, index: int, gallery: Gallery, size: PictureSize
) -> list[_Marked]:
    truth = batch.truth
    count = int(truth.counts[index])
    boxes = np.asarray(truth.boxes)[index, :count]
    classes = np.asarray(truth.classes)[index, :count]
    marked = []
    for row, number in enumerate(classes):
        mask = keypoints = None
        if truth.encoded_masks is not None:
            encoded = np.asarray(truth.encoded_masks[index])[row]
            mask = _scaled(decode_stored(encoded, *size), size)
        if truth.keypoints is not None:
            keypoints = np.asarray(truth.keypoints[index])[row]
        name = _name(number, gallery)
        marked.append(_Marked(boxes[row], name, name, mask, keypoints))
    return marked


def _found(
    detections: Detections, index: int, gallery: Gallery, size: PictureSize
) -> list[_Marked]:
    count = int(detections.count[index])
    boxes = np.asarray(detections.boxes)[index, :count]
    scores = np.asarray(detections.scores)[index, :count]
    names = [_name(number, gallery) for number in np.asarray(detections.classes)[index, :count]]
    rows = np.flatnonzero(scores >= gallery.min_score)[: gallery.max_boxes]  # by falling score
    marked = []
    for row in rows:
        mask = keypoints = None
        if detections.masks is not None:
            part = paste_mask(np.asarray(detections.masks[index][row]), boxes[row], *size)
            mask = dense_mask(part, *size)
        if detections.keypoints is not None:
            keypoints = _sure_keypoints(detections, index, row, gallery)
        text = f"{names[row]} {scores[row]:.2f}"
        marked.append(_Marked(boxes[row], names[row], text, mask, keypoints))
    return marked


def _sure_keypoints(
    detections: Detections, index: int, row: int, gallery: Gallery
) -> NDArray[np.float32]:
    """Give the keypoints of one detection, NaN where their own score is too low."""
    keypoints = np.array(detections.keypoints[index][row], np.float32)
    if detections.keypoint_scores is not None:
        scores = np.asarray(detections.keypoint_scores[index][row])
        keypoints[scores < gallery.min_score] = np.nan
    return keypoints


def _scaled(mask: NDArray[np.uint8], size: PictureSize) -> NDArray[np.uint8]:
    height, width = size
    return np.asarray(Image.fromarray(mask).resize((width, height), Image.Resampling.NEAREST))


def _name(class_index: int, gallery: Gallery) -> str:
    return gallery.names.get(int(class_index) + 1, str(class_index + 1))


def _drawn(image: Pixels, marked: Sequence[_Marked], gallery: Gallery) -> Pixels:
    """Draw boxes in the color of their class, whatever score their text says."""
    colors = label_colors(gallery.names.values())
    boxes = np.array([each.box for each in marked], np.float32).reshape(-1, 4)
    masks = [each.mask for each in marked if each.mask is not None]
    keypoints = [each.keypoints for each in marked if each.keypoints is not None]
    objects = Objects(
        boxes=boxes,
        labels=[each.text for each in marked],
        masks=np.array(masks) if masks else None,
        keypoints=np.array(keypoints) if keypoints else None,
        edges=gallery.edges,
    )
    return draw_objects(
        image, objects, {each.text: colors.get(each.name, _UNNAMED) for each in marked}
    )


def _image(batch: EvaluationBatch, index: int) -> Pixels:
    """Give one image without its padding, in the shape that it is stored in, fitted into the frame.

    The resizer may have squeezed it into a square; the original pixels are gone by then.
    """
    height, width = (int(side) for side in batch.sizes[index, :2])
    pixels = np.clip(np.asarray(batch.images)[index, :height, :width], 0, 255).astype(np.uint8)
    stored_height, stored_width = (int(side) for side in batch.original_sizes[index])
    scale = min(_WIDTH / stored_width, _HEIGHT / stored_height)
    size = (max(1, round(stored_width * scale)), max(1, round(stored_height * scale)))
    return np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS))
