from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image, PngImagePlugin

from holdfast.data.sources import image_files as images
from holdfast.data.sources.image_files import Size, read_header, take_picture, why_not_decodable
from holdfast.errors import HoldfastError

from ..example_records import claiming

ORIENTATION = 0x0112


def smooth(width=48, height=32):
    """An image that survives JPEG and whose corners all differ."""
    y, x = np.mgrid[:height, :width]
    pixels = np.stack([255 * x / width, 255 * y / height, 128 + 0 * x], axis=-1)
    return Image.fromarray(pixels.astype(np.uint8))


def encode(image, form="JPEG", orientation=None, **options):
    exif = Image.Exif()
    if orientation:
        exif[ORIENTATION] = orientation
    stream = io.BytesIO()
    image.save(stream, form, exif=exif, **options)
    return stream.getvalue()


def pixels(encoded):
    return np.asarray(Image.open(io.BytesIO(encoded)).convert("RGB")).astype(int)


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP"])
def test_format_and_size_are_read_from_the_file_and_its_bytes_stay(form):
    stream = io.BytesIO()
    smooth().save(stream, form)
    encoded = stream.getvalue()
    assert read_header(encoded) == (form.lower(), Size(48, 32), 1)
    assert take_picture(encoded) == (encoded, Size(48, 32), ())


@pytest.mark.parametrize("orientation", range(2, 9))
def test_an_image_turned_by_exif_is_rewritten_upright(orientation):
    upright = smooth()
    back = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    encoded = encode(upright.transpose(back), orientation=orientation, quality=95)
    picture = take_picture(encoded, declared=Size(48, 32))
    assert picture.remarks == (images.TURNED,)
    assert picture.size == Size(48, 32)
    assert read_header(picture.encoded) == ("jpeg", Size(48, 32), 1)
    assert np.abs(pixels(picture.encoded) - np.asarray(upright)).mean() < 3


def test_an_image_that_was_labeled_as_stored_loses_only_its_exif():
    encoded = encode(smooth(), orientation=6, quality=95)
    picture = take_picture(encoded, declared=Size(48, 32))
    assert picture.remarks == (images.NOT_TURNED,)
    assert picture.size == Size(48, 32)
    assert read_header(picture.encoded).orientation == 1
    np.testing.assert_array_equal(pixels(picture.encoded), pixels(encoded))


def test_without_a_declared_size_an_image_is_seen_upright():
    assert take_picture(encode(smooth(), orientation=6)).size == Size(32, 48)


def test_a_png_turned_by_exif_loses_nothing():
    picture = take_picture(encode(smooth(), "PNG", orientation=3))
    expected = np.asarray(smooth().transpose(Image.Transpose.ROTATE_180))
    np.testing.assert_array_equal(pixels(picture.encoded), expected)


@pytest.mark.parametrize(("form", "mode"), [("WEBP", "RGB"), ("TIFF", "RGB"), ("TIFF", "CMYK")])
def test_formats_that_tensorflow_does_not_decode_become_png(form, mode):
    image = smooth().convert(mode)
    stream = io.BytesIO()
    image.save(stream, form, **({"lossless": True} if form == "WEBP" else {}))
    picture = take_picture(stream.getvalue())
    assert picture.remarks == (images.REWRITTEN,)
    assert read_header(picture.encoded).format == "png"
    np.testing.assert_array_equal(pixels(picture.encoded), np.asarray(image.convert("RGB")))


def test_pixels_that_do_not_fit_are_refused():
    stream = io.BytesIO()
    Image.fromarray(np.zeros((4, 4), np.float32)).save(stream, "TIFF")
    with pytest.raises(HoldfastError, match="does not fit 8 bits"):
        take_picture(stream.getvalue())


@pytest.mark.parametrize("encoded", [b"", b"not an image", b"\xff\xd8\xff\xe0"])
def test_what_is_no_image_is_told(encoded):
    with pytest.raises(HoldfastError, match=r"empty|not an image|cut off"):
        read_header(encoded)


def test_a_declared_size_that_is_not_true_is_remarked():
    encoded = encode(smooth())
    assert take_picture(encoded, Size(24, 16)).remarks == (images.SIZE_DIFFERS,)
    assert take_picture(encoded, images.NO_SIZE).remarks == (images.SIZE_MISSING,)
    assert take_picture(encoded, Size(24, 16)).size == Size(48, 32)


