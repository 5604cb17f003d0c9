"""Archives as the model zoos have them, of a network that is built in a second."""

from __future__ import annotations

import io
import tarfile

from tests.checkpoints.bundles import write_bundle
from tests.cli.commands import CONFIG

import holdfast
from holdfast.checkpoints.legacy.detector_names import names_of
from holdfast.config.load import save_config


def archive_of(model_config, folder, name="zoo", *, change=None) -> bytes:
    """Pack a config and a checkpoint of its network, in the names of TF2.

    change: makes other values of those that the checkpoint would have, by name.
    """
    detector = holdfast.build_detector(model_config)
    values = {each.names[0]: each.variable.value for each in names_of(detector, "tf2", "full", ())}
    if change is not None:
        values = change(values)
    write_bundle(folder / name / "checkpoint" / "ckpt-0", values)
    save_config(model_config, folder / name / "pipeline.config")
    return packed(folder / name)


def packed(folder) -> bytes:
    """Pack a folder, under its own name."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        archive.add(folder, folder.name)
    return stream.getvalue()


def tiny_config(folder):
    """Give a config of four classes, without any data."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.config").write_text(CONFIG)
    config = holdfast.load_config(folder / "tiny.config")
    return config.replace(train_input_reader=None, eval_input_reader=())
