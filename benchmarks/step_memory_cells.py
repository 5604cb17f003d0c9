"""The training steps whose predicted peak memory is compared with the measured one."""

from __future__ import annotations

from typing import NamedTuple


class Cell(NamedTuple):
    """A step: a network, the shape of its batch, and how it is computed."""

    source: str  # a recipe of Holdfast's own, or zoo/… : a config of the OD API's model zoo
    side: int  # height and width of the network's input, in pixels
    micro_batch: int
    accumulation: int = 1
    rematerializes: bool = False
    boxes: int = 100  # to which every image is padded
    region_chunks: int = 1  # in which a second stage looks at its regions

    def __str__(self) -> str:
        pieces = f" x {self.accumulation}" if self.accumulation > 1 else ""
        again = " remat" if self.rematerializes else ""
        again += f" chunks {self.region_chunks}" if self.region_chunks > 1 else ""
        crowd = f" boxes {self.boxes}" if self.boxes != 100 else ""
        return f"{self.source} {self.side} batch {self.micro_batch}{pieces}{again}{crowd}"


V2, LITE, FPNLITE = "ssd_mobilenet_v2_320", "ssdlite_mobilenet_v2", "fpnlite_320"
RETINANET, D0, D1 = "retinanet_50_640", "efficientdet_d0", "efficientdet_d1"
V1, V1_FPN = "zoo/tf1/ssd_mobilenet_v1_coco", "zoo/tf2/ssd_mobilenet_v1_fpn_640x640_coco17_tpu-8"
INCEPTION = "zoo/tf1/ssd_inception_v2_coco"
V3_LARGE = "zoo/tf1/ssdlite_mobilenet_v3_large_320x320_coco"
V3_SMALL = "zoo/tf1/ssdlite_mobilenet_v3_small_320x320_coco"
RESNET_101 = "zoo/tf2/ssd_resnet101_v1_fpn_640x640_coco17_tpu-8"
FASTER = "zoo/tf2/faster_rcnn_resnet50_v1_640x640_coco17_tpu-8"
FASTER_INCEPTION = "zoo/tf1/faster_rcnn_inception_v2_coco"
MASK_INCEPTION = "zoo/tf1/mask_rcnn_inception_v2_coco"
MASK_LARGE = "zoo/tf2/mask_rcnn_inception_resnet_v2_1024x1024_coco17_gpu-8"
CENTER, CENTER_LIGHT = "centernet_resnet50", "centernet_mobilenet_v2"

CELLS = (
    Cell(V2, 300, 1),
    Cell(V2, 300, 4),
    Cell(V2, 300, 8),
    Cell(V2, 300, 16),
    Cell(V2, 300, 8, rematerializes=True),
    Cell(V2, 300, 16, rematerializes=True),
    Cell(V2, 300, 4, accumulation=2),
    Cell(V2, 300, 2, accumulation=4),
    Cell(V2, 300, 4, accumulation=4, rematerializes=True),
    Cell(V2, 448, 4),
    Cell(V2, 300, 4, boxes=500),
    Cell(LITE, 300, 4),
    Cell(LITE, 300, 16),
    Cell(LITE, 300, 8, rematerializes=True),
    Cell(LITE, 416, 8),
    Cell(FPNLITE, 320, 1),
    Cell(FPNLITE, 320, 8),
    Cell(FPNLITE, 320, 16),
    Cell(FPNLITE, 320, 8, rematerializes=True),
    Cell(FPNLITE, 320, 2, accumulation=4),
    Cell(FPNLITE, 640, 2),
    Cell(FPNLITE, 640, 4, rematerializes=True),
    Cell(RETINANET, 640, 1),
    Cell(RETINANET, 640, 2),
    Cell(RETINANET, 640, 2, rematerializes=True),
    Cell(RETINANET, 640, 1, accumulation=2),
    Cell(RETINANET, 512, 2),
    Cell(D0, 512, 1),
    Cell(D0, 512, 2),
    Cell(D0, 512, 4),
    Cell(D0, 512, 2, rematerializes=True),
    Cell(D0, 512, 2, accumulation=2),
    Cell(D0, 384, 4),
    Cell(D1, 640, 1),
    Cell(D1, 640, 2, rematerializes=True),
    Cell(V1, 300, 8),
    Cell(V1, 300, 16, rematerializes=True),
    Cell(V1_FPN, 640, 1),
    Cell(V1_FPN, 640, 2),
    Cell(V1_FPN, 640, 2, rematerializes=True),
    Cell(INCEPTION, 300, 4),
    Cell(INCEPTION, 300, 12),
    Cell(INCEPTION, 300, 8, rematerializes=True),
    Cell(V3_LARGE, 320, 8),
    Cell(V3_LARGE, 320, 16, rematerializes=True),
    Cell(V3_SMALL, 320, 16),
    Cell(RESNET_101, 640, 1),
    Cell(RESNET_101, 512, 2, rematerializes=True),
    Cell(FASTER, 640, 1),
    Cell(FASTER, 640, 2),
    Cell(FASTER, 640, 2, rematerializes=True),
    Cell(FASTER, 640, 1, accumulation=2),
    Cell(FASTER_INCEPTION, 600, 1),
    Cell(FASTER_INCEPTION, 600, 2),
    Cell(MASK_INCEPTION, 512, 1, boxes=10),
    Cell(MASK_INCEPTION, 512, 1),
    Cell(MASK_LARGE, 512, 1),
    Cell(MASK_LARGE, 512, 1, rematerializes=True),
    Cell(MASK_INCEPTION, 512, 1, region_chunks=8),
    Cell(MASK_LARGE, 512, 1, rematerializes=True, region_chunks=8),
    Cell(CENTER, 512, 2),
    Cell(CENTER, 512, 4, rematerializes=True),
    Cell(CENTER, 512, 2, accumulation=2),
    Cell(CENTER_LIGHT, 512, 4),
)
