"""A detector in a .tflite file, run by LiteRT."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.extras import need_extra
from holdfast.runtimes.tflite_metadata import (
    METADATA_NAME,
    ImageInput,
    read_input,
    read_labels,
)
from holdfast.runtimes.true_frame import boxes_in_image, points_in_image

# N detections, K keypoints of an object, A anchors, C class columns

POST_PROCESS = "TFLite_Detection_PostProcess"


class LitertOutputs(NamedTuple):
    """What the file gives for one image; of N rows only the first `count` are detections."""

    boxes: NDArray[np.float32]  # (N, 4) normalized to the input; they may lie outside of it
    classes: NDArray[np.float32]  # (N,) from 0
    scores: NDArray[np.float32]  # (N,)
    count: int  # type: ignore[assignment]  # a tuple's method of that name is not used
    keypoints: NDArray[np.float32] | None = None  # (N, K, 2) y, x
    keypoint_scores: NDArray[np.float32] | None = None  # (N, K)
    raw_scores: NDArray[np.float32] | None = None  # (A, C) before suppression, if asked for

    def in_image(self, size: NDArray[np.int32], sides: tuple[int, int]) -> LitertOutputs:
        """Give boxes and keypoints relative to the image in an input of these sides, in its corner.

        size: height and width of the image. The file's operation neither clips boxes nor leaves out
        those outside of the image, which use up places; here both is done, as a detector does.
        """
        boxes = boxes_in_image(self.boxes, size, sides)
        is_found = np.arange(len(boxes)) < self.count
        is_empty = (boxes[:, 2:] - boxes[:, :2]).min(axis=1) <= 0.0
        rows = ~(is_found & is_empty)
        points, sure = self.keypoints, self.keypoint_scores
        return self._replace(
            boxes=np.where(is_found[:, None], boxes, 0.0)[rows],
            classes=np.where(is_found, np.round(self.classes), 0.0)[rows],
            scores=np.where(is_found, self.scores, 0.0)[rows],
            count=int(np.count_nonzero(is_found & rows)),
            keypoints=None if points is None else points_in_image(points, size, sides)[rows],
            keypoint_scores=None if sure is None else sure[rows],
        )


def require_litert() -> Any:
    """Import LiteRT, or say how to install it."""
    need_extra("tflite", "A TFLite file", "ai_edge_litert")
    from ai_edge_litert import interpreter

    return interpreter


class LitertModel:
    """The network of a .tflite file with the outputs of TFLite_Detection_PostProcess.

    Files of Holdfast and of the OD API's exporters, of whatever order of outputs. Those without
    that operation, of a CenterNet, give boxes, classes, scores and count in this order, and then
    keypoints and their scores.
    """

    def __init__(self, path: Path, *, gives_raw_scores: bool = False) -> None:
        """Load it; gives_raw_scores: also what suppression chose from, where the file has one."""
        litert = require_litert()
        content = path.read_bytes()
        model = _parsed(path, content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that keeping all tensors takes memory
                self._interpreter = litert.Interpreter(
                    model_content=content, experimental_preserve_all_tensors=gives_raw_scores
                )
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise _unusable(path, str(error).strip().partition("\n")[0].rstrip(".")) from error
        self._input = self._image_input(path)
        operation = _post_processing(model)
        self._outputs = _output_places(path, model, operation, self._interpreter)
        self._raw = int(operation.inputs[1]) if operation is not None else None
        if not gives_raw_scores:
            self._raw = None
        tables = _tables(model)
        self.image_input: ImageInput | None = read_input(tables) if tables else None
        self.labels = read_labels(content)  # class from 0 -> name; {} without any

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the input."""
        _, height, width, _ = self._input["shape"]
        return int(height), int(width)

    @property
    def takes_pixels(self) -> bool:
        """Whether the input is uint8."""
        return bool(self._input["dtype"] == np.uint8)

    def __call__(self, image: NDArray[np.float32]) -> LitertOutputs:
        """Detect in an image (H, W, 3) that is resized, and normalized as `image_input` says."""
        sent: NDArray[Any] = image[np.newaxis]
        if self.takes_pixels:
            sent = np.clip(np.round(sent), 0, 255)
        self._interpreter.set_tensor(self._input["index"], sent.astype(self._input["dtype"]))
        self._interpreter.invoke()
        found = [np.asarray(self._interpreter.get_tensor(each)) for each in self._outputs]
        points = [each[0] for each in found[4:6]]
        return LitertOutputs(
            boxes=found[0][0],
            classes=found[1][0],
            scores=found[2][0],
            count=int(found[3].reshape(-1)[0]),
            keypoints=points[0] if points else None,
            keypoint_scores=points[1] if points else None,
            raw_scores=self._raw_scores(),
        )

    def _raw_scores(self) -> NDArray[np.float32] | None:
        if self._raw is None:
            return None
        scores = self._interpreter.get_tensor(self._raw)[0]
        (details,) = (
            each for each in self._interpreter.get_tensor_details() if each["index"] == self._raw
        )
        scale, zero = details["quantization"]
        if scores.dtype == np.float32:
            return np.asarray(scores)
        real: NDArray[np.float32] = (scores.astype(np.float32) - zero) * np.float32(scale)
        return real

    def _image_input(self, path: Path) -> dict[str, Any]:
        inputs: list[dict[str, Any]] = self._interpreter.get_input_details()
        shape: Sequence[int] = inputs[0]["shape"] if inputs else ()
        if len(inputs) != 1 or len(shape) != 4 or shape[0] != 1 or shape[3] != 3:
            raise _other_network(path, "its input is not one RGB image")
        if inputs[0]["dtype"] not in (np.float32, np.uint8):
            raise _other_network(path, "its input is neither float32 nor uint8")
        return inputs[0]


