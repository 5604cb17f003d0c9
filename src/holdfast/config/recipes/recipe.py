"""The recipes that there are: a published network each, with the settings that train it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.errors import HoldfastError, nearest


@dataclass(frozen=True, kw_only=True)
class PublishedTraining:
    """The learning rate that a network was published with, and the batch size that it is for."""

    learning_rate: float
    batch_size: int


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A network as the OD API's model zoo has it, and how to train it on data of one's own."""

    name: str
    title: str
    template: str  # the file with its model
    input_size: int  # height and width, in pixels
    keeps_aspect_ratio: bool = False  # else images are stretched to the input
    batch_size: int  # unless the user says otherwise: fits into 8 GB or so
    published: PublishedTraining
    augmentation: str
    coco_map: float  # the zoo's mean average precision on COCO, in per cent
    archive: str  # where the zoo's weights are, and below which folder they unpack
    checkpoint: str = "checkpoint/ckpt-0"  # in that folder
    checkpoint_version: str = "V2"
    sizes: Mapping[str, object] = field(default_factory=dict)  # other numbers of the template

    @property
    def zoo_checkpoint(self) -> str:
        """Where the weights are after the archive was unpacked."""
        folder = self.archive.rpartition("/")[2].removesuffix(".tar.gz")
        return f"{folder}/{self.checkpoint}"


def find_recipe(name: str) -> Recipe:
    """Give the recipe of a name; HoldfastError names the nearest."""
    if name in RECIPES:
        return RECIPES[name]
    similar = nearest(name.lower(), RECIPES)
    fix = f"Did you mean {similar[0]}? " if similar else ""
    raise HoldfastError(
        f"There is no recipe {name!r}.", fix=f"{fix}The recipes are {', '.join(RECIPES)}."
    )


_ZOO = "http://download.tensorflow.org/models/object_detection"
_SSD_CROP = """\
  # The crops of the SSD paper: objects become larger, or are cut.
  data_augmentation_options { ssd_random_crop { } }"""
_LIGHT_CROP = """\
  # Cut up to a quarter of the image off.
  data_augmentation_options {
    random_crop_image {
      min_object_covered: 0.0
      min_aspect_ratio: 0.75
      max_aspect_ratio: 3.0
      min_area: 0.75
      max_area: 1.0
      overlap_thresh: 0.0
    }
  }"""
_SCALE_JITTER = """\
  # Half to double size. The published 0.1 to 2.0 pays off in hundreds of epochs only.
  data_augmentation_options {
    random_scale_crop_and_pad_to_square { output_size: ${input_size} scale_min: 0.5 scale_max: 2.0 }
  }"""


def _fpnlite(size: int, *, batch_size: int, coco_map: float) -> Recipe:
    return Recipe(
        name=f"fpnlite_{size}",
        title=f"SSD MobileNetV2 with an FPNLite pyramid, {size} x {size}",
        template="fpnlite.config",
        input_size=size,
        batch_size=batch_size,
        published=PublishedTraining(learning_rate=0.08, batch_size=128),
        augmentation=_LIGHT_CROP,
        coco_map=coco_map,
        archive=f"{_ZOO}/tf2/20200711/ssd_mobilenet_v2_fpnlite_{size}x{size}_coco17_tpu-8.tar.gz",
    )


def _efficientdet(
    number: int, size: int, *, channels: int, iterations: int, batch_size: int, coco_map: float
) -> Recipe:
    return Recipe(
        name=f"efficientdet_d{number}",
        title=f"EfficientDet-D{number}, {size} x {size}",
        template="efficientdet.config",
        input_size=size,
        keeps_aspect_ratio=True,
        batch_size=batch_size,
        published=PublishedTraining(learning_rate=0.08, batch_size=128),
        augmentation=_SCALE_JITTER,
        coco_map=coco_map,
        archive=f"{_ZOO}/tf2/20200711/efficientdet_d{number}_coco17_tpu-32.tar.gz",
        sizes={
            "efficientnet": f"b{number}",
            "channels": channels,
            "bifpn_iterations": iterations,
        },
    )


RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            name="ssd_mobilenet_v2_320",
            title="SSD MobileNetV2, 300 x 300",
            template="ssd_mobilenet_v2.config",
            input_size=300,
            batch_size=16,
            published=PublishedTraining(learning_rate=0.8, batch_size=512),
            augmentation=_SSD_CROP,
            coco_map=20.2,
            archive=f"{_ZOO}/tf2/20200711/ssd_mobilenet_v2_320x320_coco17_tpu-8.tar.gz",
        ),
        Recipe(
            name="ssdlite_mobilenet_v2",
            title="SSDLite MobileNetV2, 300 x 300",
            template="ssdlite_mobilenet_v2.config",
            input_size=300,
            batch_size=16,
            # Published with RMSProp, whose epsilon of 1 makes it nearly the same as momentum.
            published=PublishedTraining(learning_rate=0.004, batch_size=24),
            augmentation=_SSD_CROP,
            coco_map=22.0,
            archive=f"{_ZOO}/ssdlite_mobilenet_v2_coco_2018_05_09.tar.gz",
            checkpoint="model.ckpt",
            checkpoint_version="V1",
        ),
        _fpnlite(320, batch_size=16, coco_map=22.2),
        _fpnlite(640, batch_size=8, coco_map=28.2),
        Recipe(
            name="retinanet_50_640",
            title="RetinaNet: SSD ResNet-50 with a feature pyramid, 640 x 640",
            template="retinanet.config",
            input_size=640,
            batch_size=8,
            published=PublishedTraining(learning_rate=0.04, batch_size=64),
            augmentation=_LIGHT_CROP,
            coco_map=34.3,
            archive=f"{_ZOO}/tf2/20200711/ssd_resnet50_v1_fpn_640x640_coco17_tpu-8.tar.gz",
        ),
        _efficientdet(0, 512, channels=64, iterations=3, batch_size=8, coco_map=33.6),
        _efficientdet(1, 640, channels=88, iterations=4, batch_size=4, coco_map=38.4),
        _efficientdet(2, 768, channels=112, iterations=5, batch_size=4, coco_map=41.8),
    )
}
