"""Feature-extractor names, all of the OD API's and those that users add: what each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from holdfast.errors import nearest
from holdfast.registry import Registry


@dataclass(frozen=True)
class Extractor:
    """The parts a feature-extractor name stands for; TF1 and TF2 names may share all of them."""

    architecture: str  # "ssd", "faster_rcnn", "center_net"
    backbone: str  # "mobilenet_v2", "resnet50_v1", "efficientnet_b0", "hourglass_104", …
    neck: str | None  # "ssd_layers", "fpn", "bifpn", "upsampling", …; None: the backbone's own maps
    head: str  # the usual one: "convolutional", "weight_shared", "second_stage", "heatmaps"
    generation: str  # "tf1" or "tf2": the OD API under which the name works
    nearest: str | None = None  # what to use instead; None: Holdfast builds this one


def extractor(name: str) -> Extractor | None:
    """Look up a feature-extractor name; None when neither the OD API nor a user has it.

    >>> extractor("ssd_mobilenet_v2_fpn_keras").neck
    'fpn'
    >>> extractor("ssd_mobiledet_cpu").nearest
    'ssd_mobilenet_v3_large'
    >>> extractor("yolo_v3") is None
    True
    """
    return EXTRACTORS.find(name)


def extractor_names(architecture: str | None = None) -> tuple[str, ...]:
    """List all names, or those of one architecture: the OD API's in its order, then users'."""
    return tuple(
        name
        for name in EXTRACTORS
        if architecture is None or EXTRACTORS[name].architecture == architecture
    )


def smaller_extractor(name: str, smaller_backbone: str) -> str | None:
    """Find the name that stands for the same parts on another backbone; None if there is none.

    >>> smaller_extractor("ssd_resnet101_v1_fpn_keras", "resnet50_v1")
    'ssd_resnet50_v1_fpn_keras'
    """
    known = extractor(name)
    wanted = None if known is None else replace(known, backbone=smaller_backbone)
    return next((other for other in EXTRACTORS if EXTRACTORS[other] == wanted), None)


def nearest_names(name: str, count: int = 3, *, architecture: str | None = None) -> tuple[str, ...]:
    """Find the names spelled most like this one, best first; () when none is close.

    >>> nearest_names("ssd_mobilnet_v2", count=1)
    ('ssd_mobilenet_v2',)
    """
    return tuple(nearest(name, extractor_names(architecture), count))


def _ssd(backbone: str, neck: str, generation: str, nearest: str | None = None) -> Extractor:
    shares_weights = neck in ("fpn", "bifpn", "mnasfpn", "ppn")
    head = "weight_shared" if shares_weights else "convolutional"
    return Extractor("ssd", backbone, neck, head, generation, nearest)


def _faster_rcnn(
    backbone: str, neck: str | None, generation: str, nearest: str | None = None
) -> Extractor:
    return Extractor("faster_rcnn", backbone, neck, "second_stage", generation, nearest)


def _center_net(backbone: str, neck: str | None) -> Extractor:
    return Extractor("center_net", backbone, neck, "heatmaps", "tf2")


OD_API_EXTRACTORS: Mapping[str, Extractor] = {
    # Single stage, TF1.
    "ssd_inception_v2": _ssd("inception_v2", "ssd_layers", "tf1"),
    "ssd_inception_v3": _ssd("inception_v3", "ssd_layers", "tf1", "ssd_inception_v2"),
    "ssd_mobilenet_v1": _ssd("mobilenet_v1", "ssd_layers", "tf1"),
    "ssd_mobilenet_v1_fpn": _ssd("mobilenet_v1", "fpn", "tf1"),
    "ssd_mobilenet_v1_ppn": _ssd("mobilenet_v1", "ppn", "tf1", "ssd_mobilenet_v1"),
    "ssd_mobilenet_v2": _ssd("mobilenet_v2", "ssd_layers", "tf1"),
    "ssd_mobilenet_v2_fpn": _ssd("mobilenet_v2", "fpn", "tf1"),
    "ssd_mobilenet_v2_mnasfpn": _ssd("mobilenet_v2", "mnasfpn", "tf1", "ssd_mobilenet_v2_fpn"),
    "ssd_mobilenet_v3_large": _ssd("mobilenet_v3_large", "ssd_layers", "tf1"),
    "ssd_mobilenet_v3_small": _ssd("mobilenet_v3_small", "ssd_layers", "tf1"),
    "ssd_mobilenet_v3_small_pruned": _ssd(
        "mobilenet_v3_small_pruned", "ssd_layers", "tf1", "ssd_mobilenet_v3_small"
    ),
    "ssd_resnet50_v1_fpn": _ssd("resnet50_v1", "fpn", "tf1"),
    "ssd_resnet101_v1_fpn": _ssd("resnet101_v1", "fpn", "tf1"),
    "ssd_resnet152_v1_fpn": _ssd("resnet152_v1", "fpn", "tf1"),
    "ssd_resnet50_v1_ppn": _ssd("resnet50_v1", "ppn", "tf1", "ssd_resnet50_v1_fpn"),
    "ssd_resnet101_v1_ppn": _ssd("resnet101_v1", "ppn", "tf1", "ssd_resnet101_v1_fpn"),
    "ssd_resnet152_v1_ppn": _ssd("resnet152_v1", "ppn", "tf1", "ssd_resnet152_v1_fpn"),
    "embedded_ssd_mobilenet_v1": _ssd("mobilenet_v1", "embedded_layers", "tf1", "ssd_mobilenet_v1"),
    "ssd_pnasnet": _ssd("pnasnet", "ssd_layers", "tf1", "ssd_inception_v2"),
    # MobileDet for the CPU has hard swish and squeeze-and-excitation, as MobileNet V3 has; the
    # networks for accelerators have neither, as MobileNet V2.
    "ssd_mobiledet_cpu": _ssd("mobiledet_cpu", "ssd_layers", "tf1", "ssd_mobilenet_v3_large"),
    "ssd_mobiledet_dsp": _ssd("mobiledet_dsp", "ssd_layers", "tf1", "ssd_mobilenet_v2"),
    "ssd_mobiledet_edgetpu": _ssd("mobiledet_edgetpu", "ssd_layers", "tf1", "ssd_mobilenet_v2"),
    "ssd_mobiledet_gpu": _ssd("mobiledet_gpu", "ssd_layers", "tf1", "ssd_mobilenet_v2"),
    "ssd_mobilenet_edgetpu": _ssd("mobilenet_edgetpu", "ssd_layers", "tf1", "ssd_mobilenet_v2"),
    "ssd_spaghettinet": _ssd("spaghettinet", "spaghetti", "tf1", "ssd_mobilenet_v2_fpn"),
    # Single stage, TF2.
    "ssd_mobilenet_v1_keras": _ssd("mobilenet_v1", "ssd_layers", "tf2"),
    "ssd_mobilenet_v1_fpn_keras": _ssd("mobilenet_v1", "fpn", "tf2"),
    "ssd_mobilenet_v2_keras": _ssd("mobilenet_v2", "ssd_layers", "tf2"),
    "ssd_mobilenet_v2_fpn_keras": _ssd("mobilenet_v2", "fpn", "tf2"),
    "ssd_resnet50_v1_fpn_keras": _ssd("resnet50_v1", "fpn", "tf2"),
    "ssd_resnet101_v1_fpn_keras": _ssd("resnet101_v1", "fpn", "tf2"),
    "ssd_resnet152_v1_fpn_keras": _ssd("resnet152_v1", "fpn", "tf2"),
    "ssd_efficientnet-b0_bifpn_keras": _ssd("efficientnet_b0", "bifpn", "tf2"),
    "ssd_efficientnet-b1_bifpn_keras": _ssd("efficientnet_b1", "bifpn", "tf2"),
    "ssd_efficientnet-b2_bifpn_keras": _ssd("efficientnet_b2", "bifpn", "tf2"),
    "ssd_efficientnet-b3_bifpn_keras": _ssd("efficientnet_b3", "bifpn", "tf2"),
    "ssd_efficientnet-b4_bifpn_keras": _ssd("efficientnet_b4", "bifpn", "tf2"),
    "ssd_efficientnet-b5_bifpn_keras": _ssd("efficientnet_b5", "bifpn", "tf2"),
    "ssd_efficientnet-b6_bifpn_keras": _ssd("efficientnet_b6", "bifpn", "tf2"),
    "ssd_efficientnet-b7_bifpn_keras": _ssd("efficientnet_b7", "bifpn", "tf2"),
    # Two stages, TF1.
    "faster_rcnn_nas": _faster_rcnn("nasnet", None, "tf1", "faster_rcnn_inception_resnet_v2"),
    "faster_rcnn_pnas": _faster_rcnn("pnasnet", None, "tf1", "faster_rcnn_inception_resnet_v2"),
    "faster_rcnn_inception_resnet_v2": _faster_rcnn("inception_resnet_v2", None, "tf1"),
    "faster_rcnn_inception_v2": _faster_rcnn("inception_v2", None, "tf1"),
    "faster_rcnn_resnet50": _faster_rcnn("resnet50_v1", None, "tf1"),
    "faster_rcnn_resnet101": _faster_rcnn("resnet101_v1", None, "tf1"),
    "faster_rcnn_resnet152": _faster_rcnn("resnet152_v1", None, "tf1"),
    # Two stages, TF2.
    "faster_rcnn_resnet50_keras": _faster_rcnn("resnet50_v1", None, "tf2"),
    "faster_rcnn_resnet101_keras": _faster_rcnn("resnet101_v1", None, "tf2"),
    "faster_rcnn_resnet152_keras": _faster_rcnn("resnet152_v1", None, "tf2"),
    "faster_rcnn_inception_resnet_v2_keras": _faster_rcnn("inception_resnet_v2", None, "tf2"),
    "faster_rcnn_resnet50_fpn_keras": _faster_rcnn("resnet50_v1", "fpn", "tf2"),
    "faster_rcnn_resnet101_fpn_keras": _faster_rcnn("resnet101_v1", "fpn", "tf2"),
    "faster_rcnn_resnet152_fpn_keras": _faster_rcnn("resnet152_v1", "fpn", "tf2"),
    # CenterNet, TF2 only.
    "resnet_v2_50": _center_net("resnet50_v2", "upsampling"),
    "resnet_v2_101": _center_net("resnet101_v2", "upsampling"),
    "resnet_v1_18_fpn": _center_net("resnet18_v1", "fpn"),
    "resnet_v1_34_fpn": _center_net("resnet34_v1", "fpn"),
    "resnet_v1_50_fpn": _center_net("resnet50_v1", "fpn"),
    "resnet_v1_101_fpn": _center_net("resnet101_v1", "fpn"),
    "hourglass_10": _center_net("hourglass_10", None),
    "hourglass_20": _center_net("hourglass_20", None),
    "hourglass_32": _center_net("hourglass_32", None),
    "hourglass_52": _center_net("hourglass_52", None),
    "hourglass_104": _center_net("hourglass_104", None),
    "mobilenet_v2": _center_net("mobilenet_v2", "upsampling"),
    "mobilenet_v2_fpn": _center_net("mobilenet_v2", "fpn"),
    "mobilenet_v2_fpn_sep_conv": _center_net("mobilenet_v2", "fpn"),  # an older name
}

EXTRACTORS: Registry[Extractor] = Registry("feature extractor")
for _name, _known in OD_API_EXTRACTORS.items():
    EXTRACTORS.register(_name)(_known)
