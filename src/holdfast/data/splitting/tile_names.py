"""What tiles are called: by their image and their place in it, so that they find back to it."""

from __future__ import annotations

import re

from holdfast.data.sources.image_files import Size
from holdfast.geometry.image_tiles import Tile

_NAME = re.compile(r"(?P<image>.*)_tile_\d+_\d+_\d+x\d+_of_\d+x\d+$", re.DOTALL)


def tile_name(image: str, tile: Tile, size: Size) -> str:
    """Name a tile: top and left, height and width of the tile and of its image, in pixels.

    >>> tile_name("scan-7", Tile(0, 512, 640, 640), Size(width=4000, height=3000))
    'scan-7_tile_0_512_640x640_of_3000x4000'
    """
    place = f"{tile.top}_{tile.left}_{tile.height}x{tile.width}"
    return f"{image}_tile_{place}_of_{size.height}x{size.width}"


def image_of_tile(name: str) -> str | None:
    """Give the name of the image that a tile was cut from; None for what is no tile.

    >>> image_of_tile("scan-7_tile_0_512_640x640_of_3000x4000"), image_of_tile("scan-7")
    ('scan-7', None)
    """
    found = _NAME.match(name)
    return found["image"] if found else None
