"""The options that cut images into tiles, as every command that has them reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError

if TYPE_CHECKING:
    from holdfast.data.conversion.cut_tiles import TileRule
    from holdfast.geometry.image_tiles import Tiling

USUAL_OVERLAP = 0.2
USUAL_SHARE = 0.5  # of a box's area
ALL_EMPTY = 1.0


def tiling_of(size: int | None, overlap: float | None) -> Tiling | None:
    """Give the tiling that --tile and --overlap ask for; None without --tile."""
    if size is None:
        _refuse_alone({"--overlap": overlap})
        return None
    from holdfast.geometry.image_tiles import Tiling

    return Tiling(size=size, overlap=USUAL_OVERLAP if overlap is None else overlap)


def tile_rule_of(
    to: str,
    size: int | None,
    overlap: float | None,
    smallest_share: float | None,
    empty_tiles: float | None,
) -> TileRule | None:
    """Give the rule that the options of `convert` ask for; None without --tile."""
    tiling = tiling_of(size, overlap)
    if tiling is None:
        _refuse_alone({"--smallest-share": smallest_share, "--empty-tiles": empty_tiles})
        return None
    from holdfast.data.conversion.conversion_result import RECORDS
    from holdfast.data.conversion.cut_tiles import TileRule

    if to != RECORDS:
        raise HoldfastError(
            f"--tile writes TFRecords, not {to}.",
            fix=f"Leave --to out, then convert the folder of tiles with --to {to}.",
        )
    return TileRule(
        tiling=tiling,
        smallest_share=USUAL_SHARE if smallest_share is None else smallest_share,
        kept_empty=ALL_EMPTY if empty_tiles is None else empty_tiles,
    )


def _refuse_alone(options: dict[str, float | None]) -> None:
    for name, value in options.items():
        if value is not None:
            raise HoldfastError(
                f"{name} {value:g} says how to cut tiles, and no tiles are asked for.",
                fix=f"Give --tile 640, too, or leave {name} out.",
            )
