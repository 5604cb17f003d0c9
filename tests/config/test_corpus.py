"""Real files of real users, against what the OD API's reader makes of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.config.load import read_message
from holdfast.config.schema.label_map_items import StringIntLabelMap
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.encode import encode, to_json

KINDS = [
    ("zoo_configs/tf1", TrainEvalPipelineConfig, 65),
    ("zoo_configs/tf2", TrainEvalPipelineConfig, 40),
    ("user_configs", TrainEvalPipelineConfig, 340),
    ("label_maps", StringIntLabelMap, 114),
]


def files(corpus: Path, folder: str) -> list[Path]:
    return sorted(path for path in (corpus / folder).iterdir() if path.suffix != ".tsv")


@pytest.mark.parametrize(("folder", "message_type", "count"), KINDS)
def test_every_file_reads_to_the_tree_of_the_original_reader(corpus, folder, message_type, count):
    paths = files(corpus, folder)
    assert len(paths) == count
    compared = 0
    for path in paths:
        answer = corpus / "expected" / folder / f"{path.stem}.json"
        if not answer.exists():
            continue
        expected = json.loads(answer.read_text())
        source = read_message(path, message_type)
        if expected["ok"]:
            tree = expected["config" if message_type is TrainEvalPipelineConfig else "label_map"]
            assert source.problems == (), path
            assert to_json(source.message) == tree, path
        else:
            line = int(expected["error"].partition(":")[0])
            assert line in {problem.line for problem in source.problems}, path
        compared += 1
    assert compared >= count / 2


@pytest.mark.parametrize(("folder", "message_type", "count"), KINDS)
def test_writing_and_reading_back_gives_the_same_message(corpus, folder, message_type, count):
    for path in files(corpus, folder):
        message = read_message(path, message_type).message
        again = decode(encode(message), message_type)
        assert again.problems == [], path
        assert again.message == message, path
        assert to_json(again.message) == to_json(message), path
