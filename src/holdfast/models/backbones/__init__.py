"""The networks that turn an image into features."""

from holdfast.models.backbones import (  # noqa: F401  (each fills the table)
    efficientnet,
    inception_resnet_v2,
    inception_v2,
    mobilenet_v1,
    mobilenet_v2,
    mobilenet_v3,
    resnet_v1,
)
