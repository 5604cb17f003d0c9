"""Load whatever can detect: a run, a config with a checkpoint, an export."""

from __future__ import annotations

from pathlib import Path

from holdfast.checkpoints.find_checkpoint import checkpoint_in
from holdfast.checkpoints.trained_model import TrainedModel, choose_trained
from holdfast.checkpoints.whole_weights import has_averages, load_weights
from holdfast.config.label_map import load_label_map
from holdfast.config.load import load_config
from holdfast.data.records.build_label_map import build_label_map, names_by_id
from holdfast.errors import HoldfastError
from holdfast.evaluation.build_evaluation import evaluates_averages
from holdfast.models.detectors.build_detector import build_detector
from holdfast.prediction.detector_network import DetectorNetwork
from holdfast.prediction.litert_network import LitertNetwork
from holdfast.prediction.loaded_model import LoadedModel
from holdfast.prediction.onnx_network import OnnxNetwork
from holdfast.prediction.saved_model_network import SavedModelNetwork
from holdfast.runs.fetched_run import local_folder
from holdfast.runs.json_text import from_text
from holdfast.runs.run import is_run
from holdfast.store.gs_place import store_url

CONFIG_NAME = "pipeline.config"
LABEL_MAP_NAME = "label_map.pbtxt"
_SAVED_MODEL = "saved_model.pb"
_TFLITE = ".tflite"
_EXPORT_NAME = "export.json"
_ONNX = ".onnx"
_FIRST_ID = 1  # of the label map; classes count from 0 inside


def load_model(path: str | Path, checkpoint: str | Path | None = None) -> LoadedModel:
    """Load a detector to be called with images.

    The moving averages of the weights are taken where an evaluation takes them.

    Args:
        path: The folder of a run, of which the best checkpoint is taken; a folder with a
            pipeline.config and a checkpoint, as the model zoo's archives have them; a SavedModel
            or a .tflite file of `holdfast export` or of the OD API, or an .onnx file; or a
            pipeline.config, with `checkpoint`.
        checkpoint: Prefix or folder of the checkpoint, for a run or a pipeline.config.

    Returns:
        A function of uint8 images (B, H, W, 3), or a list of images of unequal size, that gives
        Detections as NumPy arrays. Its `names` are the classes by label-map id.

    Raises:
        HoldfastError: There is no detector, or its checkpoint does not fill it.

    Example:
        >>> model = holdfast.load_model("pipeline.config", checkpoint="checkpoints")
        >>> found = model(np.zeros((2, 48, 64, 3), np.uint8))
        >>> found.boxes.shape, found.classes.shape
        ((2, 20, 4), (2, 20))
        >>> model.names[1]
        'ellipse'
    """
    folder = local_folder(path)
    if not folder.exists() and store_url(folder) is None:
        raise HoldfastError(f"There is no {folder}.", fix="Give a run, an export or a config.")
    files = _exported_files(folder)
    if checkpoint is None and len(files) == 1:
        return _load_file(files[0])
    if checkpoint is not None or not folder.is_dir() or is_run(folder):
        named = None if checkpoint is None else str(checkpoint)
        return load_trained(choose_trained(folder, named))
    if (folder / CONFIG_NAME).is_file() and (found := checkpoint_in(folder)):
        return load_trained(TrainedModel(load_config(folder / CONFIG_NAME), folder, found, ""))
    for place in (folder, folder / "saved_model"):
        if (place / _SAVED_MODEL).is_file():
            return _load_exported(place)
    made = "Give the folder that `holdfast train --run` or `holdfast export --out` made."
    raise HoldfastError(
        f"{folder} holds no detector: neither a run, nor a {CONFIG_NAME} with a checkpoint, nor a "
        f"SavedModel, nor one {_TFLITE} or {_ONNX} file.",
        fix=f"Give one of {', '.join(each.name for each in files)}." if files else made,
    )


def load_trained(chosen: TrainedModel) -> LoadedModel:
    """Build the detector of a config, and fill it from a checkpoint."""
    config = chosen.config
    detector = build_detector(config)
    averages = evaluates_averages(config) and has_averages(chosen.checkpoint)
    load_weights(detector, chosen.checkpoint, averages=averages)
    label_map = build_label_map(config, chosen.folder)
    edges = config.eval_config.keypoint_edge if config.eval_config else ()
    notes = [chosen.description, "moving averages" if averages else ""]
    note = ", ".join(each for each in notes if each)
    return LoadedModel(
        network=DetectorNetwork(detector, config),
        names=names_by_id(label_map),
        description=f"{chosen.checkpoint} ({note})" if note else chosen.checkpoint,
        edges=tuple((edge.start, edge.end) for edge in edges),
    )


def _load_exported(folder: Path) -> LoadedModel:
    """Load a SavedModel; its label map lies beside it or beside its folder."""
    found = [place / LABEL_MAP_NAME for place in (folder, folder.parent)]
    label_map = next((load_label_map(path) for path in found if path.is_file()), None)
    return LoadedModel(
        network=SavedModelNetwork(folder, takes_examples=_takes_examples(folder.parent)),
        names=names_by_id(label_map),
        description=str(folder),
    )


def _load_file(path: Path) -> LoadedModel:
    """Load an exported file; the config and the label map of an export lie beside it."""
    beside, label_map = path.parent / CONFIG_NAME, path.parent / LABEL_MAP_NAME
    network: LitertNetwork | OnnxNetwork
    if path.suffix.lower() == _ONNX:
        network = OnnxNetwork(path)
        names = dict(network.names)
    else:
        network = LitertNetwork(path, load_config(beside) if beside.is_file() else None)
        names = {_FIRST_ID + number: name for number, name in network.labels.items()}
    if label_map.is_file():
        names = names_by_id(load_label_map(label_map))
    return LoadedModel(network=network, names=names, description=str(path))


def _exported_files(path: Path) -> list[Path]:
    """Find the files that may be meant: the path itself, or those in the folder of an export."""
    places = [path] if path.is_file() or is_run(path) else sorted(path.iterdir())
    return [each for each in places if each.suffix.lower() in (_TFLITE, _ONNX) and each.is_file()]


def _takes_examples(folder: Path) -> bool:
    """Tell whether an export wants whole records; what is said beside it knows."""
    try:
        document = from_text((folder / _EXPORT_NAME).read_bytes())
    except (OSError, ValueError):
        return False  # the OD API's have no such file
    return isinstance(document, dict) and document.get("input") == "tf_example"
