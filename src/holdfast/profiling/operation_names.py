"""Which layer an operation of a step belongs to, or what else it is for."""

from __future__ import annotations

import re

from holdfast.memory.predict.items import (
    ACTIVATION_GRADIENTS,
    ACTIVATIONS,
    GRADIENTS,
    TARGETS,
    layer_of,
)
from holdfast.runs.trace_marks import OPTIMIZER_SCOPE

GRADIENT_SUMS = "sums of gradients (AddN)"
NORMS = "gradient norms and penalty"
_DEPTH = 3  # backbone/Conv2d_5/pointwise: what is deeper are operations of a layer
_PRIVATE = re.compile(r"^_(Mkl(Native)?)?")  # oneDNN's kernels of the same operations


def row_name(name: str, kind: str) -> str:
    """Name the layer, or the part of the step, that an operation is counted for.

    >>> row_name("gradient_tape/detector_1/backbone_1/Conv2d_5_1/pointwise_1/convolution", "Conv2D")
    'backbone/Conv2d_5/pointwise'
    >>> row_name("cond/then/_60/cond/optimizer/ResourceApplyMomentum", "ResourceApplyMomentum")
    'optimizer'
    """
    if layer := layer_of(name):
        return "/".join(layer.split("/")[:_DEPTH])
    scopes = name.split("/")
    if OPTIMIZER_SCOPE in scopes or kind.startswith("ResourceApply"):
        return OPTIMIZER_SCOPE
    if kind == "AddN":
        return GRADIENT_SUMS
    if kind == "L2Loss" or any(each.startswith(("global_norm", "L2Loss")) for each in scopes):
        return NORMS
    return TARGETS


def kind_name(kind: str) -> str:
    """Name what an operation does, whichever library does it.

    >>> kind_name("_MklNativeConv2DBackpropFilter"), kind_name("_FusedConv2D"), kind_name("AddV2")
    ('Conv2DBackpropFilter', 'FusedConv2D', 'AddV2')
    """
    return _PRIVATE.sub("", kind)


def item_name(name: str) -> str:
    """Name the item of a memory plan that what an operation made belongs to."""
    layer = layer_of(name)
    if not layer:
        return TARGETS
    if "gradient_tape" not in name:
        return f"{ACTIVATIONS}/{'/'.join(layer.split('/')[:2])}"
    return GRADIENTS if "BackpropFilter" in name else ACTIVATION_GRADIENTS
