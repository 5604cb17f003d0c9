"""What a pipeline is, in a dozen lines of plain words and arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from holdfast.config.facts.feature_maps import feature_maps
from holdfast.config.facts.input_sizes import input_shape
from holdfast.config.facts.networks import Detector, detector_of, extractor_of
from holdfast.config.facts.quantization import asked_quantization
from holdfast.config.facts.resolution import changed_resolution
from holdfast.config.paths import Found, find_checkpoint, find_files
from holdfast.config.schema import optimizer as optimizers
from holdfast.config.schema.faster_rcnn import FasterRcnn
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.message import Message
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import Quantization, TrainEvalPipelineConfig
from holdfast.config.schema.ssd import Ssd
from holdfast.config.schema.train import TrainConfig
from holdfast.config.validate.learning_rate import chosen_schedule


class SummaryRow(NamedTuple):
    """One line of the summary."""

    label: str
    text: str


def summarize(config: TrainEvalPipelineConfig, folder: Path) -> tuple[SummaryRow, ...]:
    """Say what will be trained, on what and how; what is not set is left out."""
    rows: list[SummaryRow] = []
    if config.model is not None:
        rows += _model_rows(config.model, config.train_config)
    if config.train_config is not None:
        rows += _train_rows(config.train_config, folder)
    if (asked := asked_quantization(config)) is not None:
        rows.append(SummaryRow("quantization", _quantization(asked)))
    if config.train_input_reader is not None:
        rows += _reader_rows("train data", config.train_input_reader, folder)
    for reader in config.eval_input_reader:
        rows += _reader_rows("evaluation data", reader, folder)
    return tuple(rows)


def _quantization(asked: Quantization) -> str:
    """Say what happens to the network, and when."""
    bits = f"kernels {asked.weight_bits} bits, activations {asked.activation_bits}"
    symmetric = ", symmetric" if asked.symmetric else ""
    return f"from step {asked.delay} on, {bits}{symmetric}; ranges are observed from the start"


# The model.


def _model_rows(model: DetectionModel, train: TrainConfig | None) -> Iterator[SummaryRow]:
    detector = detector_of(model)
    if detector is None:
        return
    yield SummaryRow("architecture", _architecture(detector))
    features = detector.feature_extractor
    known = extractor_of(detector)
    if features is not None:
        yield SummaryRow("extractor", features.type)
    if known is not None:
        yield SummaryRow("backbone", known.backbone + _depth(features))
        yield SummaryRow("neck", (known.neck or "none") + _depthwise(features))
        yield SummaryRow("head", _head(detector, known.head))
    yield from _size_rows(model, detector, train)
    yield SummaryRow("classes", str(detector.num_classes))


def _architecture(detector: Detector) -> str:
    if isinstance(detector, FasterRcnn):
        predictor = detector.second_stage_box_predictor
        second = predictor.mask_rcnn_box_predictor if predictor else None
        if second is not None and second.predict_instance_masks:
            return "Mask R-CNN"
        return "R-FCN" if predictor and predictor.has("rfcn_box_predictor") else "Faster R-CNN"
    return "SSD" if isinstance(detector, Ssd) else "CenterNet"


def _depth(features: Message | None) -> str:
    multiplier = getattr(features, "depth_multiplier", 1.0)
    return f", depth multiplier {multiplier:g}" if multiplier != 1.0 else ""


def _depthwise(features: Message | None) -> str:
    return ", depthwise convolutions" if getattr(features, "use_depthwise", False) else ""


def _head(detector: Detector, usual: str) -> str:
    """Name the head: the one the config chooses, else the usual one of the extractor."""
    predictor = detector.box_predictor if isinstance(detector, Ssd) else None
    chosen = predictor.chosen("box_predictor_oneof") if predictor else None
    if predictor is None or chosen is None:
        return usual
    name = str(predictor.which("box_predictor_oneof")).removesuffix("_box_predictor")
    name = name.removesuffix("_convolutional")
    kernel = (
        f", {chosen.kernel_size} x {chosen.kernel_size}" if hasattr(chosen, "kernel_size") else ""
    )
    return name + kernel + _depthwise(chosen)


def _size_rows(
    model: DetectionModel, detector: Detector, train: TrainConfig | None
) -> Iterator[SummaryRow]:
    shape = input_shape(model, train.batch_size if train else 1)
    resizer = (
        detector.image_resizer.which("image_resizer_oneof") if detector.image_resizer else None
    )
    if shape is None:
        yield SummaryRow("input", f"any size ({resizer})" if resizer else "no resizer")
        return
    bound = "" if shape.fixed else "at most "
    yield SummaryRow("input", f"{bound}{shape.height} x {shape.width} ({resizer})")
    maps = feature_maps(model, shape)
    if maps:
        sizes = ", ".join(f"{each.height} x {each.width}" for each in maps)
        yield SummaryRow(
            "feature maps", f"{bound}{sizes} (strides {', '.join(str(m.stride) for m in maps)})"
        )
    if any(each.anchors for each in maps):
        terms = " + ".join(
            f"{each.height}·{each.width}·{each.anchors_per_location}" for each in maps
        )
        yield SummaryRow("anchors", f"{bound}{terms} = {sum(each.anchors for each in maps)}")
    if change := changed_resolution(model):
        yield SummaryRow("resolution", str(change))


# The training.


def _train_rows(train: TrainConfig, folder: Path) -> Iterator[SummaryRow]:
    yield SummaryRow("batch size", str(train.batch_size))
    yield SummaryRow(
        "steps", str(train.num_steps) if train.num_steps else "no end (num_steps is not set)"
    )
    if train.optimizer is not None:
        yield SummaryRow("optimizer", _optimizer(train.optimizer))
        _, schedule = chosen_schedule(train.optimizer)
        if schedule is not None:
            yield SummaryRow("learning rate", _schedule(schedule))
    names = [step.which("preprocessing_step") for step in train.data_augmentation_options]
    yield SummaryRow("augmentation", ", ".join(name for name in names if name) or "none")
    if train.fine_tune_checkpoint:
        found = find_checkpoint(train.fine_tune_checkpoint, folder)
        kind = train.fine_tune_checkpoint_type or "type not set"
        text = f"{_checkpoint(train.fine_tune_checkpoint, found)} ({kind}; {found.base.value})"
        yield SummaryRow("starts from", text)


def _checkpoint(written: str, found: Found) -> str:
    """Name the checkpoint, and which one it is of a folder."""
    if len(found.files) != 1:
        return written
    prefix = found.files[0].name.removesuffix(".index")
    return written if written.endswith(prefix) else f"{written}: {prefix}"


def _optimizer(optimizer: optimizers.Optimizer) -> str:
    averaging = ", weights averaged" if optimizer.use_moving_average else ""
    match optimizer.chosen("optimizer"):
        case optimizers.MomentumOptimizer(momentum_optimizer_value=momentum):
            return f"momentum {momentum:g}{averaging}"
        case optimizers.RMSPropOptimizer() as chosen:
            momentum = chosen.momentum_optimizer_value
            return f"RMSProp, decay {chosen.decay:g}, momentum {momentum:g}{averaging}"
        case optimizers.AdamOptimizer(epsilon=epsilon):
            return f"Adam, epsilon {epsilon:g}{averaging}"
    return "none"


def _schedule(schedule: Message) -> str:
    match schedule:
        case optimizers.CosineDecayLearningRate():
            warmup = (
                f"{schedule.warmup_learning_rate:g} rising to {schedule.learning_rate_base:g} "
                f"over {schedule.warmup_steps} steps, "
                if schedule.warmup_steps
                else f"{schedule.learning_rate_base:g}, "
            )
            return f"{warmup}then cosine to 0 at step {schedule.total_steps}"
        case optimizers.ManualStepLearningRate():
            drops = (f"{each.learning_rate:g} from step {each.step}" for each in schedule.schedule)
            warmup = ", warm-up" if schedule.warmup else ""
            return ", ".join((f"{schedule.initial_learning_rate:g}{warmup}", *drops))
        case optimizers.ExponentialDecayLearningRate():
            return (
                f"{schedule.initial_learning_rate:g}, times {schedule.decay_factor:g} "
                f"every {schedule.decay_steps} steps"
            )
        case optimizers.ConstantLearningRate(learning_rate=rate):
            return f"{rate:g} throughout"
    return "none"


# The data.


def _reader_rows(label: str, reader: InputReader, folder: Path) -> Iterator[SummaryRow]:
    records = reader.tf_record_input_reader
    for pattern in records.input_path if records else ():
        found = find_files(pattern, folder)
        count = f"{len(found.files)} files, " if len(found.files) > 1 else ""
        yield SummaryRow(label, f"{pattern} ({count}{found.base.value})")
    if reader.label_map_path:
        found = find_files(reader.label_map_path, folder)
        yield SummaryRow("label map", f"{reader.label_map_path} ({found.base.value})")
