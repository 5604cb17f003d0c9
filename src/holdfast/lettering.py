"""Text in pictures: a font that has its characters, or else the characters' numbers."""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

Color = tuple[int, int, int]
Font = ImageFont.FreeTypeFont

FONT_SIZE = 13
LINE_HEIGHT = FONT_SIZE + 6

# Fonts with many scripts that systems come with, the plainest first.
_KNOWN_FONTS = (
    *("DejaVuSans.ttf", "NotoSans-Regular.ttf", "segoeui.ttf", "arial.ttf", "Arial.ttf"),
    *("NotoSansCJK-Regular.ttc", "NotoSansCJKsc-Regular.otf", "NotoSansSC-Regular.otf"),
    *("msyh.ttc", "PingFang.ttc", "Hiragino Sans GB.ttc", "meiryo.ttc", "malgun.ttf"),
    *("AppleSDGothicNeo.ttc", "NotoSansArabic-Regular.ttf", "NotoSansHebrew-Regular.ttf"),
    *("NotoSansDevanagari-Regular.ttf", "NotoSansThai-Regular.ttf", "Nirmala.ttc", "Nirmala.ttf"),
    *("Arial Unicode.ttf", "ARIALUNI.TTF", "wqy-zenhei.ttc", "wqy-microhei.ttc"),
    *("DroidSansFallbackFull.ttf", "FreeSans.ttf", "unifont.otf", "unifont.ttf"),
)
_FONT_ENDINGS = (".ttf", ".otf", ".ttc")
_SLANTED = ("bold", "italic", "oblique", "light", "thin", "black", "medium", "condensed", "mono")
_FONTS_TRIED = 300  # of those that are not known: more would keep a user waiting
_NO_CHARACTER = "\U0010fffe"  # Unicode gives it to none: every font draws its box for it


class Lettering(NamedTuple):
    """A text as it can be drawn."""

    text: str  # without line breaks; what no font has is written as e for é, U+732B for others
    font: Font
    missing: str  # the characters that no font has


def text_width(text: str, scale: float = 1.0) -> int:
    """Give the width of a text in pixels."""
    drawn = lettering(text)
    return int(_PEN.textlength(drawn.text, _scaled(drawn.font, scale)))


def shortened_end(text: str, width: int, scale: float = 1.0) -> str:
    """Cut the end off a text that is too wide; something of it stays.

    >>> shortened_end("a long name", 60), shortened_end("a", 60)
    ('a lon...', 'a')
    """
    if text_width(text, scale) <= width:
        return text
    while len(text) > 1 and text_width(f"{text}...", scale) > width:
        text = text[:-1]
    return f"{text.rstrip()}..."


def write(
    pen: ImageDraw.ImageDraw,
    corner: tuple[float, float],
    text: str,
    color: Color,
    scale: float = 1.0,
) -> None:
    """Write one line of text; texts in different fonts stand on one line."""
    drawn = lettering(text)
    left, top = corner
    baseline = top + _scaled(_plain_font(), scale).getmetrics()[0]
    font = _scaled(drawn.font, scale)
    pen.text((left, baseline), drawn.text, fill=color, font=font, anchor="ls")


@cache
def lettering(text: str) -> Lettering:
    """Choose the font that has most of a text's characters, and spell out the others."""
    visible = "".join(map(_visible, text))
    needed = {each for each in visible if unicodedata.category(each) != "Cf"}
    best, missing = _plain_font(), needed
    for font in _fonts():
        lacking = {each for each in needed if not _has(font, each)}
        if len(lacking) < len(missing):
            best, missing = font, lacking
        if not missing:
            break
    spelled = "".join(_spelled(each, best) if each in missing else each for each in visible)
    return Lettering(spelled, best, "".join(each for each in visible if each in missing))


def _visible(character: str) -> str:
    """Spell out what has no shape: line breaks, control characters, bytes that are not text."""
    match unicodedata.category(character):
        case "Cc":
            return character.encode("unicode_escape").decode()
        case "Cs":
            return f"\\x{ord(character) & 0xFF:02x}"
        case _:
            return character


def _spelled(character: str, font: Font) -> str:
    """Give the letter below the accents, or the number of the character."""
    bare = "".join(
        each for each in unicodedata.normalize("NFKD", character) if not unicodedata.combining(each)
    )
    is_drawn = bare and all(_has(font, each) for each in bare)
    return bare if is_drawn else f"U+{ord(character):04X}"


def _fonts() -> Iterator[Font]:
    """Give Pillow's own font, which has Latin letters, then those of the system."""
    yield _plain_font()
    for path in _system_fonts():
        font = _open(path)
        if font is not None:
            yield font


@cache
def _plain_font() -> Font:
    font = ImageFont.load_default(FONT_SIZE)
    if not isinstance(font, ImageFont.FreeTypeFont):  # a Pillow that was built without FreeType
        raise RuntimeError("Pillow has no FreeType support: pip install --force-reinstall pillow")
    return font


@cache
def _scaled(font: Font, scale: float) -> Font:
    """Give a font in another size."""
    return font if scale == 1.0 else font.font_variant(size=FONT_SIZE * scale)


@cache
def _system_fonts() -> tuple[str, ...]:
    """List font files: the known ones in their order, then plain ones of any other name."""
    found = {
        path.name: str(path)
        for folder in _font_folders()
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in _FONT_ENDINGS
    }
    known = [found.pop(name) for name in _KNOWN_FONTS if name in found]
    others = [
        path for name, path in found.items() if not any(word in name.lower() for word in _SLANTED)
    ]
    return (*known, *others[:_FONTS_TRIED])


def _font_folders() -> list[Path]:
    home = Path.home()
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA", home)) / "Microsoft/Windows/Fonts"
        folders = [Path(os.environ.get("WINDIR", "C:/Windows")) / "Fonts", local]
    elif sys.platform == "darwin":
        folders = [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"]
    else:
        shared = [Path("/usr/share/fonts"), Path("/usr/local/share/fonts")]
        folders = [*shared, home / ".local/share/fonts", home / ".fonts"]
    return [folder for folder in folders if folder.is_dir()]


@cache
def _open(path: str) -> Font | None:
    try:
        return ImageFont.truetype(path, FONT_SIZE)
    except (OSError, ValueError):  # damaged, or made of pictures of one size, as of emoji
        return None


@cache
def _has(font: Font, character: str) -> bool:
    """Tell whether a font has a character: what it lacks looks like what no font can have."""
    return character.isspace() or _shape(font, character) != _shape(font, _NO_CHARACTER)


def _shape(font: Font, character: str) -> tuple[tuple[int, int], bytes]:
    mask = _unshaped(font).getmask(character)
    return mask.size, bytes(mask)


@cache
def _unshaped(font: Font) -> Font:
    """Give the font without the shaping of whole words, which adds circles to lone vowel signs."""
    return font.font_variant(layout_engine=ImageFont.Layout.BASIC)


_PEN = ImageDraw.Draw(Image.new("RGB", (1, 1)))
