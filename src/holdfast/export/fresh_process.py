"""Run a SavedModel where a client would: in a process of its own that has no Holdfast loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from holdfast.errors import HoldfastError
from holdfast.export.client_input import ClientInput

_PROGRAM = """
import sys
import numpy as np
import tensorflow as tf

folder, inputs, outputs = sys.argv[1:]
run = tf.saved_model.load(folder).signatures["serving_default"]
sent = np.load(inputs, allow_pickle=False)
found = {}
for index in range(len(sent.files)):
    value = sent[str(index)]
    if value.ndim == 1:
        value = [value.tobytes()]
    for name, each in run(input_tensor=tf.constant(value)).items():
        found[f"{index}/{name}"] = each.numpy()[0]
assert not any(name.partition(".")[0] == "holdfast" for name in sys.modules)
np.savez(outputs, **found)
"""


def run_saved_model(
    folder: Path, images: Sequence[NDArray[np.uint8]], input_type: ClientInput, work: Path
) -> list[dict[str, NDArray[Any]]]:
    """Give the outputs of each image, by their names; work is a folder for files between."""
    folder, work = folder.resolve(), work.resolve()  # the process has another working directory
    inputs, outputs = work / "inputs.npz", work / "outputs.npz"
    sent = {str(index): _sent(image, input_type) for index, image in enumerate(images)}
    np.savez(inputs, **sent)  # type: ignore[arg-type]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    finished = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), str(inputs), str(outputs)],
        env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=work,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode:
        last = (finished.stderr.strip().splitlines() or ["no message"])[-1]
        raise HoldfastError(
            f"The exported SavedModel does not run in a process of its own: {last}",
            fix="Nothing was written. Try `holdfast evaluate` on the same checkpoint first.",
        )
    found: list[dict[str, NDArray[Any]]] = [{} for _ in images]
    with np.load(outputs, allow_pickle=False) as stored:
        for key in stored.files:
            index, _, name = key.partition("/")
            found[int(index)][name] = stored[key]
    return found


def _sent(image: NDArray[np.uint8], input_type: ClientInput) -> NDArray[np.uint8]:
    """Give what a client sends: the image, or bytes."""
    if input_type is ClientInput.IMAGE_TENSOR:
        return image[np.newaxis]
    encoded = tf.io.encode_png(image).numpy()
    if input_type is ClientInput.EXAMPLE:
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[encoded]))
        example = tf.train.Example(features=tf.train.Features(feature={"image/encoded": feature}))
        encoded = example.SerializeToString()
    return np.frombuffer(encoded, np.uint8)
