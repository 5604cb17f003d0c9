"""The detector: one of the meta-architectures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.message import Message, OneOfs
from holdfast.config.schema.ssd import Ssd


@dataclass(frozen=True, kw_only=True, repr=False)
class DetectionModel(Message):
    """Exactly one detector."""

    oneofs: ClassVar[OneOfs] = {
        "model": (
            "faster_rcnn",
            "ssd",
            "experimental_model",
            "center_net",
        ),
    }

    faster_rcnn: FasterRcnn | None = None
    ssd: Ssd | None = None
    experimental_model: ExperimentalModel | None = None
    center_net: CenterNet | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class ExperimentalModel(Message):
    """A detector registered by other code."""

    name: str = ""
