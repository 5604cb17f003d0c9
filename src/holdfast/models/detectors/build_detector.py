"""Turn a config's model into a detector."""

from __future__ import annotations

from pathlib import Path

import keras

from holdfast.config.facts.networks import detector_of
from holdfast.config.schema.center_net import CenterNet
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd
from holdfast.errors import HoldfastError
from holdfast.geometry.sampling import Sampler
from holdfast.models.detectors.build_quantization import build_quantization
from holdfast.models.detectors.center_net.build_center_net import build_center_net
from holdfast.models.detectors.interface import Detector
from holdfast.models.detectors.single_stage.build_single_stage import build_single_stage
from holdfast.models.detectors.two_stage.build_two_stage import build_two_stage
from holdfast.models.layers.quantization_clock import quantized_layers

_PRECISIONS = ("float32", "mixed_float16", "mixed_bfloat16")


def build_detector(
    config: TrainEvalPipelineConfig | DetectionModel,
    *,
    precision: str = "float32",
    freeze_batch_norm: bool = False,
    sampler: Sampler | None = None,
) -> Detector:
    """Build the detector that a config describes, with fresh weights.

    Args:
        config: The whole config, or its model.
        precision: "float32", "mixed_float16" or "mixed_bfloat16".
        freeze_batch_norm: Keep the moving statistics of batch norm in training, whatever the config
            says.
        sampler: Chooses the anchors to train where the config samples them. Default: at random.

    Returns:
        A Keras model with the steps of a detector: `preprocess`, call, `targets`, `loss_terms`,
        `detections`.

    Raises:
        HoldfastError: The config describes a detector that cannot be built.

    Example:
        >>> detector = holdfast.build_detector(holdfast.load_config("pipeline.config"))
        >>> inputs, sizes = detector.preprocess(np.zeros((2, 48, 64, 3), np.uint8))
        >>> predictions = detector(inputs, sizes=sizes)
        >>> predictions.box_encodings.shape  # 2 images, 63 anchors
        TensorShape([2, 63, 4])
        >>> detector.detections(predictions, sizes).boxes.shape
        TensorShape([2, 20, 4])
    """
    if precision not in _PRECISIONS:
        raise HoldfastError(
            f"There is no precision {precision!r}.", fix=f"Use one of {', '.join(_PRECISIONS)}."
        )
    if isinstance(config, DetectionModel):
        config = TrainEvalPipelineConfig(model=config)
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(precision)
    try:
        with quantized_layers(build_quantization(config)):
            return _of_family(config, freeze_batch_norm, sampler)
    finally:
        keras.config.set_dtype_policy(before)


def _of_family(config: TrainEvalPipelineConfig, freeze: bool, sampler: Sampler | None) -> Detector:
    model = config.model or DetectionModel()
    match detector_of(model):
        case Ssd() as chosen:
            return build_single_stage(model, chosen, freeze, sampler, config.parts)
        case CenterNet() as chosen:
            return build_center_net(model, chosen, Path(config.folder), freeze, config.parts)
        case FasterRcnn() as chosen:
            return build_two_stage(model, chosen, freeze, sampler, config.parts)
    raise HoldfastError(
        "The config has no detector that Holdfast builds.",
        fix="Write model { ssd { … } }, faster_rcnn { … } or center_net { … }.",
    )
