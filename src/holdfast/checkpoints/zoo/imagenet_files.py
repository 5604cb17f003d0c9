"""The files of Keras' classifiers, trained on ImageNet, that fill backbones of detectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from holdfast.checkpoints.zoo.published_weights import PublishedWeights

_PLACE = "https://storage.googleapis.com/tensorflow/keras-applications"
_EFFICIENTNETS = "https://storage.googleapis.com/keras-applications"
_KERNELS = "weights_tf_dim_ordering_tf_kernels"

# MD5 of the files, as Keras has them in its source. It has none of MobileNet V1 and V2.
_RESNETS = {
    "resnet50": "4d473c1dd8becc155b73f8504c6f6626",
    "resnet101": "88cf7a10940856eca736dc7b7e228a21",
    "resnet152": "ee4c566cf9a93f14d82f913c2dc6dd0c",
    "resnet50v2": "fac2f116257151a9d068a22e544a4917",
    "resnet101v2": "c0ed64b8031c3730f411d2eb4eea35b5",
}
_INCEPTION_RESNET = "d19885ff4a710c122648d3b5c3b684e4"
# With their top: the OD API's EfficientNets keep theirs.
_EFFICIENTNET_TOPS = {
    "b0": "902e53a9f72be733fc0bcb005b3ebbac",
    "b1": "1d254153d4ab51201f1646940f018540",
    "b2": "b15cce36ff4dcbd00b6dd88e7857a6ad",
    "b3": "ffd1fdc53d0ce67064dc6a9c7960ede0",
    "b4": "18c95ad55216b8f92d7e70b3a046e2fc",
    "b5": "ace28f2a6363774853a83a0b21b9421a",
    "b6": "165f6e37dce68623721b423839de8be5",
    "b7": "8c03f828fec3ef71311cd463b6759d99",
}
# How Keras writes the width of MobileNet V1, and the widths that it trained of V2.
_WIDTHS_V1 = {1.0: "1_0", 0.75: "7_5", 0.5: "5_0", 0.25: "2_5"}
_WIDTHS_V2 = (1.0, 0.35, 0.5, 0.75, 1.3, 1.4)

Backbone = tuple[str, float]  # its name, and its depth_multiplier


def imagenet_files() -> Mapping[Backbone, PublishedWeights]:
    """Give the file for each backbone that has one, by name and depth_multiplier.

    Keras' MobileNet V3 is not that of the OD API, whose last blocks have half the channels.

    >>> imagenet_files()["resnet50_v1", 1.0].name
    'resnet50_weights_tf_dim_ordering_tf_kernels_notop'
    >>> ("inception_v2", 1.0) in imagenet_files()
    False
    """
    return dict(_files())


def _files() -> Iterator[tuple[Backbone, PublishedWeights]]:
    for width, text in _WIDTHS_V1.items():
        yield ("mobilenet_v1", width), _file("mobilenet", f"mobilenet_{text}_224_tf_no_top")
    for width in _WIDTHS_V2:
        name = f"mobilenet_v2_{_KERNELS}_{width}_224_no_top"
        yield ("mobilenet_v2", width), _file("mobilenet_v2", name)
    for network, md5 in _RESNETS.items():
        backbone = f"{network.removesuffix('v2')}_v{2 if network.endswith('v2') else 1}"
        yield (backbone, 1.0), _file("resnet", f"{network}_{_KERNELS}_notop", md5)
    name = f"inception_resnet_v2_{_KERNELS}_notop"
    yield ("inception_resnet_v2", 1.0), _file("inception_resnet_v2", name, _INCEPTION_RESNET)
    for version, md5 in _EFFICIENTNET_TOPS.items():
        address = f"{_EFFICIENTNETS}/efficientnet{version}.h5"
        yield (f"efficientnet_{version}", 1.0), _at(address, md5)


def _file(folder: str, name: str, md5: str = "") -> PublishedWeights:
    return _at(f"{_PLACE}/{folder}/{name}.h5", md5)


def _at(address: str, md5: str) -> PublishedWeights:
    name = address.rpartition("/")[2].removesuffix(".h5")
    return PublishedWeights(name=name, address=address, trained_on="ImageNet", md5=md5)
