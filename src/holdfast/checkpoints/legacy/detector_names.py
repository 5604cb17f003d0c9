"""Where a checkpoint of the OD API keeps each variable of a detector."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from holdfast.checkpoints.legacy import head_names, neck_names, region_names
from holdfast.checkpoints.legacy.backbone_names import backbone_tf1, backbone_tf2
from holdfast.checkpoints.legacy.center_net_names import center_net_tf2
from holdfast.checkpoints.legacy.legacy_sorting import VALUE_SUFFIX, Generation
from holdfast.checkpoints.legacy.range_names import with_ranges
from holdfast.checkpoints.legacy.sought_names import Names, Sought
from holdfast.errors import HoldfastError
from holdfast.models.backbones.backbone_spec import BACKBONES, SlimNames
from holdfast.models.detectors.interface import Detector

Kind = Literal["full", "detection", "fine_tune", "classification"]

# Which parts of a detector a kind of loading fills, as in the OD API; "full" fills all. `fine_tune`
# is the name that `detection` had for CenterNet.
_FILLED: dict[Kind, frozenset[str]] = {
    "detection": frozenset({"backbone", "neck", "region_extractor"}),
    "fine_tune": frozenset({"backbone", "neck", "region_extractor"}),
    "classification": frozenset({"backbone"}),
}
# A network that is cut in two for regions; one with a pyramid is whole, and regions see new layers.
_FILLED_WITHOUT_NECK: dict[Kind, frozenset[str]] = {
    **_FILLED,
    "classification": frozenset({"backbone", "region_extractor"}),
}


def filled_parts(detector: Detector, kind: Kind) -> list[str]:
    """List the parts of a detector that a kind of loading fills."""
    filled = _FILLED if detector.legacy.neck else _FILLED_WITHOUT_NECK
    return [name for name in detector.parts() if kind == "full" or name in filled[kind]]


def names_of(
    detector: Detector, generation: Generation, kind: Kind, names: Iterable[str]
) -> list[Sought]:
    """List the variables that a kind of loading fills, with the names they may have.

    names: those in the checkpoint; the objects above the detector in a TF2 checkpoint are found
    from them.
    """
    named: Mapping[str, Iterable[Sought]]
    if generation == "tf1":
        named = with_ranges(detector, _named_tf1(detector, kind))
    else:
        by_part = _named_tf2(detector, kind, _root(names))
        named = {part: _with_suffix(sought) for part, sought in by_part.items()}
    return [sought for part in filled_parts(detector, kind) for sought in named.get(part, ())]


def _named_tf1(detector: Detector, kind: Kind) -> Mapping[str, Iterable[Sought]]:
    match detector.legacy.head:
        case "heatmaps":
            raise HoldfastError(
                "The checkpoint is name-based (TF1), and CenterNet was never in TF1.",
                fix="Give a checkpoint of the detector's own network.",
            )
        case "second_stage":
            network, is_classifier = _slim_names(detector), kind == "classification"
            return region_names.two_stages_tf1(detector.parts(), network, is_classifier)
    return _parts_tf1(detector, kind, _slim_names(detector))


def _named_tf2(detector: Detector, kind: Kind, root: str) -> dict[str, Names]:
    is_classifier = kind == "classification"
    match detector.legacy.head:
        case "heatmaps":
            return center_net_tf2(detector, root, from_classifier=is_classifier)
        case "second_stage":
            return region_names.two_stages_tf2(detector.parts(), root, is_classifier)
    return _parts_tf2(detector, kind, root)


def _slim_names(detector: Detector) -> SlimNames:
    backbone = detector.legacy.backbone
    network = BACKBONES[backbone].slim
    if network is None:
        raise HoldfastError(
            f"The checkpoint is name-based (TF1), and {backbone} was never in TF1.",
            fix="Give a checkpoint of the detector's own network.",
        )
    return network


def _parts_tf1(detector: Detector, kind: Kind, network: SlimNames) -> dict[str, Names]:
    legacy, parts = detector.legacy, detector.parts()
    scope = f"{network.scope}/"
    extractor = f"FeatureExtractor/{scope}"
    # A classifier's checkpoint has no scope around the network's.
    scopes = (scope, extractor) if kind == "classification" else (extractor, scope)
    return {
        "backbone": _under(backbone_tf1(parts["backbone"], network), *scopes),
        "neck": _under(_NECKS_TF1.get(legacy.neck, _unnamed)(parts["neck"], network), extractor),
        "head": _HEADS_TF1.get(legacy.head, _unnamed)(parts["head"]),
    }


def _parts_tf2(detector: Detector, kind: Kind, root: str) -> dict[str, Names]:
    legacy, parts = detector.legacy, detector.parts()
    extractor = f"{root}_feature_extractor/"
    return {
        "backbone": (
            _backbone_tf2(parts["backbone"], extractor, kind)
            if BACKBONES[legacy.backbone].is_numbered
            else _unnamed(parts["backbone"])
        ),
        "neck": _under(_NECKS_TF2.get(legacy.neck, _unnamed)(parts["neck"]), extractor),
        "head": _under(
            _HEADS_TF2.get(legacy.head, _unnamed)(parts["head"]), f"{root}_box_predictor/"
        ),
    }


def _backbone_tf2(backbone: Any, extractor: str, kind: Kind) -> Names:
    networks = [f"{extractor}classification_backbone/", "feature_extractor/"]
    if kind == "classification":
        networks.reverse()  # a classifier's checkpoint has the latter
    # EfficientDet saves the part of its classifier that makes features under a name of its own.
    idle = {
        id(weight) for block in getattr(backbone, "idle_blocks", ()) for weight in block.weights
    }
    of_features = [f"{extractor}_efficientnet/"] if idle else []
    for sought in backbone_tf2(backbone):
        own = [] if id(sought.variable) in idle else of_features
        yield sought.under(*own, *networks)


_NECKS_TF1: dict[str, Callable[[Any, SlimNames], Names]] = {
    "ssd_layers": lambda neck, network: neck_names.ssd_layers_tf1(neck, network.last_endpoint),
    "fpn": lambda neck, network: neck_names.fpn_tf1(
        neck, network.coarse_scope, network.first_coarse
    ),
}
_NECKS_TF2 = {
    "ssd_layers": neck_names.ssd_layers_tf2,
    "fpn": neck_names.fpn_tf2,
    "bifpn": neck_names.bifpn_tf2,
}
_HEADS_TF1 = {
    "convolutional": head_names.convolutional_tf1,
    "weight_shared": head_names.weight_shared_tf1,
}
_HEADS_TF2 = {
    "convolutional": head_names.convolutional_tf2,
    "weight_shared": head_names.weight_shared_tf2,
}


def _unnamed(part: Any, network: SlimNames | None = None) -> Names:
    """Look for a part that the OD API never had: no checkpoint of it has these names."""
    return (Sought(variable, (variable.path,)) for variable in part.weights)


_BELOW_ROOT = (
    "_feature_extractor/",
    "_box_predictor/",
    "_feature_extractor_for_proposal_features/",
    "_feature_extractor_for_box_classifier_features/",
    "_prediction_head_dict/",
)


def _root(names: Iterable[str]) -> str:
    """Find what precedes the detector in the keys: `model/`, unless someone saved it otherwise."""
    for name in names:
        for attribute in _BELOW_ROOT:
            root, found, _ = name.partition(attribute)
            if found and (not root or root.endswith("/")):
                return root
    return "model/"


def _under(sought: Names, *scopes: str) -> Names:
    return (each.under(*scopes) for each in sought)


def _with_suffix(sought: Names) -> Names:
    return (
        Sought(each.variable, tuple(name + VALUE_SUFFIX for name in each.names)) for each in sought
    )
