"""The whole pipeline.config."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.config.part_choices import PartChoice
from holdfast.config.schema.eval import EvalConfig
from holdfast.config.schema.fields import NOT_IN_FILES
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.message import Message
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.train import TrainConfig


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainEvalPipelineConfig(Message):
    """The whole pipeline.config."""

    model: DetectionModel | None = None
    train_config: TrainConfig | None = None
    train_input_reader: InputReader | None = None
    eval_config: EvalConfig | None = None
    eval_input_reader: tuple[InputReader, ...] = ()
    graph_rewriter: GraphRewriter | None = None
    # Of no file: chosen beside it.
    parts: tuple[PartChoice, ...] = field(default=(), metadata=NOT_IN_FILES)
    # Where the file lies: relative paths are looked up from here, too.
    folder: str = field(default="", metadata=NOT_IN_FILES, compare=False)


@dataclass(frozen=True, kw_only=True, repr=False)
class GraphRewriter(Message):
    """Rewriting of the training graph."""

    quantization: Quantization | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Quantization(Message):
    """Quantization-aware training."""

    delay: int = 500000
    weight_bits: int = 8
    activation_bits: int = 8
    symmetric: bool = False
