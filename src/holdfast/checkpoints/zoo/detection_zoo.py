"""The archives of the OD API's two model zoos, as its pages and configs describe them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.checkpoints.zoo.published_weights import PublishedWeights

_PLACE = "https://download.tensorflow.org/models/object_detection"
_R_FCN = "R-FCN's box predictor"
_KEYPOINTS = "boxes, keypoints"
_MASKS = "boxes, masks"
_OPEN_IMAGES = "Open Images"


def zoo_archives() -> Iterator[PublishedWeights]:
    """List both zoos, the newer first; sizes of archives are not published."""
    yield from _center_nets()
    yield from _single_stage_tf2()
    yield from _two_stage_tf2()
    yield from _single_stage_tf1()
    yield from _mobile_tf1()
    yield from _two_stage_tf1()
    yield from _other_data_tf1()


def _tf2(
    name: str,
    extractor: str,
    sides: int | tuple[int, int],
    coco_map: float | None,
    *,
    folder: str = "20200711",
    **more: Any,
) -> PublishedWeights:
    return _archive(f"tf2/{folder}/", name, extractor, sides, coco_map, **more)


def _tf1(
    name: str,
    extractor: str,
    sides: int | tuple[int, int],
    coco_map: float | None = None,
    **more: Any,
) -> PublishedWeights:
    return _archive("", name, extractor, sides, coco_map, **more)


def _archive(
    folder: str,
    name: str,
    extractor: str,
    sides: int | tuple[int, int],
    coco_map: float | None,
    **more: Any,
) -> PublishedWeights:
    return PublishedWeights(
        name=name,
        address=f"{_PLACE}/{folder}{name}.tar.gz",
        extractor=extractor,
        sides=sides if isinstance(sides, tuple) else (sides, sides),
        coco_map=coco_map,
        **more,
    )


def _center_nets() -> Iterator[PublishedWeights]:
    hourglass, resnet, resnet_v2 = "hourglass_104", "resnet_v1_50_fpn", "resnet_v2_50"
    mobile = "mobilenet_v2_fpn"
    with_points = {"outputs": _KEYPOINTS}
    for size, tpus, boxes, points in ((512, 8, 41.9, 40.0), (1024, 32, 44.5, 42.8)):
        name = f"centernet_hg104_{size}x{size}"
        yield _tf2(f"{name}_coco17_tpu-{tpus}", hourglass, size, boxes, folder="20200713")
        yield _tf2(f"{name}_kpts_coco17_tpu-32", hourglass, size, points, **with_points)
    yield _tf2("centernet_resnet50_v1_fpn_512x512_coco17_tpu-8", resnet, 512, 31.2)
    yield _tf2(
        "centernet_resnet50_v1_fpn_512x512_kpts_coco17_tpu-8", resnet, 512, 29.3, **with_points
    )
    yield _tf2("centernet_resnet101_v1_fpn_512x512_coco17_tpu-8", "resnet_v1_101_fpn", 512, 34.2)
    yield _tf2("centernet_resnet50_v2_512x512_coco17_tpu-8", resnet_v2, 512, 29.5)
    yield _tf2(
        "centernet_resnet50_v2_512x512_kpts_coco17_tpu-8", resnet_v2, 512, 27.6, **with_points
    )
    name = "centernet_mobilenetv2fpn_512x512_coco17"
    yield _tf2(f"{name}_od", mobile, 512, 23.4, folder="20210210")
    # Its page gives 41.7, which is the figure of the keypoints.
    yield _tf2(f"{name}_kpts", mobile, 512, None, folder="20210210", **with_points)
    # An older one of the same name is on its page, too, as deprecated.
    yield _tf2("extremenet", "extremenet", 512, None, folder="20210507", lacking="ExtremeNet")


def _single_stage_tf2() -> Iterator[PublishedWeights]:
    sizes = (512, 640, 768, 896, 1024, 1280, 1408, 1536)
    scores = (33.6, 38.4, 41.8, 45.4, 48.5, 49.7, 50.5, 51.2)
    for number, (size, score) in enumerate(zip(sizes, scores, strict=True)):
        network = f"ssd_efficientnet-b{min(number, 6)}_bifpn_keras"  # D7 has the network of D6
        yield _tf2(f"efficientdet_d{number}_coco17_tpu-32", network, size, score)
    yield _tf2("ssd_mobilenet_v2_320x320_coco17_tpu-8", "ssd_mobilenet_v2_keras", 300, 20.2)
    network = "ssd_mobilenet_v1_fpn_keras"
    yield _tf2("ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8", network, 640, 29.1)
    for size, score in ((320, 22.2), (640, 28.2)):
        name = f"ssd_mobilenet_v2_fpnlite_{size}x{size}_coco17_tpu-8"
        yield _tf2(name, "ssd_mobilenet_v2_fpn_keras", size, score)
    for depth, small, large in ((50, 34.3, 38.3), (101, 35.6, 39.5), (152, 35.4, 39.6)):
        for size, score in ((640, small), (1024, large)):
            name = f"ssd_resnet{depth}_v1_fpn_{size}x{size}_coco17_tpu-8"
            yield _tf2(name, f"ssd_resnet{depth}_v1_fpn_keras", size, score)


def _two_stage_tf2() -> Iterator[PublishedWeights]:
    for depth, *scores in (
        (50, 29.3, 31.0, 31.6),
        (101, 31.8, 37.1, 36.6),
        (152, 32.4, 37.6, 37.4),
    ):
        network = f"faster_rcnn_resnet{depth}_keras"
        for (height, width), score in zip(
            ((640, 640), (1024, 1024), (800, 1333)), scores, strict=True
        ):
            machine = "gpu-8" if height != width else "tpu-8"
            name = f"faster_rcnn_resnet{depth}_v1_{height}x{width}_coco17_{machine}"
            yield _tf2(name, network, (height, width), score)
    network = "faster_rcnn_inception_resnet_v2_keras"
    for size, score in ((640, 37.7), (1024, 38.7)):
        name = f"faster_rcnn_inception_resnet_v2_{size}x{size}_coco17_tpu-8"
        yield _tf2(name, network, size, score)
    name = "mask_rcnn_inception_resnet_v2_1024x1024_coco17_gpu-8"
    yield _tf2(name, network, 1024, 39.0, outputs=_MASKS)


def _single_stage_tf1() -> Iterator[PublishedWeights]:
    first, second = "ssd_mobilenet_v1", "ssd_mobilenet_v2"
    end = "300x300_coco14_sync_2018_07"
    shared = "shared_box_predictor_640x640_coco14_sync_2018_07_03"
    yield _tf1(f"{first}_coco_2018_01_28", first, 300, 21)
    yield _tf1(f"{first}_0.75_depth_{end}_03", first, 300, 18)
    yield _tf1(f"{first}_quantized_{end}_18", first, 300, 18)
    yield _tf1(f"{first}_0.75_depth_quantized_{end}_18", first, 300, 16)
    yield _tf1(f"{first}_ppn_shared_box_predictor_{end}_03", f"{first}_ppn", 300, 20)
    yield _tf1(f"{first}_fpn_{shared}", f"{first}_fpn", 640, 32)
    yield _tf1(f"ssd_resnet50_v1_fpn_{shared}", "ssd_resnet50_v1_fpn", 640, 35)
    yield _tf1(f"{second}_coco_2018_03_29", second, 300, 22)
    yield _tf1(f"{second}_quantized_300x300_coco_2019_01_03", second, 300, 22)
    yield _tf1("ssdlite_mobilenet_v2_coco_2018_05_09", second, 300, 22)
    yield _tf1("ssd_inception_v2_coco_2018_01_28", "ssd_inception_v2", 300, 24)


def _mobile_tf1() -> Iterator[PublishedWeights]:
    for target, score in (("cpu", 24.0), ("edgetpu", 25.9), ("dsp", 28.9)):
        name = f"ssdlite_mobiledet_{target}_320x320_coco_2020_05_19"
        yield _tf1(name, f"ssd_mobiledet_{target}", 320, score)
    name = "ssd_mobilenet_v2_mnasfpn_shared_box_predictor_320x320_coco_sync_2020_05_18"
    yield _tf1(name, "ssd_mobilenet_v2_mnasfpn", 320, 26.6)
    for kind, score in (("large", 22.6), ("small", 15.4)):
        network = f"ssd_mobilenet_v3_{kind}"
        yield _tf1(f"{network}_coco_2020_01_14", network, 320, score)
    yield PublishedWeights(
        name="ssdlite_mobilenet_edgetpu_coco_quant",
        address="https://storage.cloud.google.com/mobilenet_edgetpu/checkpoints/"
        "ssdlite_mobilenet_edgetpu_coco_quant.tar.gz",
        extractor="ssd_mobilenet_edgetpu",
        sides=(320, 320),
        coco_map=24.3,
    )
    for kind, score in (("s", 26.3), ("m", 27.4), ("l", 28.0)):
        name = f"spaghettinet_edgetpu_{kind}_2021_10_13"
        yield _archive("tf1/", name, "ssd_spaghettinet", 320, score)


def _two_stage_tf1() -> Iterator[PublishedWeights]:
    usual, large, date = (600, 1024), (800, 1365), "coco_2018_01_28"
    residual = "faster_rcnn_inception_resnet_v2"
    networks: tuple[tuple[str, str, float | None], ...] = (
        ("faster_rcnn_inception_v2", "faster_rcnn_inception_v2", 28),
        ("faster_rcnn_resnet50", "faster_rcnn_resnet50", 30),
        ("faster_rcnn_resnet50_lowproposals", "faster_rcnn_resnet50", None),
        ("faster_rcnn_resnet101", "faster_rcnn_resnet101", 32),
        ("faster_rcnn_resnet101_lowproposals", "faster_rcnn_resnet101", None),
        ("faster_rcnn_inception_resnet_v2_atrous", residual, 37),
        ("faster_rcnn_inception_resnet_v2_atrous_lowproposals", residual, None),
    )
    for name, network, score in networks:
        yield _tf1(f"{name}_{date}", network, usual, score)
    yield _tf1(f"rfcn_resnet101_{date}", "faster_rcnn_resnet101", usual, 30, lacking=_R_FCN)
    yield _tf1(f"faster_rcnn_nas_{date}", "faster_rcnn_nas", 1200, 43)
    yield _tf1(f"faster_rcnn_nas_lowproposals_{date}", "faster_rcnn_nas", 1200)
    for name, network, score in (
        ("mask_rcnn_inception_resnet_v2_atrous", residual, 36),
        ("mask_rcnn_inception_v2", "faster_rcnn_inception_v2", 25),
        ("mask_rcnn_resnet101_atrous", "faster_rcnn_resnet101", 33),
        ("mask_rcnn_resnet50_atrous", "faster_rcnn_resnet50", 29),
    ):
        yield _tf1(f"{name}_{date}", network, large, score, outputs=_MASKS)


def _other_data_tf1() -> Iterator[PublishedWeights]:
    """List what was trained on other images than COCO's; none has a figure on COCO."""
    usual, network = (600, 1024), "faster_rcnn_resnet101"
    residual = "faster_rcnn_inception_resnet_v2"
    yield _tf1(f"{network}_kitti_2018_01_28", network, (600, 1987), trained_on="KITTI")
    for kind in ("atrous_oid_2018_01_28", "atrous_lowproposals_oid_2018_01_28"):
        yield _tf1(f"{residual}_{kind}", residual, usual, trained_on=_OPEN_IMAGES)
    name = "facessd_mobilenet_v2_quantized_320x320_open_image_v4"
    yield _tf1(name, "ssd_mobilenet_v2", 320, trained_on=f"faces of {_OPEN_IMAGES}")
    name = f"{residual}_atrous_oid_v4_2018_12_12"
    yield _tf1(name, residual, usual, trained_on=_OPEN_IMAGES)
    name = "ssd_mobilenet_v2_oid_v4_2018_12_12"
    yield _tf1(name, "ssd_mobilenet_v2", 300, trained_on=_OPEN_IMAGES)
    name = "ssd_resnet101_v1_fpn_shared_box_predictor_oid_512x512_sync_2019_01_20"
    yield _tf1(name, "ssd_resnet101_v1_fpn", 512, trained_on=_OPEN_IMAGES)
    for depth in (101, 50):
        each = f"faster_rcnn_resnet{depth}"
        yield _tf1(f"{each}_fgvc_2018_07_19", each, usual, trained_on="iNaturalist")
    yield _tf1(f"{network}_ava_v2.1_2018_04_30", network, usual, trained_on="AVA")
    end, wild = "resnet101_snapshot_serengeti_2020_06_10", "Snapshot Serengeti"
    yield _tf1(f"faster_rcnn_{end}", network, 640, trained_on=wild)
    yield _tf1(f"context_rcnn_{end}", network, 640, trained_on=wild, lacking="Context R-CNN")
