"""Run an ONNX file where a client would: in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def run_onnx(path: Path, images: Sequence[NDArray[np.uint8]]) -> list[dict[str, NDArray[Any]]]:
    """Give the outputs of each image, by their names, without batch."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    found = []
    for image in images:
        outputs = session.run(names, {"input_tensor": image[np.newaxis]})
        found.append({name: value[0] for name, value in zip(names, outputs, strict=True)})
    return found
