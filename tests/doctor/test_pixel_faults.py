from __future__ import annotations

import numpy as np
import pytest

from holdfast.doctor.looks import ImageLook
from holdfast.doctor.pixel_faults import fault_of_all
from holdfast.doctor.pixel_measures import measured
from holdfast.doctor.whole_images import WholeImage

# Nothing of it is looked at.
IMAGE = WholeImage(
    name="",
    place="",
    content=b"",
    height=4,
    width=4,
    boxes=np.zeros((0, 4), np.float32),
    class_names=(),
)


def looks(count: int, warmth: float, spread: float, seed: int) -> list[ImageLook]:
    """Images of any brightness, in which red exceeds blue by about the warmth."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        middle, warm = random.uniform(70, 180), random.normal(warmth, spread)
        color = np.array([middle + warm / 2, middle, middle - warm / 2]).round()
        pixels = np.tile(color, (4, 4, 1)).astype(np.uint8)
        found.append(ImageLook(IMAGE, pixels, measured(pixels)))
    return found


def exchanged(every: list[ImageLook]) -> list[ImageLook]:
    return [
        each._replace(measures=measured(np.ascontiguousarray(each.thumbnail[..., ::-1])))
        for each in every
    ]


@pytest.mark.parametrize(("warmth", "spread"), [(6, 2.5), (18, 14), (-20, 8)])
def test_red_and_blue_exchanged_are_seen_in_pale_and_unequal_images(warmth: float, spread: float):
    train, other = (looks(60, warmth, spread, seed) for seed in (0, 1))
    assert fault_of_all(train, other) is None
    assert fault_of_all(train, exchanged(other)) == "with red and blue exchanged"


def test_gray_images_have_nothing_to_exchange():
    train, other = (looks(60, 0, 0, seed) for seed in (0, 1))
    assert fault_of_all(train, exchanged(other)) is None


def test_another_light_is_not_taken_for_exchanged_colors():
    assert fault_of_all(looks(60, 20, 5, 0), looks(60, -5, 5, 1)) is None


def test_few_images_say_nothing():
    assert fault_of_all(looks(60, 20, 5, 0), exchanged(looks(5, 20, 5, 1))) is None
