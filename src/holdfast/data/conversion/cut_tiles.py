"""Cut the images of a conversion into tiles, with their boxes, masks and keypoints."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.data.conversion.books import Cut, Cutting, Piece
from holdfast.data.conversion.judge import Fault
from holdfast.data.input.decode_images import decoded_image
from holdfast.data.sample import Sample
from holdfast.data.sources.image_files import Size, read_header
from holdfast.data.sources.source import Entry
from holdfast.data.splitting.split_names import TRAIN
from holdfast.data.splitting.tile_names import tile_name
from holdfast.errors import HoldfastError
from holdfast.geometry.image_tiles import BoxesInTile, Tile, Tiling, boxes_in_tile, tiles_of

# N objects of an image, M of them in a tile, K keypoints an object

_JPEG_QUALITY = 95
_WHOLE = 0.999  # of a box's area: less is cut, and not the rounding of its edges


@dataclass(frozen=True, kw_only=True)
class TileRule:
    """How images are cut, and what then becomes of boxes and of tiles that show none."""

    tiling: Tiling
    smallest_share: float = 0.5  # of a box's area in a tile, from which it is labeled there
    kept_empty: float = 1.0  # share of the training tiles without a box that are written

    def __post_init__(self) -> None:
        for name, share in (
            ("--smallest-share", self.smallest_share),
            ("--empty-tiles", self.kept_empty),
        ):
            if not 0.0 <= share <= 1.0:
                raise HoldfastError(f"{name} is {share:g}.", fix="Give a share from 0 to 1.")

    def __str__(self) -> str:
        tiling = self.tiling
        return (
            f"--tile {tiling.size} --overlap {tiling.overlap:g} --smallest-share "
            f"{self.smallest_share:g} --empty-tiles {self.kept_empty:g}"
        )

    @property
    def note(self) -> str:
        """What is done, in words."""
        tiling, share = self.tiling, f"{self.smallest_share:.0%}"
        kept = "all of them" if self.kept_empty == 1.0 else f"{self.kept_empty:.0%} of them"
        return (
            f"Images are cut into tiles of {tiling.size} pixels that share at least "
            f"{tiling.overlap_pixels} with their neighbors. A box is labeled in every tile that "
            f"shows {share} of it or more. Of training tiles without a box, {kept} are kept."
        )

    @property
    def cut_reason(self) -> str:
        """What is said of boxes that are written, but not whole."""
        return "boxes that the edge of a tile cuts, labeled as far as they can be seen"

    @property
    def unlabeled_reason(self) -> str:
        """What is said of parts of boxes that are not labeled."""
        return f"tiles that show less than {self.smallest_share:.0%} of a box, not labeled there"

    @property
    def lost_reason(self) -> str:
        """What is said of boxes that no tile shows enough of."""
        return f"no tile shows {self.smallest_share:.0%} of it: it needs larger tiles"


def cutter(rule: TileRule, split: str) -> Cut:
    """Make the function that cuts the images of a split."""

    def cut(entry: Entry, sample: Sample) -> Cutting:
        size = read_header(sample.image).size
        tiles = tiles_of(size.height, size.width, rule.tiling)
        has_mask = None if sample.masks is None else sample.masks.any(axis=(1, 2))  # (N,)
        found = [_seen(sample, has_mask, size, tile) for tile in tiles]
        shares = np.concatenate([each.shares for each in found])
        rows = [row for each in found for row in each.rows[each.shares >= rule.smallest_share]]
        lost = len(sample.boxes) - len(set(rows))
        is_labeled = shares >= rule.smallest_share
        cut_boxes = int((is_labeled & (shares < _WHOLE)).sum())
        unlabeled = int((~is_labeled).sum())
        return Cutting(
            pieces=_pieces(entry, sample, size, tiles, found, rule, split),
            faults=(Fault(rule.lost_reason, lost),) if lost else (),
            changed=tuple(
                Fault(reason, boxes)
                for reason, boxes in (
                    (rule.cut_reason, cut_boxes),
                    (rule.unlabeled_reason, unlabeled),
                )
                if boxes
            ),
        )

    return cut


def _seen(
    sample: Sample, has_mask: NDArray[np.bool_] | None, size: Size, tile: Tile
) -> BoxesInTile:
    """Find what a tile shows; what it shows nothing of, by the object's mask, does not count."""
    found = boxes_in_tile(sample.boxes, size.height, size.width, tile)
    if has_mask is None or not len(found.rows):
        return found
    is_seen = _cut_masks(sample, found.rows, tile).any(axis=(1, 2)) | ~has_mask[found.rows]
    return found.chosen(is_seen)


