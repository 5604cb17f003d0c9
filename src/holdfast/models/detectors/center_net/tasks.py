"""What a CenterNet is asked to learn and to find: its tasks, with their losses and thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.geometry.keypoint_matching import KeypointMatcher
from holdfast.geometry.tensor import Tensor

CellLoss = Callable[[Tensor, Tensor, Tensor], Tensor]  # predictions, targets, weights -> (B, A)

CENTER = "object_center"
BOX_SCALE, BOX_OFFSET = "box/scale", "box/offset"
SEGMENTATION = "segmentation/heatmap"


@dataclass(frozen=True, kw_only=True)
class CenterTask:
    """Find the centers of objects."""

    loss: CellLoss
    weight: float = 1.0
    min_overlap: float = 0.7
    max_detections: int = 100
    peak_kernel: int = 3
    keypoint_weights: tuple[float, ...] = ()  # the center is their mean; (): that of the box


@dataclass(frozen=True, kw_only=True)
class BoxTask:
    """Find the size of objects, and where in its cell a center is."""

    loss: CellLoss
    scale_weight: float = 0.1
    offset_weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class KeypointWeights:
    """How much the three losses of a task of keypoints count."""

    heatmap: float = 1.0
    offset: float = 1.0
    regression: float = 1.0


@dataclass(frozen=True, kw_only=True)
class KeypointTask:
    """Find the keypoints of the objects of one class."""

    name: str
    class_index: int
    chosen: tuple[int, ...]  # which of all keypoints are the task's
    deviations: tuple[float, ...]  # of their Gaussians, relative to that of the box
    heatmap_loss: CellLoss
    point_loss: CellLoss
    weights: KeypointWeights
    matcher: KeypointMatcher
    num_candidates: int = 100
    peak_kernel: int = 3
    offset_radius: int = 0
    is_offset_per_keypoint: bool = False
    clips: bool = False  # keypoints outside of the image are moved to its border, with score 0
    rescores: bool = False  # an object's score is multiplied by the mean of its keypoints'
    rescoring_threshold: float = 0.0
    takes_highest: bool = False  # without candidates: the highest cell near the regressed place
    nearness: float = 0.1  # the smaller, the nearer it has to be

    @property
    def heatmap(self) -> str:
        """The OD API's name of its heatmap."""
        return f"{self.name}/keypoint/heatmap"

    @property
    def offset(self) -> str:
        """The OD API's name of the keypoints' offsets."""
        return f"{self.name}/keypoint/offset"

    @property
    def regression(self) -> str:
        """The OD API's name of the keypoints as seen from the center."""
        return f"{self.name}/keypoint/regression"


@dataclass(frozen=True, kw_only=True)
class MaskTask:
    """Find the mask of each class; an object's is what of it lies in its box."""

    loss: CellLoss
    weight: float = 1.0
    height: int = 256
    width: int = 256
    threshold: float = 0.5


@dataclass(frozen=True, kw_only=True)
class Tasks:
    """All that one CenterNet is asked."""

    num_classes: int
    center: CenterTask
    box: BoxTask | None = None
    keypoints: tuple[KeypointTask, ...] = ()
    mask: MaskTask | None = None

    @property
    def truth_fields(self) -> frozenset[str]:
        """The fields of GroundTruth beyond boxes, classes and weights that they learn from."""
        fields = {"keypoints": bool(self.keypoints), "masks": self.mask is not None}
        return frozenset(name for name, is_needed in fields.items() if is_needed)
