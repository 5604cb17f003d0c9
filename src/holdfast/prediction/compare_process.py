"""One model of a comparison, in a process of its own that does what it is asked, line by line.

    python -m holdfast.prediction.compare_process < requests

Models do not share memory, threads or caches so, and take turns: one works while the others wait.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from holdfast.errors import HoldfastError

_MAP = "DetectionBoxes_Precision/mAP"
_SAMPLES = 8  # images that times are taken with
_RUNTIMES = {".tflite": ("LiteRT", "ai-edge-litert"), ".onnx": ("ONNX Runtime", "onnxruntime")}


class ModelWorker:
    """A loaded model, and what it can be asked."""

    def __init__(self, request: dict[str, Any]) -> None:
        from holdfast.memory.devices.host import resident_bytes
        from holdfast.prediction.compared_data import made_images, open_data
        from holdfast.prediction.load_model import load_model

        self._path, self._checkpoint = Path(request["model"]), request["checkpoint"]
        place, label_map = request["data"], request["label_map"]
        try:
            self._data = open_data(place, label_map) if place else None
        except HoldfastError as error:
            fix = f"{error.fix} Other data are named with --data."
            raise HoldfastError(f"the data of {place}: {error.message}", fix=fix) from error
        count = min(_SAMPLES, request["images"])
        self._images = self._data.samples(count) if self._data else made_images(count)
        self._base_bytes = resident_bytes()
        self._model = load_model(self._path, self._checkpoint)
        for image in self._images:  # what is done once for a size is done now
            self._model([image])
        self._model(self._batch(request["batch_size"]))

    def latency(self, count: int) -> dict[str, Any]:
        """Detect in one image at a time; resizing and suppression are counted."""
        seconds = []
        for index in range(count):
            image = self._images[index % len(self._images)]
            start = time.perf_counter()
            self._model([image])
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def throughput(self, size: int) -> dict[str, Any]:
        """Detect in a batch."""
        batch = self._batch(size)
        start = time.perf_counter()
        self._model(batch)
        return {"images": size, "seconds": time.perf_counter() - start}

    def facts(self) -> dict[str, Any]:
        """Say what the model is, how large, and what memory it has taken so far."""
        from holdfast.memory.devices.host import core_count, peak_bytes
        from holdfast.prediction.model_size import model_size

        peak = peak_bytes()  # before the files are read
        size = model_size(self._path, self._checkpoint)
        return {
            "runtime": self._runtime(),
            "cores": core_count(),
            "bytes": size.num_bytes,
            "zipped_bytes": size.zipped_bytes,
            "memory_bytes": max(0, peak - self._base_bytes),
        }

    def evaluate(self) -> dict[str, Any]:
        """Judge what it finds in all of the data."""
        if self._data is None:
            return {"map": None, "map_50": None, "images": 0, "note": ""}
        result = self._data.judge(self._model)
        names = self._model.names
        note = "" if not names or names == self._data.classes else "has other classes than the data"
        return {
            "map": result.metrics[_MAP],
            "map_50": result.metrics[f"{_MAP}@.50IOU"],
            "images": result.images,
            "note": note,
        }

    def _batch(self, size: int) -> list[Any]:
        return [self._images[index % len(self._images)] for index in range(size)]

    def _runtime(self) -> str:
        from holdfast.prediction.model_size import exported_file

        file = None if self._checkpoint else exported_file(self._path)
        ending = file.suffix.lower() if file is not None else ""
        name, package = _RUNTIMES.get(ending, ("TensorFlow", "tensorflow"))
        text = f"{name} {version(package)}"
        if package == "tensorflow":
            import tensorflow as tf

            text += ", GPU" if tf.config.list_physical_devices("GPU") else ""
        return text


def main() -> None:
    """Answer requests from standard input, each by one line, until it ends."""
    answers = os.fdopen(os.dup(1), "w")  # what libraries print goes elsewhere
    os.dup2(2, 1)
    worker: ModelWorker | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if worker is None:
                if request["cores"] and hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: request["cores"]])
                worker = ModelWorker(request)
                answer: dict[str, Any] = {}
            else:
                answer = getattr(worker, request["do"])(*request["with"])
        except (HoldfastError, OSError) as error:
            fix = getattr(error, "fix", "")
            answer = {"error": getattr(error, "message", str(error)), "fix": fix}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