def _pieces(
    entry: Entry,
    sample: Sample,
    size: Size,
    tiles: tuple[Tile, ...],
    found: list[BoxesInTile],
    rule: TileRule,
    split: str,
) -> Iterator[Piece]:
    """Yield the tiles one by one: only the decoded image is held as long."""
    is_jpeg = read_header(sample.image).format == "jpeg"
    stem, ending = posixpath.splitext(entry.filename)
    with decoded_image(sample.image) as pixels:
        for tile, seen in zip(tiles, found, strict=True):
            kept = seen.shares >= rule.smallest_share
            name = tile_name(entry.source_id, tile, size)
            if not kept.any() and split == TRAIN and not _is_kept(name, rule.kept_empty):
                continue
            part = _objects(sample, seen.chosen(kept), tile, size)._replace(
                image=_encoded(_cut_pixels(pixels, tile), is_jpeg=is_jpeg), source_id=name
            )
            filename = tile_name(stem, tile, size) + (ending if is_jpeg else ".png")
            yield Piece(replace(entry, source_id=name, filename=filename), part)


def _objects(sample: Sample, found: BoxesInTile, tile: Tile, size: Size) -> Sample:
    """Give what of the objects lies in the tile, in its frame."""
    part = sample.with_objects(lambda values: values[found.rows])
    is_cut = found.shares < _WHOLE
    part = part._replace(boxes=found.boxes)
    if part.truncated is not None:
        part = part._replace(truncated=part.truncated | is_cut)
    if part.areas is not None:
        part = part._replace(areas=np.where(is_cut, part.areas * found.shares, part.areas))
    if sample.masks is not None:
        masks = _cut_masks(sample, found.rows, tile)
        part = part._replace(masks=masks, boxes=_tight(found.boxes, masks, is_cut))
    if part.keypoints is not None:
        keypoints = _cut_keypoints(part.keypoints, tile, size)
        is_labeled = ~np.isnan(keypoints).any(axis=-1)  # (M, K)
        part = part._replace(keypoints=keypoints, visibilities=part.visibilities & is_labeled)
    return part


def _cut_masks(sample: Sample, rows: NDArray[np.intp], tile: Tile) -> NDArray[np.uint8]:
    masks: NDArray[np.uint8] = sample.masks[
        rows, tile.top : tile.top + tile.height, tile.left : tile.left + tile.width
    ]
    return masks


def _tight(
    boxes: NDArray[np.float32], masks: NDArray[np.uint8], is_cut: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Let the box of an object that is cut end where its mask does."""
    tight = boxes.copy()
    height, width = masks.shape[1:]
    for row in np.flatnonzero(is_cut & masks.any(axis=(1, 2))):
        ys, xs = (np.flatnonzero(masks[row].any(axis=axis)) for axis in (1, 0))
        extent = [ys[0] / height, xs[0] / width, (ys[-1] + 1) / height, (xs[-1] + 1) / width]
        inner = np.concatenate(
            [np.maximum(boxes[row, :2], extent[:2]), np.minimum(boxes[row, 2:], extent[2:])]
        )
        if (inner[2:] > inner[:2]).all():
            tight[row] = inner
    return tight


def _cut_keypoints(keypoints: NDArray[np.float32], tile: Tile, size: Size) -> NDArray[np.float32]:
    """Move keypoints (M, K, 2) to the tile's frame; those outside of it are unlabeled."""
    pixels = keypoints * np.array([size.height, size.width], np.float32)
    moved = (pixels - [tile.top, tile.left]) / [tile.height, tile.width]
    is_inside = ((moved >= 0.0) & (moved <= 1.0)).all(axis=-1, keepdims=True)
    return np.where(is_inside, moved, np.nan).astype(np.float32)


def _cut_pixels(pixels: NDArray[np.uint8], tile: Tile) -> NDArray[np.uint8]:
    return pixels[tile.top : tile.top + tile.height, tile.left : tile.left + tile.width]


def _encoded(pixels: NDArray[np.uint8], *, is_jpeg: bool) -> bytes:
    """Encode a tile: of a photograph as good as new, of anything else without any loss."""
    if is_jpeg:
        encoded = tf.io.encode_jpeg(pixels, quality=_JPEG_QUALITY, chroma_downsampling=False)
    else:
        encoded = tf.io.encode_png(pixels)
    content: bytes = encoded.numpy()
    return content


def _is_kept(name: str, share: float) -> bool:
    """Choose by the name, so that the same tiles are chosen whenever it is asked."""
    number = int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest()[:8], "big")
    return number < share * 2**64
