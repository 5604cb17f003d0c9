"""Image files: what they are, how large, which way up, and bytes that every decoder agrees on."""

from __future__ import annotations

import io
import struct
import warnings
from typing import NamedTuple

from PIL import ExifTags, Image, ImageOps, JpegImagePlugin, UnidentifiedImageError

from holdfast.data.sources.decode_gate import BYTES_PER_PIXEL, GATE
from holdfast.errors import HoldfastError

EXTENSIONS = (".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".jfif")
# What TensorFlow's decoders read; an MPO file is a JPEG with further pictures behind it.
FORMATS = {"JPEG": "jpeg", "MPO": "jpeg", "PNG": "png", "GIF": "gif", "BMP": "bmp"}
_MAX_DECODED_BYTES = 2**31  # TensorFlow's decoders refuse more, at 3 bytes a pixel
# Large scans are welcome: they are what tiled detection is made of. A file that is small for so
# many pixels is none. Photographs decode to 3 to 40 times their size, a black PNG to 1000 times.
_LARGE_BYTES = 2**29
_MOST_TIMES = 200
_COPIES_TO_REWRITE = 2  # of an image, when it is turned or written in another format
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")
_RGB_MODES = ("CMYK", "HSV", "LAB", "PA", "RGBX", "YCbCr")  # 8 bits, but not for PNG


class Size(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int


NO_SIZE = Size(0, 0)  # the annotation should give the size and does not
SIZE_MISSING = "no image size in the annotation: the image's own is used"
SIZE_DIFFERS = "image size in the annotation is not that of the image: the image's own is used"
TURNED = "turned by its EXIF orientation, as labeling tools show it: rewritten upright"
NOT_TURNED = "labeled without regard to its EXIF orientation: the EXIF data is left out"
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
        with warnings.catch_warnings(action="ignore"), open_image(encoded) as image:
            name = str(image.format)
            size = Size(*image.size)
            return Header(FORMATS.get(name, name.lower()), size, _orientation(image, encoded))
    except _NOT_AN_IMAGE:
        raise HoldfastError(f"The image file {_no_header(encoded)}.") from None


def why_not_decodable(encoded: bytes) -> str:
    """Say in words why TensorFlow does not decode an image: nothing, no image, too large, cut off.

    >>> why_not_decodable(b"<html>404</html>")
    'it is not an image'
    """
    if not encoded:
        return "it is empty"
    try:
        header = read_header(encoded)
    except HoldfastError:
        return f"it {_no_header(encoded)}"
    width, height = header.size
    if header.format not in FORMATS.values():
        return f"it is a {header.format.upper()} file; JPEG, PNG, GIF and BMP files are read"
    if reason := why_too_large(header.size, len(encoded)):
        return reason
    try:
        with GATE.room_for(decoding_bytes(header.size)):
            _decode(encoded)
    except HoldfastError:
        return f"it is cut off or damaged: {len(encoded)} bytes for {width} x {height} pixels"
    return f"its {header.format.upper()} data is of a kind that TensorFlow does not read"


def take_picture(encoded: bytes, declared: Size | None = None) -> Picture:
    """Make sure that an image means the same to every reader, and say what had to be done.

    The bytes stay as they are, unless EXIF turns the image (readers disagree about that) or its
    format is one that TensorFlow does not decode. `declared` is the size the annotation gives
    (None: its format gives none): of an image that EXIF turns by 90 degrees it tells which way
    the annotation sees it.
    """
    header = read_header(encoded)
    if reason := why_too_large(header.size, len(encoded)):
        raise HoldfastError(f"The image is not decoded: {reason}.")
    remarks = []
    if header.orientation != 1 or header.format not in FORMATS.values():
        with GATE.room_for(_COPIES_TO_REWRITE * decoding_bytes(header.size)):
            encoded, remark = _rewritten(encoded, header, declared)
        remarks.append(remark)
    size = read_header(encoded).size if remarks else header.size
    if declared is not None and declared != size:
        remarks.append(SIZE_DIFFERS if min(declared) > 0 else SIZE_MISSING)
    return Picture(encoded, size, tuple(remarks))


def why_too_large(size: Size, stored_bytes: int) -> str | None:
    """Say why an image must not be decoded; None if it may.

    >>> why_too_large(Size(20_000, 20_000), 300_000_000) is None
    True
    >>> why_too_large(Size(20_000, 20_000), 400_000)  # doctest: +ELLIPSIS
    'it would take 1144 MiB for 0.4 MiB stored, more than 200 times: ...'
    """
    decoded = size.width * size.height * 3
    pixels = f"{size.width} x {size.height} pixels"
    if decoded >= _MAX_DECODED_BYTES:
        most = _MAX_DECODED_BYTES // 3 // 10**6
        return (
            f"it is too large: {pixels}, and TensorFlow decodes up to {most} million; cut it into "
            "tiles"
        )
    if decoded > max(_LARGE_BYTES, _MOST_TIMES * stored_bytes):
        return (
            f"it would take {decoded / 2**20:.0f} MiB for {stored_bytes / 2**20:.1f} MiB stored, "
            f"more than {_MOST_TIMES} times: it is cut off, or made to fill the memory ({pixels}); "
            "leave it out, or cut it into tiles if it is good"
        )
    return None


def decoding_bytes(size: Size) -> int:
    """Give what decoding an image takes, for the gate."""
    return size.width * size.height * BYTES_PER_PIXEL


def open_image(encoded: bytes) -> Image.Image:
    """Open an image as Pillow does, without its limit of pixels, which is the whole process'.

    What may be decoded is for `why_too_large` to say.
    """
    for load_more in (Image.preinit, Image.init):  # the usual formats first, then all
        load_more()
        for name in Image.ID:
            factory, accept = Image.OPEN[name]
            try:
                is_one = accept is None or accept(encoded[:16])
                # A text says why it cannot be read here.
                if is_one and not isinstance(is_one, str):
                    return factory(io.BytesIO(encoded), "")
            except (SyntaxError, IndexError, TypeError, struct.error):
                continue  # too short, or of another format after all
    raise UnidentifiedImageError("it is not an image")


_NOT_AN_IMAGE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)


def _rewritten(encoded: bytes, header: Header, declared: Size | None) -> tuple[bytes, str]:
    """Write an image anew, and say why."""
    if header.orientation == 1:
        return _rewrite(encoded), REWRITTEN
    if declared == header.size and _upright_size(header) != header.size:
        return without_exif(encoded, header), NOT_TURNED
    return _upright(encoded), TURNED


def _no_header(encoded: bytes) -> str:
    """Say what a file is that has no header: the beginning of an image, or none."""
    for start, name in _STARTS.items():
        if encoded.startswith(start):
            return f"is cut off or damaged: {len(encoded)} bytes of a {name} file"
    return "is not an image"


_STARTS = {
    b"\xff\xd8\xff": "JPEG",
    b"\x89PNG": "PNG",
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"RIFF": "WebP",
}


def _orientation(image: Image.Image, encoded: bytes) -> int:
    # Of a PNG, it may be behind the pixels: Pillow decodes all of them to look there.
    is_png = image.format == "PNG"
    if is_png and not _may_be_turned(encoded):
        return 1
    if is_png and why_too_large(Size(*image.size), len(encoded)):
        return 1  # nobody is to decode it
    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # damaged EXIF data raises whatever its parser stumbles over
        return 1
    return orientation if orientation in range(1, 9) else 1


def _may_be_turned(png: bytes) -> bool:
    """Tell whether a PNG has a chunk that says which way is up, by the names of its chunks."""
    position = 8  # behind the signature: length, name, content and checksum of one after the other
    while position + 8 <= len(png):
        length = int.from_bytes(png[position : position + 4], "big")
        if png.startswith(_ORIENTED, position + 4):
            return True
        position += length + 12
    return False


_TEXTS = (b"Raw profile type exif", b"XML:com.adobe.xmp")
_ORIENTED = (b"eXIf", *(kind + text for kind in (b"tEXt", b"zTXt", b"iTXt") for text in _TEXTS))


def _upright_size(header: Header) -> Size:
    width, height = header.size
    return Size(height, width) if header.orientation >= 5 else header.size


def _upright(encoded: bytes) -> bytes:
    """Turn the pixels; a JPEG keeps its quantization, so that next to nothing is lost."""
    image = _decode(encoded)
    turned = ImageOps.exif_transpose(image)
    if not isinstance(image, JpegImagePlugin.JpegImageFile):
        return _save(_bare(turned), format="PNG")
    tables, sampling = image.quantization, JpegImagePlugin.get_sampling(image)
    return _save(_bare(turned), format="JPEG", qtables=tables, subsampling=sampling)


def without_exif(encoded: bytes, header: Header) -> bytes:
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
            image = open_image(encoded)
            image.load()
    except _NOT_AN_IMAGE:
        raise HoldfastError("The image cannot be decoded.") from None
    return image


def _save(image: Image.Image, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, **options)  # type: ignore[arg-type]
    return stream.getvalue()
