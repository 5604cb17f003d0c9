from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.doctor.cases import found
from tests.doctor.scenes import Scene, changed, data_case, scenes

TRAIN, EVALUATION = scenes(24), scenes(12, first=50)


def sixteen_bits(each: Scene) -> Scene:
    """Store 12 bits in a PNG of 16, as cameras of microscopes do."""
    gray = each.pixels.mean(axis=-1) / 255 * 4095
    stream = io.BytesIO()
    Image.fromarray(gray.astype(np.uint16)).save(stream, "PNG")
    return each._replace(encoded=stream.getvalue())


def with_pixels(every: list[Scene], change: object) -> list[Scene]:
    return changed(every, lambda each: each._replace(pixels=change(each.pixels)))  # type: ignore


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pixels: 255 - pixels, "inverted"),
        (lambda pixels: np.ascontiguousarray(pixels[..., ::-1]) // 1, None),
        (lambda pixels: (pixels > 127).astype(np.uint8), "almost black"),
        (lambda pixels: np.zeros_like(pixels) + 90, "of one color"),
        (lambda pixels: ((pixels > 127) * 255).astype(np.uint8)[..., :1].repeat(3, -1), "levels"),
    ],
)
def test_a_part_of_the_images_is_odd(tmp_path: Path, change, words: str | None):
    train = [*with_pixels(TRAIN[:6], change), *TRAIN[6:]]
    finding = found(data_case(tmp_path, train, EVALUATION), "odd-pixels")
    if words is None:  # the ground is gray: red and blue exchanged look much the same
        assert finding is None
        return
    assert finding is not None
    assert finding.severity == "warning"
    assert words in finding.what
    assert finding.evidence["odd"][0]["images"] == 6


def test_16_bits_read_as_8_are_an_error_that_says_so(tmp_path: Path):
    finding = found(data_case(tmp_path, changed(TRAIN, sixteen_bits), EVALUATION), "odd-pixels")
    assert finding is not None
    assert finding.severity == "error"
    assert "almost black" in finding.what
    assert "16 bits" in finding.what


def test_an_inverted_evaluation_is_an_error(tmp_path: Path):
    case = data_case(tmp_path, TRAIN, with_pixels(EVALUATION, lambda pixels: 255 - pixels))
    finding = found(case, "odd-pixels")
    assert finding is not None
    assert finding.severity == "error"
    assert "evaluation" in finding.what


def test_red_and_blue_exchanged_are_seen_on_colored_ground(tmp_path: Path):
    warm = np.array([40, 0, -60])
    tint = lambda pixels: (pixels + warm).clip(0, 255).astype(np.uint8)  # noqa: E731
    train, evaluation = with_pixels(TRAIN, tint), with_pixels(EVALUATION, tint)
    other = with_pixels(evaluation, lambda pixels: pixels[..., ::-1].copy())
    finding = found(data_case(tmp_path / "wrong", train, other), "odd-pixels")
    assert finding is not None
    assert "red and blue exchanged" in finding.what
    assert found(data_case(tmp_path / "right", train, evaluation), "odd-pixels") is None


def test_gray_training_images_beside_a_colored_evaluation_are_a_warning(tmp_path: Path):
    gray = with_pixels(TRAIN, lambda pixels: pixels[..., :1].repeat(3, axis=-1))
    finding = found(data_case(tmp_path, gray, EVALUATION), "odd-pixels")
    assert finding is not None
    assert finding.severity == "warning"
    assert "gray" in finding.what


def test_plain_images_are_fine(tmp_path: Path):
    assert found(data_case(tmp_path, TRAIN, EVALUATION), "odd-pixels") is None


def of_any_light(every: list[Scene]) -> list[Scene]:
    """Let images be as unequal as photographs are, most of them rather dark."""
    random = np.random.default_rng(0)
    light = {each.name: random.uniform(0.15, 0.6) for each in every}
    return changed(
        every, lambda each: each._replace(pixels=(each.pixels * light[each.name]).astype(np.uint8))
    )


def test_a_bright_photograph_among_dark_ones_is_not_inverted(tmp_path: Path):
    train = [*of_any_light(scenes(24)), *TRAIN[:2]]
    assert found(data_case(tmp_path, train, of_any_light(EVALUATION)), "odd-pixels") is None


def test_inverted_photographs_are_seen_by_their_median(tmp_path: Path):
    inverted = with_pixels(of_any_light(EVALUATION), lambda pixels: 255 - pixels)
    finding = found(data_case(tmp_path, of_any_light(TRAIN), inverted), "odd-pixels")
    assert finding is not None
    assert "inverted" in finding.what
