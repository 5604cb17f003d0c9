"""An int8 file of a detector that was trained quantized is written without a single image."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from tests.models.detectors.small_configs import small_config
from tests.models.detectors.test_build_quantization import asked
from tests.models.detectors.test_quantized_conversion import float_operations, observed_detector

from holdfast.export.export_choices import ExportPrecision, ExportSettings, FormatName
from holdfast.export.export_format import ExportJob
from holdfast.export.tflite_file import write_tflite


@pytest.mark.slow
def test_a_file_of_integers_takes_the_ranges_of_the_training(tmp_path):
    detector, _ = observed_detector("ssd")
    assert detector.clock.settle()
    told: list[str] = []
    job = ExportJob(
        detector=detector,
        config=asked(small_config("ssd", 64, 64), delay=1),  # which has no data
        folder=tmp_path,
        label_map=None,
        settings=ExportSettings(format=FormatName.TFLITE, precision=ExportPrecision.INT8),
        tell=told.append,
    )
    write_tflite(job, tmp_path / "model.tflite")
    assert told == ["ranges are those that the training observed"]
    model = Interpreter(str(tmp_path / "model.tflite"))
    model.allocate_tensors()
    assert float_operations(model) == {"DEQUANTIZE": 2, "TFLite_Detection_PostProcess": 1}
    (image,) = model.get_input_details()
    assert image["dtype"] is np.uint8
    assert image["quantization"] == (1.0, 0)  # pixels as they are
