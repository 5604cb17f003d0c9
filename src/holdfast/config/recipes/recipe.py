"""A recipe: a published network, with the settings that train it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Trained(Enum):
    """What of a network has been trained before, when a training begins."""

    NOTHING = "nothing"
    BACKBONE = "backbone"
    DETECTOR = "detector"


@dataclass(frozen=True, kw_only=True)
class RateForBatch:
    """A learning rate, and the batch size that it is for."""

    learning_rate: float
    batch_size: int
    is_of_adam: bool = False  # whose steps are as long, however large the gradient

    def scaled(self, batch_size: int) -> float:
        """Give the rate for another batch size: in proportion, or for Adam by its root.

        >>> RateForBatch(learning_rate=0.08, batch_size=128).scaled(8)
        0.005
        >>> RateForBatch(learning_rate=0.001, batch_size=128, is_of_adam=True).scaled(8)
        0.00025
        """
        ratio = batch_size / self.batch_size
        return self.learning_rate * (math.sqrt(ratio) if self.is_of_adam else ratio)

    @property
    def rule(self) -> str:
        """How it follows the batch size, in words."""
        return "By the root of the batch sizes" if self.is_of_adam else "In proportion"


class ReasonedRate(NamedTuple):
    """A rate, and where it is from, in words."""

    rate: RateForBatch
    reason: str


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A network as the OD API's model zoo has it, and how to train it on data of one's own."""

    name: str
    title: str
    template: str  # the file with its model
    input_size: int  # height and width, in pixels
    keeps_aspect_ratio: bool = False  # else images are stretched to the input
    shorter_side: float = 1.0  # in input sizes: what images that keep their ratio are resized to
    stages: int = 1  # 2: boxes from proposals, 3: masks, too
    batch_size: int  # unless the user says otherwise: fits into 8 GB or so
    published: RateForBatch  # for training from no weights
    from_classifier: RateForBatch | None = None  # from a classifier's; None: the published one
    fine_tuning: RateForBatch  # for training from a detector's
    fine_tuning_reason: str  # where that one is from
    anchors: str = ""  # published ones: a comment and the generator; "" without any
    augmentation: str
    coco_map: float  # the zoo's mean average precision on COCO, in per cent
    zoo: (
        str  # name of its weights in the model zoo: checkpoints/zoo knows where they are; "" = none
    )
    sizes: Mapping[str, object] = field(default_factory=dict)  # other numbers of the template
    keras_epsilon: str = "0.001"  # of batch norm in the network that keras.applications trained
    batch_norm_margin: int = 8  # columns before what the template says of batch norm

    def rate(self, trained: Trained) -> ReasonedRate:
        """Give the learning rate for a training that begins with so much."""
        match trained:
            case Trained.DETECTOR:
                return ReasonedRate(self.fine_tuning, self.fine_tuning_reason)
            case Trained.BACKBONE if self.from_classifier is not None:
                reason = "Tried, from a classifier's weights (docs/new.md)"
                return ReasonedRate(self.from_classifier, reason)
            case _:
                return ReasonedRate(self.published, "Published")

    @property
    def network(self) -> str:
        """The network with its input size, in words."""
        if self.shorter_side < 1.0:
            return f"{self.title}, sides of {self.shorter_pixels} to {self.input_size}"
        return f"{self.title}, {self.input_size} x {self.input_size}"

    @property
    def shorter_pixels(self) -> int:
        """The shorter side of an image, unless the longer one would exceed the input size."""
        return round(self.shorter_side * self.input_size)
