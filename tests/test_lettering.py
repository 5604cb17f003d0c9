"""Any text can be drawn: in a font that has it, or spelled out so that it can be told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from holdfast import lettering as module
from holdfast.lettering import lettering, text_width, write

DEJAVU = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


@pytest.fixture(autouse=True)
def forgetful():
    """What is remembered of the machine's fonts must not reach other tests, nor come from them."""
    system_fonts, chosen = module._system_fonts, module.lettering
    for remembered in (system_fonts, chosen):
        remembered.cache_clear()
    yield
    for remembered in (system_fonts, chosen):
        remembered.cache_clear()


def ink(text: str) -> np.ndarray:
    """Give the pixels of a text, True where there is ink."""
    picture = Image.new("RGB", (400, 40))
    write(ImageDraw.Draw(picture), (5, 5), text, (255, 255, 255))
    return np.asarray(picture).max(axis=-1) > 100


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("two\nlines\r\t", r"two\nlines\r\t"),
        ("nul\0", r"nul\x00"),
        ("no\udcfftext", r"no\xfftext"),
        ("plain", "plain"),
    ],
)
def test_what_has_no_shape_is_spelled_out(text, drawn):
    assert lettering(text).text == drawn
    assert lettering(text).missing == ""
    assert ink(text).any()


def test_without_a_font_accents_fall_off_and_other_scripts_become_numbers(monkeypatch):
    monkeypatch.setattr(module, "_font_folders", list)
    assert lettering("café").text == "cafe"
    assert lettering("猫 عر").text == "U+732B U+0639U+0631"
    assert lettering("猫 é").missing == "猫é"
    assert lettering("").text == ""


@pytest.mark.skipif(not DEJAVU.exists(), reason="the font is not here")
@pytest.mark.parametrize("text", ["é", "ü", "عربي", "Кошка", "γάτα"])
def test_a_font_of_the_system_that_has_the_letters_is_taken(text, monkeypatch):
    monkeypatch.setattr(module, "_system_fonts", lambda: (str(DEJAVU),))
    drawn = lettering(text)
    assert (drawn.text, drawn.missing) == (text, "")
    assert drawn.font.getname()[0] == "DejaVu Sans"
    boxes = ink("\U0010fffe" * len(text))  # what a font draws for what it lacks
    assert not np.array_equal(ink(text), boxes)


def test_damaged_fonts_are_passed_over(tmp_path, monkeypatch):
    (tmp_path / "DejaVuSans.ttf").write_bytes(b"no font")
    monkeypatch.setattr(module, "_font_folders", lambda: [tmp_path])
    assert lettering("猫").text == "U+732B"


def test_texts_of_any_font_stand_on_one_line():
    plain, accented = ink("xx"), ink("xéx")
    bottom = [int(np.flatnonzero(each.any(axis=1)).max()) for each in (plain, accented)]
    assert abs(bottom[0] - bottom[1]) <= 1


def test_the_width_is_that_of_what_is_drawn():
    for text in ("short", "a longer text", "two\nlines", "猫"):
        columns = np.flatnonzero(ink(text).any(axis=0))
        assert abs(int(columns.max()) - 5 - text_width(text)) <= 3
