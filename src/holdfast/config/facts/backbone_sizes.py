"""How the sizes of a backbone's maps follow from its input, where that is not the usual way."""

from __future__ import annotations

from dataclasses import dataclass

BACKBONE_TOP = 5  # backbones end at stride 32; coarser levels are the neck's


@dataclass(frozen=True, kw_only=True)
class BackboneSizes:
    """What is special about the sizes of one backbone."""

    smallest_ssd_side: int = 33  # pixels that the OD API's single-stage detectors accept
    first_ssd_level: int = 4  # of the maps that SSD's own layers start from
    can_dilate: bool = False  # runs at stride 8 as well as 16, in two stages
    crops: bool = False  # its pyramid cuts upsampled maps to size, with explicit padding
    unpadded: tuple[int, ...] = ()  # rows lost before the first halvings, by kernels not padded
    hourglass_stages: int = 3  # of CenterNet: how often it is halved from its output's level on


_USUAL = BackboneSizes()
_RESNET = BackboneSizes(smallest_ssd_side=129, can_dilate=True)
_EFFICIENTNET = BackboneSizes(smallest_ssd_side=129)
_MOBILENET = BackboneSizes(crops=True)
_SIZES = {
    **dict.fromkeys(("resnet50_v1", "resnet101_v1", "resnet152_v1"), _RESNET),
    **dict.fromkeys((f"efficientnet_b{number}" for number in range(8)), _EFFICIENTNET),
    **dict.fromkeys(("mobilenet_v1", "mobilenet_v2", "mobilenet_edgetpu"), _MOBILENET),
    **dict.fromkeys(("mobilenet_v3_large", "mobilenet_v3_small"), _MOBILENET),
    "mobilenet_v3_small_pruned": _MOBILENET,
    "inception_resnet_v2": BackboneSizes(can_dilate=True),
    # 3x3 kernels without padding; two more stand before halvings 2 and 3.
    "inception_v3": BackboneSizes(first_ssd_level=3, unpadded=(0, 2, 2, 0, 0)),
    "nasnet": BackboneSizes(unpadded=(0,)),
    "pnasnet": BackboneSizes(unpadded=(0,)),
    "hourglass_10": BackboneSizes(hourglass_stages=1),
    "hourglass_20": BackboneSizes(hourglass_stages=2),
    "hourglass_32": BackboneSizes(hourglass_stages=3),
    "hourglass_52": BackboneSizes(hourglass_stages=5),
    "hourglass_104": BackboneSizes(hourglass_stages=5),
}


def backbone_sizes(backbone: str) -> BackboneSizes:
    """Look up a backbone; one that is not in the table halves its input as usual.

    >>> backbone_sizes("resnet50_v1").smallest_ssd_side, backbone_sizes("my_own").smallest_ssd_side
    (129, 33)
    """
    return _SIZES.get(backbone, _USUAL)