def test_damaged_exif_does_not_hide_an_image():
    encoded = encode(smooth(), orientation=6)
    damaged = encoded.replace(b"MM\x00*", b"MM\xff\xff").replace(b"II*\x00", b"II\xff\xff")
    assert read_header(damaged).size == Size(48, 32)


@pytest.mark.parametrize("length", [1, 2, 3, 5, 9, 17, 30])
@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_the_beginning_of_a_file_is_not_an_image(form, length):
    stream = io.BytesIO()
    smooth().save(stream, form)
    for content in (stream.getvalue()[:length], bytes(length)):
        try:
            size = read_header(content).size
        except HoldfastError:
            continue
        assert size == Size(48, 32)  # some say their size that early


# --- large images --------------------------------------------------------------------------------


def test_importing_leaves_the_guard_of_pillow_to_the_process():
    code = """
import pkgutil
from PIL import Image, PngImagePlugin
before = Image.MAX_IMAGE_PIXELS
import holdfast.data.sources, holdfast.data.survey.observe, holdfast.pictures
for each in pkgutil.iter_modules(holdfast.data.sources.__path__, "holdfast.data.sources."):
    __import__(each.name)
assert Image.MAX_IMAGE_PIXELS == before is not None
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_large_scan_is_taken_whatever_the_limit_of_pillow_is(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    encoded = encode(smooth(), "PNG")
    assert take_picture(encoded).size == Size(48, 32)
    assert take_picture(encode(smooth(), orientation=6)).remarks == (images.TURNED,)
    scan = claiming(20_000, 15_000) + bytes(6_000_000)
    assert take_picture(scan) == (scan, Size(20_000, 15_000), ())


@pytest.mark.parametrize("size", [(20_000, 15_000), (15_000, 15_000)])
def test_a_file_made_to_fill_the_memory_is_refused_before_it_is_decoded(monkeypatch, size):
    monkeypatch.setattr(images, "_decode", None)  # calling it would be an error
    bomb = claiming(*size)
    with pytest.raises(HoldfastError, match=r"more than 200 times.*leave it out, or cut it into"):
        take_picture(bomb)
    assert f"{size[0]} x {size[1]} pixels" in why_not_decodable(bomb)


@pytest.mark.parametrize("chunk", [b"", b"eXIf", b"iTXtXML:com.adobe.xmp"])
def test_the_header_of_a_file_made_to_fill_the_memory_is_read_without_its_pixels(
    monkeypatch, chunk
):
    stream = io.BytesIO()
    Image.new("1", (30_000, 30_000)).save(stream, "PNG")
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", lambda image: pytest.fail("decoded"))
    length = max(0, len(chunk) - 4).to_bytes(4, "big")
    bomb = stream.getvalue() + (length + chunk + bytes(4) if chunk else b"")
    assert read_header(bomb).size == Size(30_000, 30_000)


def test_the_pixels_of_a_png_are_decoded_for_its_orientation_only_where_it_may_have_one(
    monkeypatch,
):
    plain, turned = encode(smooth(), "PNG"), encode(smooth(), "PNG", orientation=6)
    length = len(turned) - len(plain)  # the chunk, which may also follow the pixels
    start = turned.index(b"eXIf") - 4
    chunk = turned[start : start + length]
    moved = turned[:start] + turned[start + length : -12] + chunk + turned[-12:]
    assert [read_header(each).orientation for each in (plain, turned, moved)] == [1, 6, 6]
    monkeypatch.setattr(PngImagePlugin.PngImageFile, "load", lambda image: pytest.fail("decoded"))
    assert [read_header(each).orientation for each in (plain, turned)] == [1, 6]


def test_an_image_that_tensorflow_cannot_hold_is_refused_with_the_limit():
    huge = claiming(30_000, 30_000) + bytes(20_000_000)
    with pytest.raises(HoldfastError, match="up to 715 million; cut it into tiles"):
        take_picture(huge)


def test_a_small_image_may_be_compressed_as_well_as_it_likes():
    black = encode(Image.new("RGB", (4000, 3000)), "PNG")
    assert 500 * len(black) < 4000 * 3000 * 3
    assert take_picture(black).encoded == black
