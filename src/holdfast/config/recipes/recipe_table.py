"""The recipes that there are, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.config.recipes.recipe import RateForBatch, Recipe
from holdfast.config.recipes.recipe_texts import (
    DENSE_PYRAMID_ANCHORS,
    GRID_ANCHORS,
    HALF_CROP,
    LIGHT_CROP,
    ONLY_FLIPS,
    PYRAMID_ANCHORS,
    SCALE_JITTER,
    SSD_ANCHORS,
)
from holdfast.errors import HoldfastError, nearest


def find_recipe(name: str) -> Recipe:
    """Give the recipe of a name; HoldfastError names the nearest."""
    if name in RECIPES:
        return RECIPES[name]
    similar = nearest(name.lower(), RECIPES)
    fix = f"Did you mean {similar[0]}? " if similar else ""
    raise HoldfastError(
        f"There is no recipe {name!r}.", fix=f"{fix}The recipes are {', '.join(RECIPES)}."
    )


# Found by experiment with SSD MobileNetV2 and COCO's weights: docs/new.md.
_SSD_RATE = RateForBatch(learning_rate=0.01, batch_size=8)
_TRIED = "Found by trying, on three data sets (docs/new.md)"
_TRIED_ON_SIBLING = "Found by trying with ssd_mobilenet_v2 (docs/new.md)"
# A head that all maps share gets the gradients of all of them: half of it.
_PYRAMID_RATE = RateForBatch(learning_rate=0.005, batch_size=8)
_HALVED = "Half of what was found for ssd_mobilenet_v2 (docs/new.md); not tried with this network"
_AS_PETS = "As in the OD API's config for pets, from weights of COCO, too; not tried here"


def _two_stages(name: str, title: str, *, zoo: str, rate: float, **more: Any) -> Recipe:
    """Make a recipe of the older zoo, whose networks were trained one image at a time."""
    of_one_image = RateForBatch(learning_rate=rate, batch_size=1)
    return Recipe(
        name=name,
        title=title,
        keeps_aspect_ratio=True,
        batch_size=1,
        published=of_one_image,
        fine_tuning=of_one_image,
        fine_tuning_reason=_AS_PETS,
        augmentation=ONLY_FLIPS,
        zoo=f"{zoo}_coco_2018_01_28",
        batch_norm_margin=6,
        **more,
    )


def _mask_rcnn(
    name: str, title: str, *, extractor: str, stride: int, masks: tuple[int, int], **more: Any
) -> Recipe:
    atrous = "    first_stage_atrous_rate: 2\n" if stride == 8 else ""
    size, layers = masks
    return _two_stages(
        name,
        title,
        template="mask_rcnn.config",
        stages=3,
        input_size=1365,
        shorter_side=800 / 1365,
        anchors=GRID_ANCHORS.replace("stride: 16", f"stride: {stride}"),
        sizes={
            "extractor": extractor,
            "stride": stride,
            "atrous": atrous,
            "mask_size": size,
            "mask_layers": layers,
        },
        **more,
    )


def _mobilenet_of_tf1(
    name: str, title: str, *, zoo: str, is_depthwise: bool, reason: str
) -> Recipe:
    return Recipe(
        name=name,
        title=title,
        template="ssd_mobilenet_v2_tf1.config",
        input_size=300,
        batch_size=16,
        # Both were published with RMSProp, mining and 24 images; this pair is that of the later
        # SSD MobileNetV2, which has the loss that is used here.
        published=RateForBatch(learning_rate=0.8, batch_size=512),
        fine_tuning=_SSD_RATE,
        fine_tuning_reason=reason,
        anchors=SSD_ANCHORS,
        augmentation=HALF_CROP,
        coco_map=22.0,
        zoo=zoo,
        sizes={"depthwise": str(is_depthwise).lower()},
    )


def _fpnlite(size: int, *, batch_size: int, coco_map: float) -> Recipe:
    return Recipe(
        name=f"fpnlite_{size}",
        title="SSD MobileNetV2 with an FPNLite pyramid",
        template="fpnlite.config",
        input_size=size,
        batch_size=batch_size,
        published=RateForBatch(learning_rate=0.08, batch_size=128),
        fine_tuning=_PYRAMID_RATE,
        fine_tuning_reason=_HALVED,
        anchors=PYRAMID_ANCHORS,
        augmentation=LIGHT_CROP,
        coco_map=coco_map,
        zoo=f"ssd_mobilenet_v2_fpnlite_{size}x{size}_coco17_tpu-8",
    )


def _efficientdet(
    number: int, size: int, *, channels: int, iterations: int, batch_size: int, coco_map: float
) -> Recipe:
    return Recipe(
        name=f"efficientdet_d{number}",
        title=f"EfficientDet-D{number}",
        template="efficientdet.config",
        batch_norm_margin=4,
        input_size=size,
        keeps_aspect_ratio=True,
        batch_size=batch_size,
        published=RateForBatch(learning_rate=0.08, batch_size=128),
        fine_tuning=_PYRAMID_RATE,
        fine_tuning_reason=_HALVED,
        anchors=DENSE_PYRAMID_ANCHORS,
        augmentation=SCALE_JITTER,
        coco_map=coco_map,
        zoo=f"efficientdet_d{number}_coco17_tpu-32",
        sizes={
            "efficientnet": f"b{number}",
            "channels": channels,
            "bifpn_iterations": iterations,
        },
    )


# CenterNet was published with Adam, and fine-tuned by nobody here: half the rate is a guess.
_CENTER_RATE = RateForBatch(learning_rate=0.001, batch_size=128, is_of_adam=True)
_CENTER_FINE_TUNING = RateForBatch(learning_rate=0.0005, batch_size=128, is_of_adam=True)
_CENTER_REASON = "Half of what the network was published with; not tried with this network"


def _centernet(name: str, title: str, **values: Any) -> Recipe:
    return Recipe(
        name=name,
        title=title,
        template="centernet.config",
        input_size=512,
        keeps_aspect_ratio=True,
        fine_tuning=_CENTER_FINE_TUNING,
        fine_tuning_reason=_CENTER_REASON,
        augmentation=LIGHT_CROP,
        **values,
    )


RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="ssd_mobilenet_v2_320",
            title="SSD MobileNetV2",
            template="ssd_mobilenet_v2.config",
            input_size=300,
            batch_size=16,
            published=RateForBatch(learning_rate=0.8, batch_size=512),
            fine_tuning=_SSD_RATE,
            fine_tuning_reason=_TRIED_ON_SIBLING,
            anchors=SSD_ANCHORS,
            augmentation=HALF_CROP,
            coco_map=20.2,
            zoo="ssd_mobilenet_v2_320x320_coco17_tpu-8",
        ),
        _mobilenet_of_tf1(
            "ssd_mobilenet_v2",
            "SSD MobileNetV2 of the older zoo",
            zoo="ssd_mobilenet_v2_coco_2018_03_29",
            is_depthwise=False,
            reason=_TRIED,
        ),
        _mobilenet_of_tf1(
            "ssdlite_mobilenet_v2",
            "SSDLite MobileNetV2",
            zoo="ssdlite_mobilenet_v2_coco_2018_05_09",
            is_depthwise=True,
            reason=_TRIED_ON_SIBLING,
        ),
        _fpnlite(320, batch_size=16, coco_map=22.2),
        _fpnlite(640, batch_size=8, coco_map=28.2),
        Recipe(
            name="retinanet_50_640",
            title="RetinaNet: SSD ResNet-50 with a feature pyramid",
            template="retinanet.config",
            keras_epsilon="0.00001001",
            input_size=640,
            batch_size=8,
            published=RateForBatch(learning_rate=0.04, batch_size=64),
            fine_tuning=_PYRAMID_RATE,
            fine_tuning_reason=_HALVED,
            anchors=PYRAMID_ANCHORS,
            augmentation=LIGHT_CROP,
            coco_map=34.3,
            zoo="ssd_resnet50_v1_fpn_640x640_coco17_tpu-8",
        ),
        _efficientdet(0, 512, channels=64, iterations=3, batch_size=8, coco_map=33.6),
        _efficientdet(1, 640, channels=88, iterations=4, batch_size=4, coco_map=38.4),
        _efficientdet(2, 768, channels=112, iterations=5, batch_size=4, coco_map=41.8),
        Recipe(
            name="faster_rcnn_resnet50_640",
            title="Faster R-CNN ResNet-50",
            template="faster_rcnn_square.config",
            stages=2,
            input_size=640,
            keeps_aspect_ratio=True,
            batch_size=4,
            published=RateForBatch(learning_rate=0.04, batch_size=64),
            from_classifier=RateForBatch(learning_rate=0.002, batch_size=1),
            fine_tuning=RateForBatch(learning_rate=0.0003, batch_size=1),
            fine_tuning_reason=_AS_PETS,
            anchors=GRID_ANCHORS,
            augmentation=ONLY_FLIPS,
            coco_map=29.3,
            zoo="faster_rcnn_resnet50_v1_640x640_coco17_tpu-8",
            batch_norm_margin=6,
        ),
        _two_stages(
            "faster_rcnn_inception_v2",
            "Faster R-CNN Inception V2",
            template="faster_rcnn.config",
            stages=2,
            input_size=1024,
            shorter_side=600 / 1024,
            rate=0.0002,
            anchors=GRID_ANCHORS,
            coco_map=28.0,
            zoo="faster_rcnn_inception_v2",
        ),
        _mask_rcnn(
            "mask_rcnn_inception_v2",
            "Mask R-CNN Inception V2",
            extractor="faster_rcnn_inception_v2",
            stride=16,
            masks=(15, 2),
            rate=0.0002,
            coco_map=25.0,
            zoo="mask_rcnn_inception_v2",
        ),
        _mask_rcnn(
            "mask_rcnn_resnet50",
            "Mask R-CNN ResNet-50",
            extractor="faster_rcnn_resnet50",
            stride=8,
            masks=(33, 4),
            rate=0.0003,
            from_classifier=RateForBatch(learning_rate=0.003, batch_size=1),
            coco_map=29.0,
            zoo="mask_rcnn_resnet50_atrous",
        ),
        _centernet(
            "centernet_resnet50",
            "CenterNet ResNet-50 with a feature pyramid",
            batch_size=8,
            published=_CENTER_RATE,
            from_classifier=RateForBatch(learning_rate=0.0005, batch_size=4, is_of_adam=True),
            coco_map=31.2,
            zoo="centernet_resnet50_v1_fpn_512x512_coco17_tpu-8",
            sizes={
                "extractor": "resnet_v1_50_fpn",
                "network": "ResNet-50, from whose maps one of stride 4 with 64 channels is made",
                "depthwise": "false",
            },
        ),
        _centernet(
            "centernet_mobilenet_v2",
            "CenterNet MobileNetV2 with a feature pyramid",
            batch_size=16,
            published=RateForBatch(learning_rate=0.005, batch_size=512, is_of_adam=True),
            coco_map=23.4,
            zoo="centernet_mobilenetv2fpn_512x512_coco17_od",
            sizes={
                "extractor": "mobilenet_v2_fpn_sep_conv",
                "network": "MobileNetV2, from whose maps one of stride 4 with 24 channels is made",
                "depthwise": "true",
            },
        ),
    )
}
