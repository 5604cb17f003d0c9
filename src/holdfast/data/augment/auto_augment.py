"""AutoAugment: learned policies of color changes and moves (arXiv:1805.09501, 1906.11172)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import tensorflow as tf

from holdfast.data.augment import auto_augment_colors as colors
from holdfast.data.augment import auto_augment_moves as moves
from holdfast.data.augment.augmentations import augmentation
from holdfast.data.augment.auto_augment_moves import Motion, MovedScene
from holdfast.data.augment.auto_augment_policies import POLICIES, Step
from holdfast.data.augment.draws import sometimes, uniforms, whole_between
from holdfast.data.augment.frames import forget_keypoints_outside, keep_objects
from holdfast.data.sample import Sample, Tensor
from holdfast.errors import HoldfastError

# Of the picture: (scene, *, seed, level); of a box: (scene, corner, size, *, number, seed, level);
# the level is a part of 1.
Operation = Callable[..., MovedScene]


@augmentation
def autoaugment_image(sample: Sample, seed: Tensor, *, policy_name: str = "v0") -> Sample:
    """Apply one sub-policy, chosen at random, of a learned policy: v0, v1, v2 or v3."""
    if policy_name not in POLICIES:
        raise HoldfastError(
            f"autoaugment_image: there is no policy {policy_name!r}.",
            fix=f"Known: {', '.join(POLICIES)}.",
        )
    policy = POLICIES[policy_name]
    seeds = tf.random.split(seed, 2)
    scene = _scene(sample)
    branches = [partial(_apply, scene, seeds[1], steps) for steps in policy]
    which = whole_between(uniforms(seeds[0], 1)[0], 0, len(policy))
    changed = tf.switch_case(which, branches)
    result = sample._replace(
        image=tf.cast(changed.image, sample.image.dtype),
        boxes=changed.boxes,
        masks=None if sample.masks is None else changed.masks,
        keypoints=None if sample.keypoints is None else changed.keypoints,
    )
    return keep_objects(forget_keypoints_outside(result), changed.present)


def _scene(sample: Sample) -> MovedScene:
    masks, keypoints = sample.masks, sample.keypoints
    if masks is None:
        masks = tf.zeros([0, *tf.unstack(tf.shape(sample.image)[:2])], tf.uint8)
    if keypoints is None:
        keypoints = tf.zeros([0, 0, 2])
    return MovedScene(
        image=tf.saturate_cast(sample.image, tf.uint8),
        boxes=sample.boxes,
        present=tf.ones_like(sample.classes, tf.bool),
        masks=masks,
        keypoints=keypoints,
    )


def _apply(scene: MovedScene, seed: Tensor, steps: tuple[Step, ...]) -> MovedScene:
    for number, (name, probability, level) in enumerate(steps):
        seeds = tf.random.split(tf.random.fold_in(seed, number), 2)
        if name in _IN_BOXES:
            change = partial(_IN_BOXES[name], seed=seeds[0], level=level / 10.0)
            scene = _in_some_boxes(scene, seeds[1], probability, change)
        else:
            draw = uniforms(seeds[1], 1)[0]
            operation = partial(_OPERATIONS[name], seed=seeds[0], level=level / 10.0)
            scene = sometimes(draw, probability, operation, scene)
    return scene


def _in_some_boxes(
    scene: MovedScene, seed: Tensor, probability: float, change: Callable[..., MovedScene]
) -> MovedScene:
    """Change what is in each box with a third of the probability, in random order."""
    if probability <= 0.0:
        return scene
    draws = tf.random.stateless_uniform(tf.shape(scene.present), seed)
    draws = tf.where(scene.present, draws, 1.0)
    order = tf.argsort(draws)
    count = tf.reduce_sum(tf.cast(draws < probability / 3.0, tf.int32))  # the first in the order

    def next_box(number: Tensor, scene: MovedScene) -> tuple[Tensor, MovedScene]:
        corner, size = moves.pixels_of(tf.gather(scene.boxes, order[number]), scene.image)
        return number + 1, change(scene, corner, size, number=number)

    state = (tf.constant(0), scene)
    _, changed = tf.while_loop(lambda number, _: number < count, next_box, state)
    result: MovedScene = changed
    return result


def _sign(seed: Tensor) -> Tensor:
    return tf.where(uniforms(seed, 1)[0] < 0.5, -1.0, 1.0)


def _strength(level: float) -> float:
    """Map a level to the factor of PIL's enhancers; 1 changes nothing."""
    return level * 1.8 + 0.1


def _painted(change: Callable[[Tensor, float], Tensor]) -> Operation:
    def operation(scene: MovedScene, seed: Tensor, level: float) -> MovedScene:
        return scene._replace(image=change(scene.image, level))

    return operation


