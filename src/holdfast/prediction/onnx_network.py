"""Detection with an ONNX file that has the OD API's names, in onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.models.inference.detections import Detections
from holdfast.prediction.loaded_model import joined
from holdfast.prediction.od_api_outputs import NEEDED_OUTPUTS, as_detections
from holdfast.runtimes.onnx_session import OnnxSession

_RAW = "raw_detection_boxes"


class OnnxNetwork:
    """A session of onnxruntime, called with images as they are."""

    def __init__(self, path: Path) -> None:
        self._session = OnnxSession(path)
        _refuse_other(self._session, path)
        ((_, shape),) = self._session.inputs.values()
        self._takes_one = shape[0] == 1

    @property
    def batches(self) -> bool:
        """Whether images of any size can be detected in together: `detect` sees to it."""
        return True

    @property
    def names(self) -> Mapping[int, str]:
        """The classes by label-map id, as the file has them; {} where it has none."""
        try:
            labels = json.loads(self._session.properties.get("labels", "{}"))
            return {int(number): str(name) for number, name in labels.items()}
        except (ValueError, AttributeError):
            return {}  # of another program, which means something else by it

    def ready(self, image: NDArray[np.uint8]) -> Any:
        """Leave the image as it is: the file resizes it."""
        return image

    def detect(self, images: Sequence[Any]) -> Detections:
        """Detect in all images at once, if they have one size and the file takes several."""
        if self._takes_one or len({np.shape(image) for image in images}) > 1:
            return joined([self._run([image]) for image in images])
        return self._run(images)

    def _run(self, images: Sequence[Any]) -> Detections:
        return as_detections(self._session.run(np.stack(images)))


def _refuse_other(session: OnnxSession, path: Path) -> None:
    """Raise if the file is not one of a detector."""
    if _RAW in session.outputs and NEEDED_OUTPUTS[0] not in session.outputs:
        raise HoldfastError(
            f"{path} gives boxes without suppression: it was exported with --raw.",
            fix="Export it again without --raw to detect with it here.",
        )
    lacking = [name for name in NEEDED_OUTPUTS if name not in session.outputs]
    inputs = [(kind, shape[-1:]) for kind, shape in session.inputs.values()]
    if not lacking and inputs == [("tensor(uint8)", [3])]:
        return
    why = f"it has no output {lacking[0]}" if lacking else "its input is not uint8 images"
    raise HoldfastError(
        f"{path} is the ONNX file of another network than a detector: {why}.",
        fix="Give one of `holdfast export --format onnx`.",
    )
