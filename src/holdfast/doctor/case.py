"""What can be looked at: a config with its data, or a run; each thing is made when first needed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from holdfast.config.facts.networks import Detector, detector_of
from holdfast.config.facts.rate_curve import RateCurve, rate_curve
from holdfast.config.load import load_config
from holdfast.config.paths import find_checkpoint
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.model import DetectionModel
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.schema.train import TrainConfig
from holdfast.doctor.examined_data import DataPlace, ExaminedData, readable_label_map
from holdfast.doctor.gpu_processes import GpuProcess, gpu_processes
from holdfast.doctor.lazy_part import LazyPart, MissingError
from holdfast.doctor.usual_rates import UsualRates, usual_rates
from holdfast.progress import Watch, unwatched
from holdfast.runs.events import Event, read_events
from holdfast.runs.manifest import RunManifest
from holdfast.runs.run import CHECKPOINTS_NAME, CONFIG_NAME, EVENTS_NAME, STEPS, Run

if TYPE_CHECKING:
    from holdfast.checkpoints.own.saved_checkpoints import Restored
    from holdfast.doctor.anchor_use import AnchorUse
    from holdfast.doctor.augmentation_trial import AugmentationTrial
    from holdfast.doctor.history import History
    from holdfast.doctor.matched_weights import StartWeights
    from holdfast.doctor.seen_by_model import SeenImage
    from holdfast.memory.devices.device import Limit
    from holdfast.memory.devices.installed_gpus import InstalledGpu
    from holdfast.memory.plan import MemoryPlan
    from holdfast.models.detectors.build_layout import Covered

T = TypeVar("T")
NO_RUN = "there is no run yet, only a config"


class LabelMaps(NamedTuple):
    """The label maps of training and evaluation; None where there is none that can be read."""

    train: StringIntLabelMap | None
    evaluation: StringIntLabelMap | None


class Case:
    """What a check may look at. An attribute that is missing raises MissingError with the reason.

    A check names what it needs; what it asks for beyond that and is missing ends it likewise. Only
    attributes about data, weights and the network's anchors load TensorFlow, and these only when
    there are files to look at.
    """

    def __init__(
        self,
        *,
        config: TrainEvalPipelineConfig | None = None,
        config_path: Path | None = None,
        run_path: Path | None = None,
        watch: Watch = unwatched,
    ) -> None:
        self._config = config
        self._config_path = config_path
        self._run_path = run_path
        self.watch = watch  # is told how far a reading of the data has come

    @property
    def shown_path(self) -> str:
        """What commands that are suggested call the config."""
        path = self._config_path or (self._run_path / CONFIG_NAME if self._run_path else None)
        return shlex.quote(str(path)) if path is not None else CONFIG_NAME

    # The config.

    @LazyPart
    def config(self) -> TrainEvalPipelineConfig:
        """The config: as given, else that of the run."""
        if self._config is not None:
            return self._config
        path = self.config_path
        if not path.is_file():
            raise MissingError(f"the run has no {CONFIG_NAME}")
        return load_config(path, use=self._part_choices())

    @LazyPart
    def config_path(self) -> Path:
        """The file of the config."""
        if self._config_path is not None:
            return self._config_path
        if self._run_path is not None:
            return self._run_path / CONFIG_NAME
        raise MissingError("the config is not in a file")

    @LazyPart
    def folder(self) -> Path:
        """Where relative paths in the config lead from, after the working directory."""
        if self._run_path is None:
            return Path(self.config.folder)
        return Run(self._run_path, self.manifest).config_folder

    @LazyPart
    def train_config(self) -> TrainConfig:
        """How to train."""
        return _there(self.config.train_config, "the config has no train_config")

    @LazyPart
    def model(self) -> DetectionModel:
        """The model's part of the config."""
        return _there(self.config.model, "the config has no model")

    @LazyPart
    def detector(self) -> Detector:
        """The detector's part of the model: Ssd, FasterRcnn or CenterNet."""
        detector: Detector | None = detector_of(self.model)
        if detector is None:
            raise MissingError("the config names no detector that is known")
        return detector

    @LazyPart
    def detector_path(self) -> str:
        """The path of that part, such as model.ssd."""
        _ = self.detector
        return f"model.{self.model.which('model')}"

    @LazyPart
    def num_steps(self) -> int:
        """How many steps the training has; of a run, also where --steps said so."""
        asked = self._fact(STEPS)
        steps = asked if isinstance(asked, int) else self.train_config.num_steps
        return _there(steps or None, "num_steps is not set")

    @LazyPart
    def rate_curve(self) -> RateCurve:
        """The learning rate over the steps of the training."""
        optimizer = _there(self.train_config.optimizer, "the config has no optimizer")
        return _there(rate_curve(optimizer, self.num_steps), "the optimizer has no learning rate")

    @LazyPart
    def usual_rates(self) -> UsualRates:
        """The learning rates that such a detector was trained with, scaled to the batch."""
        optimizer = _there(self.train_config.optimizer, "the config has no optimizer")
        found = usual_rates(self.detector, optimizer, self.train_config.batch_size)
        return _there(found, "the config chooses no optimizer")

    # The data.

    @LazyPart
    def train(self) -> ExaminedData:
        """The data to train on."""
        return self._data("train_input_reader", "training", lambda: self.config.train_input_reader)

    @LazyPart
    def evaluation(self) -> ExaminedData:
        """The data to evaluate on: of several readers, the first one's."""

        def first() -> InputReader | None:
            return next(iter(self.config.eval_input_reader), None)

        return self._data("eval_input_reader", "evaluation", first)

    @LazyPart
    def label_maps(self) -> LabelMaps:
        """The label maps of both readers; missing if there is neither."""
        maps = LabelMaps(readable_label_map(self.train), readable_label_map(self.evaluation))
        if maps.train is None and maps.evaluation is None:
            raise MissingError("there is no label map that can be read")
        return maps

    @LazyPart
    def seen_by_model(self) -> tuple[SeenImage, ...]:
        """What the run's detector finds in training images; of many an even sample."""
        _ = self.weights
        from holdfast.doctor.seen_by_model import seen_by_model

        return seen_by_model(self)

    @LazyPart
    def coverage(self) -> Covered:
        """Which boxes of the training data have an anchor."""
        records, statistics = self.train.records, self.train.statistics
        from holdfast.models.detectors.build_layout import anchor_coverage

        found = anchor_coverage(self.model, records, statistics)
        return _there(found, "the detector lays no anchors that this is measured for")

    @LazyPart
    def anchor_use(self) -> AnchorUse:
        """How many boxes of the training data each feature map has an anchor for."""
        observations = self.train.observations
        from holdfast.doctor.anchor_use import anchor_use

        found = anchor_use(self.model, observations)
        return _there(found, "the detector lays no anchors that this is measured for")

    @LazyPart
    def augmentation_trial(self) -> AugmentationTrial:
        """What the augmentations do to a few images, and how long they take."""
        if not self.train_config.data_augmentation_options and not self.config.parts:
            raise MissingError("the config has no augmentation")
        sample = self.train.sample
        from holdfast.doctor.augmentation_trial import try_augmentations

        return _there(try_augmentations(self.config, sample), "the sample has no box")

    @LazyPart
    def start_weights(self) -> StartWeights:
        """What of the checkpoint that training starts from fits the network."""
        name = self.train_config.fine_tune_checkpoint
        if not name:
            raise MissingError("the config names no fine_tune_checkpoint")
        found = find_checkpoint(name, self.folder)
        if len(found.files) != 1:
            raise MissingError(f"{name} leads to no checkpoint, or to several")
        from holdfast.doctor.matched_weights import matched_weights

        prefix = str(found.files[0]).removesuffix(".index")
        return matched_weights(self.config, prefix)

    # The machine.

    @LazyPart
    def gpus(self) -> tuple[InstalledGpu, ...]:
        """The GPUs of this machine, as their driver lists them; missing without any."""
        from holdfast.memory.devices.installed_gpus import installed_gpus

        return _some(installed_gpus(), "this machine has no GPU that a driver lists")

    @LazyPart
    def gpu_processes(self) -> tuple[GpuProcess, ...]:
        """The processes that hold memory of its GPUs."""
        _ = self.gpus
        return gpu_processes()

    @LazyPart
    def device(self) -> Limit:
        """The memory of the device that a training would use here."""
        from holdfast.memory.devices.device import device_limit

        return device_limit()

    # The run.

    @LazyPart
    def run_path(self) -> Path:
        """The folder of the run."""
        return _there(self._run_path, NO_RUN)

    @LazyPart
    def manifest(self) -> RunManifest:
        """What the run is made of."""
        return Run.open(self.run_path).manifest

    @LazyPart
    def plan(self) -> MemoryPlan:
        """The memory plan that the run follows."""
        from holdfast.memory.plan import read_plan

        return read_plan(_there(self.manifest.plan, "the run has no memory plan"))

    @LazyPart
    def events(self) -> tuple[Event, ...]:
        """What happened in the run so far; lines that are torn or of other versions are not in."""
        happened = tuple(read_events(self.run_path / EVENTS_NAME))
        return _some(happened, "the run has no events yet")

    @LazyPart
    def steps(self) -> tuple[Event, ...]:
        """The steps that the run took."""
        taken = (event for event in self.events if event.kind == "step")
        return _some(tuple(taken), "the run has taken no step yet")

    @LazyPart
    def evaluations(self) -> tuple[Event, ...]:
        """The evaluations of the run, in their order."""
        done = (event for event in self.events if event.kind == "evaluation")
        return _some(tuple(done), "the run has not evaluated yet")

    @LazyPart
    def history(self) -> History:
        """The steps of the run as curves."""
        from holdfast.doctor.history import history_of

        return history_of(self.steps)

    @LazyPart
    def vitals(self) -> tuple[Event, ...]:
        """What the run recorded of its network: gradients, activations, scores, classes."""
        looks = (event for event in self.events if event.kind == "vitals")
        return _some(tuple(looks), "the run recorded no vitals of its network (yet)")

    @LazyPart
    def planned_steps(self) -> int | None:
        """How many steps the run is to have; None where the config does not say."""
        try:
            return self.num_steps
        except MissingError:
            return None

    @LazyPart
    def weights(self) -> Restored:
        """The run's last checkpoint that can be read: weights, optimizer's state, step."""
        folder = self.run_path / CHECKPOINTS_NAME
        if not any(folder.glob("step-*")):
            raise MissingError("the run has no checkpoint yet")
        from holdfast.checkpoints.own.saved_checkpoints import restore_latest

        return _there(restore_latest(folder), "no checkpoint of the run can be read")

    def _fact(self, name: str) -> object:
        """Give a fact of the run's manifest; None where it is not known."""
        try:
            return self.manifest.facts.get(name)
        except MissingError:
            return None

    def _part_choices(self) -> tuple[str, ...]:
        """Give the run's parts of a user's own; none where the manifest is not readable."""
        try:
            return Run(self.run_path, self.manifest).part_choices
        except MissingError:
            return ()

    def _data(
        self, name: str, purpose: str, reader: Callable[[], InputReader | None]
    ) -> ExaminedData:
        place = DataPlace(name, purpose, reader, lambda: self.folder)
        return ExaminedData(place, self.watch)


def _there(value: T | None, reason: str) -> T:
    if value is None:
        raise MissingError(reason)
    return value


def _some(values: tuple[T, ...], reason: str) -> tuple[T, ...]:
    return _there(values or None, reason)
