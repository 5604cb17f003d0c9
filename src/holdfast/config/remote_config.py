"""A config that lies in the store: what it names beside itself is found there, too."""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.config.paths import PLACEHOLDER, Base, expand, find_checkpoint, find_files, is_remote
from holdfast.config.schema.input_reader import InputReader
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig


def with_urls(config: TrainEvalPipelineConfig, folder: str) -> TrainEvalPipelineConfig:
    """Put the URL of the config's folder before its relative paths.

    Those that the working directory has stay, as for a config of this machine.
    """
    readers = tuple(_reader(each, folder) for each in config.eval_input_reader)
    if readers:
        config = config.replace(eval_input_reader=readers)
    if config.train_input_reader is not None:
        config = config.replace(train_input_reader=_reader(config.train_input_reader, folder))
    train = config.train_config
    if train is not None and train.fine_tune_checkpoint:
        url = _url(train.fine_tune_checkpoint, folder)
        config = config.replace(train_config=train.replace(fine_tune_checkpoint=url))
    return config


def _reader(reader: InputReader, folder: str) -> InputReader:
    records = reader.tf_record_input_reader
    if records is not None and records.input_path:
        paths = tuple(_url(each, folder) for each in records.input_path)
        reader = reader.replace(tf_record_input_reader=records.replace(input_path=paths))
    if reader.label_map_path:
        reader = reader.replace(label_map_path=_url(reader.label_map_path, folder))
    return reader


def _url(text: str, folder: str) -> str:
    path = expand(text)
    if PLACEHOLDER in text or is_remote(path) or os.path.isabs(path):
        return text
    here = (find_files(text, Path()), find_checkpoint(text, Path()))
    if any(found.base is not Base.NOWHERE for found in here):
        return text
    return f"{folder}/{text}"
