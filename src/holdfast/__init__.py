"""Train object detectors from pipeline.config files, and make the training hold."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from holdfast.store.tensorflow_reading import bound_reading as _bound_reading

if TYPE_CHECKING:
    from holdfast.checkpoints.transfer import load_checkpoint
    from holdfast.config.load import load_config, save_config
    from holdfast.data.sample import GroundTruth
    from holdfast.doctor.diagnose import diagnose
    from holdfast.errors import ConfigError, HoldfastError
    from holdfast.models.detectors.build_detector import build_detector
    from holdfast.prediction.load_model import load_model
    from holdfast.registry import load_parts
    from holdfast.training.api import evaluate, plan, train
    from holdfast.training.training_settings import TrainingSettings

__all__ = [
    "ConfigError",
    "GroundTruth",
    "HoldfastError",
    "TrainingSettings",
    "build_detector",
    "diagnose",
    "evaluate",
    "load_checkpoint",
    "load_config",
    "load_model",
    "load_parts",
    "plan",
    "save_config",
    "train",
]

# Loaded when first used: `import holdfast` and `holdfast --help` stay instant.
_HOMES = {
    "ConfigError": "holdfast.errors",
    "GroundTruth": "holdfast.data.sample",
    "HoldfastError": "holdfast.errors",
    "TrainingSettings": "holdfast.training.training_settings",
    "build_detector": "holdfast.models.detectors.build_detector",
    "diagnose": "holdfast.doctor.diagnose",
    "evaluate": "holdfast.training.api",
    "load_checkpoint": "holdfast.checkpoints.transfer",
    "load_config": "holdfast.config.load",
    "load_model": "holdfast.prediction.load_model",
    "load_parts": "holdfast.registry",
    "plan": "holdfast.training.api",
    "save_config": "holdfast.config.load",
    "train": "holdfast.training.api",
}


_bound_reading()  # before TensorFlow is loaded, which looks at it once


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
