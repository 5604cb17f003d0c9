"""Image files: what they are, how large, which way up, and bytes that every decoder agrees on."""

from __future__ import annotations

import io
import warnings
from typing import NamedTuple

from PIL import ExifTags, Image, ImageOps, JpegImagePlugin

from holdfast.errors import HoldfastError

# Large scans are what tiled detection is made of; the data is the user's own.
Image.MAX_IMAGE_PIXELS = None

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".jfif")
# What TensorFlow's decoders read; an MPO file is a JPEG with further pictures behind it.
FORMATS = {"JPEG": "jpeg", "MPO": "jpeg", "PNG": "png", "GIF": "gif", "BMP": "bmp"}
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
_RGB_MODES = ("CMYK", "HSV", "LAB", "PA", "RGBX", "YCbCr")  # 8 bits, but not for PNG


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


NO_SIZE = Size(0, 0)  # the annotation should give the size and does not
SIZE_MISSING = "no image size in the annotation: the image's own is used"
SIZE_DIFFERS = "image size in the annotation is not that of the image: the image's own is used"
TURNED = "turned by its EXIF orientation, as labelling tools show it: rewritten upright"
NOT_TURNED = "labelled without regard to its EXIF orientation: the EXIF data is left out"
REWRITTEN = "not a JPEG, PNG, GIF or BMP file: rewritten as PNG"


class Header(NamedTuple):
    """What an image file says about itself before its pixels."""

    format: str  # jpeg, png, gif, bmp, or Pillow's name of another one in small letters
    size: Size  # as stored, before any turning
    orientation: int  # EXIF: 1 is upright, 5 to 8 swap width and height


class Picture(NamedTuple):
    """An image file whose stored pixels are what its annotation speaks of."""

    encoded: bytes
    size: Size
    remarks: tuple[str, ...] = ()


def read_header(encoded: bytes) -> Header:
    """Read format, size and orientation of an encoded image."""
    if not encoded:
        raise HoldfastError("The image file is empty.")
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(encoded)) as image:
            name = str(image.format)
            return Header(FORMATS.get(name, name.lower()), Size(*image.size), _orientation(image))
    except (OSError, SyntaxError, ValueError):
        raise HoldfastError("The image file is not an image that can be read.") from None


def take_picture(encoded: bytes, declared: Size | None = None) -> Picture:
    """Make sure that an image means the same to every reader, and say what had to be done.

    The bytes stay as they are, unless EXIF turns the image (readers disagree about that) or its
    format is one that TensorFlow does not decode. `declared` is the size the annotation gives
    (None: its format gives none): of an image that EXIF turns by 90 degrees it tells which way
    the annotation sees it.
    """
    header = read_header(encoded)
    remarks = []
    if header.orientation != 1:
        as_stored = declared == header.size and _upright_size(header) != header.size
        remarks.append(NOT_TURNED if as_stored else TURNED)
        encoded = _without_exif(encoded, header) if as_stored else _upright(encoded)
    elif header.format not in FORMATS.values():
        remarks.append(REWRITTEN)
        encoded = _rewrite(encoded)
    size = read_header(encoded).size if remarks else header.size
    if declared is not None and declared != size:
        remarks.append(SIZE_DIFFERS if min(declared) > 0 else SIZE_MISSING)
    return Picture(encoded, size, tuple(remarks))


def _orientation(image: Image.Image) -> int:
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # damaged EXIF data raises whatever its parser stumbles over
        return 1
    return orientation if orientation in range(1, 9) else 1


def _upright_size(header: Header) -> Size:
    width, height = header.size
    return Size(height, width) if header.orientation >= 5 else header.size


def _upright(encoded: bytes) -> bytes:
    """Turn the pixels; a JPEG keeps its quantisation, so that next to nothing is lost."""
    image = _decode(encoded)
    turned = ImageOps.exif_transpose(image)
    if not isinstance(image, JpegImagePlugin.JpegImageFile):
        return _save(_bare(turned), format="PNG")
    tables, sampling = image.quantization, JpegImagePlugin.get_sampling(image)
    return _save(_bare(turned), format="JPEG", qtables=tables, subsampling=sampling)


def _without_exif(encoded: bytes, header: Header) -> bytes:
    """Drop the EXIF segments of a JPEG without touching its pixels."""
    if header.format != "jpeg":
        return _save(_bare(_decode(encoded)), format="PNG")
    kept, position = bytearray(encoded[:2]), 2  # SOI; then segments up to SOS, 0xFFDA
    while position + 4 <= len(encoded) and encoded[position + 1] != 0xDA:
        end = position + 2 + int.from_bytes(encoded[position + 2 : position + 4], "big")
        segment = encoded[position:end]
        if not (segment[1] == 0xE1 and segment[4:8] == b"Exif"):
            kept += segment
        position = end
    return bytes(kept) + encoded[position:]


def _rewrite(encoded: bytes) -> bytes:
    image = _decode(encoded)
    if image.mode not in _PNG_MODES + _RGB_MODES:
        raise HoldfastError(
            f"The image has pixels of a kind ({image.mode}) that does not fit 8 bits.",
            fix="Convert it to an 8-bit JPEG or PNG file.",
        )
    return _save(_bare(image.convert("RGB") if image.mode in _RGB_MODES else image), format="PNG")


def _bare(image: Image.Image) -> Image.Image:
    """Leave out everything but the pixels, so that equal pixels give equal bytes."""
    image.info = {}
    return image


def _decode(encoded: bytes) -> Image.Image:
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(io.BytesIO(encoded))
            image.load()
    except (OSError, SyntaxError, ValueError):
        raise HoldfastError("The image does not decode.") from None
    return image


def _save(image: Image.Image, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, **options)  # type: ignore[arg-type]
    return stream.getvalue()
