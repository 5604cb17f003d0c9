"""An ONNX file in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.extras import need_extra


class OnnxSession:
    """An ONNX file with one input, ready to run on the CPU."""

    def __init__(self, path: Path) -> None:
        need_extra("onnx", f"{path.name}, an ONNX file,", "onnxruntime")
        import onnxruntime

        try:
            self._session = onnxruntime.InferenceSession(
                str(path), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's have no class in common
            reason = str(error).strip().partition("\n")[0].rpartition("failed:")[2]
            raise HoldfastError(
                f"{path} is not an ONNX file that can be loaded: {reason}",
                fix="Export the detector again with `holdfast export --format onnx`.",
            ) from error
        self.inputs: dict[str, tuple[str, list[Any]]] = {
            each.name: (each.type, each.shape) for each in self._session.get_inputs()
        }
        self.outputs: list[str] = [each.name for each in self._session.get_outputs()]

    @property
    def properties(self) -> dict[str, str]:
        """What the file says of itself."""
        return dict(self._session.get_modelmeta().custom_metadata_map)

    def run(self, images: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
        """Give the outputs of a batch (B, H, W, 3) by their names."""
        (name,) = self.inputs
        found = self._session.run(self.outputs, {name: images})
        return dict(zip(self.outputs, found, strict=True))