def _moved(motion: Callable[[Tensor], Motion], most: float) -> Operation:
    def operation(scene: MovedScene, seed: Tensor, level: float) -> MovedScene:
        return moves.move_all(scene, motion(_sign(seed) * level * most))

    return operation


def _cutout(scene: MovedScene, seed: Tensor, level: float) -> MovedScene:
    reach = tf.constant([int(level * 100)] * 2)
    center = whole_between(tf.random.stateless_uniform([2], seed), 0, tf.shape(scene.image)[:2])
    return scene._replace(image=moves.cutout(scene.image, center, reach))


def _box_cutout(scene: MovedScene, seed: Tensor, level: float) -> MovedScene:
    """Gray out a part of one box."""
    draws = tf.random.stateless_uniform([3], seed)

    def cut() -> Tensor:
        chosen = tf.gather(scene.boxes, whole_between(draws[0], 0, tf.shape(scene.boxes)[0]))
        corner, size = moves.pixels_of(chosen, scene.image)
        reach = tf.cast(level * 0.75 * tf.cast(size, tf.float32) / 2.0, tf.int32)
        return moves.cutout(scene.image, whole_between(draws[1:], corner, corner + size), reach)

    has_boxes = tf.shape(scene.boxes)[0] > 0
    return scene._replace(image=tf.cond(has_boxes, cut, lambda: scene.image))


def _moved_in_box(motion: Callable[[Tensor], Motion], most: float) -> Operation:
    def operation(
        scene: MovedScene,
        corner: Tensor,
        size: Tensor,
        *,
        number: Tensor,
        seed: Tensor,
        level: float,
    ) -> MovedScene:
        # One sign for all boxes of the image.
        return moves.move_within(scene, corner, size, motion(_sign(seed) * level * most))

    return operation


def _equalized_in_box(
    scene: MovedScene, corner: Tensor, size: Tensor, *, number: Tensor, seed: Tensor, level: float
) -> MovedScene:
    return moves.paint_within(scene, corner, size, colors.equalize)


def _cutout_in_box(
    scene: MovedScene, corner: Tensor, size: Tensor, *, number: Tensor, seed: Tensor, level: float
) -> MovedScene:
    draws = tf.random.stateless_uniform([2], tf.random.fold_in(seed, number))
    center, reach = whole_between(draws, 0, size), tf.constant([int(level * 50)] * 2)
    return moves.paint_within(scene, corner, size, lambda piece: moves.cutout(piece, center, reach))


_OPERATIONS: dict[str, Operation] = {
    "AutoContrast": _painted(lambda image, level: colors.autocontrast(image)),
    "Equalize": _painted(lambda image, level: colors.equalize(image)),
    "Posterize": _painted(lambda image, level: colors.posterize(image, int(level * 4))),
    "Solarize": _painted(lambda image, level: colors.solarize(image, int(level * 256))),
    "SolarizeAdd": _painted(lambda image, level: colors.solarize_add(image, int(level * 110))),
    "Color": _painted(lambda image, level: colors.color(image, _strength(level))),
    "Contrast": _painted(lambda image, level: colors.contrast(image, _strength(level))),
    "Brightness": _painted(lambda image, level: colors.brightness(image, _strength(level))),
    "Sharpness": _painted(lambda image, level: colors.sharpness(image, _strength(level))),
    "Cutout": _cutout,
    "BBox_Cutout": _box_cutout,
    "Rotate_BBox": _moved(moves.rotation, 30.0),
    "TranslateX_BBox": _moved(lambda pixels: moves.shift(pixels, 0.0), 250.0),
    "TranslateY_BBox": _moved(lambda pixels: moves.shift(0.0, pixels), 250.0),
    "ShearX_BBox": _moved(lambda slope: moves.shear(slope, 0.0), 0.3),
    "ShearY_BBox": _moved(lambda slope: moves.shear(0.0, slope), 0.3),
}
_IN_BOXES: dict[str, Operation] = {
    "TranslateY_Only_BBoxes": _moved_in_box(lambda pixels: moves.shift(0.0, pixels), 120.0),
    "ShearX_Only_BBoxes": _moved_in_box(lambda slope: moves.shear(slope, 0.0), 0.3),
    "ShearY_Only_BBoxes": _moved_in_box(lambda slope: moves.shear(0.0, slope), 0.3),
    "Flip_Only_BBoxes": _moved_in_box(lambda _: moves.mirror(), 0.0),
    "Equalize_Only_BBoxes": _equalized_in_box,
    "Cutout_Only_BBoxes": _cutout_in_box,
}