def _parsed(path: Path, content: bytes) -> Any:
    """Read the tables of a model; a file that is cut is noticed here, before LiteRT maps it."""
    from ai_edge_litert import schema_py_generated as schema

    if content[4:8] != b"TFL3":
        raise _unusable(path, "it is not a TFLite file")
    try:
        return schema.ModelT.InitFromPackedBuf(content, 0)
    except Exception as error:  # whatever the bytes happen to say
        raise _unusable(path, "it is damaged or cut off") from error


def _post_processing(model: Any) -> Any:
    """Find the operation that suppresses; None without one."""
    codes = model.operatorCodes
    for operation in model.subgraphs[0].operators or ():
        name = codes[operation.opcodeIndex].customCode
        if name is not None and name.decode() == POST_PROCESS:
            return operation
    return None


def _output_places(path: Path, model: Any, operation: Any, interpreter: Any) -> list[int]:
    """List the tensors of boxes, classes, scores and count, and of keypoints where there are."""
    if operation is not None:
        return [int(each) for each in operation.outputs[:4]]
    details = interpreter.get_output_details()
    ranks = [len(each["shape"]) for each in details]
    has_boxes = len(details) in (4, 6) and list(details[0]["shape"][2:]) == [4]
    if not has_boxes or ranks[:4] != [3, 2, 2, 1] or ranks[4:] not in ([], [4, 3]):
        raise _other_network(path, "it gives no boxes, classes, scores and count, in this order")
    return [int(each["index"]) for each in details]


def _tables(model: Any) -> bytes | None:
    for entry in model.metadata or ():
        if entry.name is not None and entry.name.decode() == METADATA_NAME:
            return bytes(bytearray(model.buffers[entry.buffer].data))
    return None


def _unusable(path: Path, reason: str) -> HoldfastError:
    return HoldfastError(
        f"{path} cannot be run: {reason}.",
        fix="Export the detector again with `holdfast export --format tflite`.",
    )


def _other_network(path: Path, reason: str) -> HoldfastError:
    return HoldfastError(
        f"{path} is not a detector: {reason}.",
        fix="Give a file of `holdfast export --format tflite` or of the OD API's exporter.",
    )
