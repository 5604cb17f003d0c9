"""`holdfast inspect` as users run it: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from holdfast.cli.inspect.inspect_command import inspect, inspection_json
from holdfast.config.load import save_config
from holdfast.config.text.overrides import apply_overrides
from holdfast.data.survey.inspection import inspect_data, open_data
from holdfast.errors import HoldfastError

from ...data.example_records import GOOD_BOX, png, record, write
from ...models.detectors.small_configs import small_config
from ..commands import holdfast as in_process

LABEL_MAP = 'item { id: 1 name: "cat" } item { id: 2 name: "dog" }'
CONFIG = """
model { ssd { num_classes: 2 } }
train_config { data_augmentation_options { random_horizontal_flip { } } }
train_input_reader {
  label_map_path: "map.pbtxt" tf_record_input_reader { input_path: "train.record" } }
eval_input_reader {
  label_map_path: "map.pbtxt" tf_record_input_reader { input_path: "val.record" } }
"""


def holdfast(*arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; whatever happens, nobody sees a traceback."""
    run = subprocess.run(
        [sys.executable, "-m", "holdfast", "inspect", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache")},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in run.stdout + run.stderr, run.stderr
    return run


def words(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.replace("│", " ").split())


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A config with its data, some of which is bad."""
    folder = tmp_path_factory.mktemp("inspect")
    bad = (0.5, 0.2, 0.1, 0.6)
    train = [
        record([GOOD_BOX, GOOD_BOX], labels=[1, 2], source_id="0.png", image=png(60, 40, seed=0)),
        record([GOOD_BOX, bad], labels=[1, 1], source_id="1.png", image=png(60, 40, seed=1)),
        record([GOOD_BOX], source_id="2.png", image=b"broken"),
    ]
    write(folder / "train.record", train)
    write(folder / "val.record", [record(labels=[2])])
    (folder / "map.pbtxt").write_text(LABEL_MAP)
    (folder / "pipeline.config").write_text(CONFIG)
    return folder


def document(run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Read standard output, which must be one strict JSON document and nothing else."""

    def refuse(name: str) -> None:
        pytest.fail(f"{name} is no JSON")

    found: dict[str, Any] = json.loads(run.stdout, parse_constant=refuse)
    return found


def test_json_of_records_without_label_map(folder: Path):
    run = holdfast("train.record", "--json", folder=folder)
    found = document(run)
    assert run.returncode == 0
    assert (found["images"], found["boxes"]) == (2, 3)
    assert found["classes"] == {"1": 2, "2": 1}
    assert found["left_out"] == [
        {
            "reason": "minimum and maximum are swapped",
            "images": 0,
            "boxes": 1,
            "images_affected": 1,
            "examples": ["train.record, record 1 (1.png)"],
        },
        {
            "reason": "the image cannot be decoded",
            "images": 1,
            "boxes": 1,
            "images_affected": 1,
            "examples": ["train.record, record 2 (2.png): it is not an image"],
        },
    ]
    assert found["sheet"] == "inspect.png"
    assert pixels(folder / "inspect.png").ndim == 3


def test_a_config_is_all_its_readers_with_the_names_of_its_label_map(folder: Path):
    run = holdfast("pipeline.config", "--json", "--sheet", "augmented.png", folder=folder)
    found = document(run)
    assert run.returncode == 0
    assert (found["images"], found["boxes"]) == (3, 4)
    assert found["classes"] == {"cat": 2, "dog": 2}
    assert list(found["readers"]) == ["train", "eval"]
    assert found["readers"]["eval"]["classes"] == {"dog": 1}
    # Two images with two augmented versions each; a plain sheet has two cells.
    assert pixels(folder / "augmented.png").shape[1] > 3 * 300


@pytest.fixture(scope="module")
def with_anchors(folder: Path) -> Path:
    """A config with a detector, at a resolution at which it was not published."""
    config, problems = apply_overrides(
        small_config("fpn", 320, 320),
        {
            "train_input_reader": CONFIG[CONFIG.index("reader {") + 7 : CONFIG.index("eval")],
            "train_input_reader.label_map_path": "map.pbtxt",
        },
    )
    assert not problems
    save_config(config, folder / "anchors.config")
    return folder / "anchors.config"


def test_anchors_of_a_config_are_laid_over_its_boxes(folder: Path, with_anchors: Path):
    run = holdfast(with_anchors, "--no-sheet", folder=folder)
    shown = words(run.stdout)
    assert run.returncode == 0
    assert "anchor coverage 100 % of 3 boxes have an anchor with IoU >= 0.5" in shown
    assert "at 640 x 640: 100 % of all boxes" in shown
    assert "resolution published at 640 x 640: maps from 80 x 80 to 10 x 10" in shown


def test_anchors_that_do_not_fit_the_network_are_noted(
    folder: Path, with_anchors: Path, capsys: pytest.CaptureFixture[str]
):
    text = with_anchors.read_text()
    assert text.count("max_level: 6") == 2  # of the network, then of the anchors
    unfit = folder / "unfit.config"
    unfit.write_text("max_level: 5".join(text.rsplit("max_level: 6", 1)))
    inspect(str(unfit), no_sheet=True, as_json=True)
    found = json.loads(capsys.readouterr().out)
    assert found["anchor_coverage"] is None
    assert any("Anchors cannot be laid out" in note for note in found["notes"])


def test_the_summary_says_counts_and_names_what_is_left_out(folder: Path):
    run = holdfast("train.record", "--label-map", "map.pbtxt", "--no-sheet", folder=folder)
    shown = words(run.stdout)
    assert run.returncode == 0
    assert "images 2, 1 left out" in shown
    assert "boxes 3, 2 left out" in shown
    assert "left out: 1 box in 1 image: minimum and maximum are swapped" in shown
    assert "train.record, record 2 (2.png)" in shown
    assert "cat" in shown
    assert "pictures" not in shown


def test_strict_stops_at_the_first_with_exit_code_2(folder: Path):
    run = holdfast("train.record", "--strict", "--no-sheet", folder=folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert "record 1 (1.png): box 1: minimum and maximum are swapped" in words(run.stderr)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("gone.record",), "gone.record matches no TFRecord file"),
        (("gone.config",), "there is no such file"),
        (("empty.record",), "empty.record holds no record"),
        (("cut.record",), "cut.record, record 2: the file is damaged"),
        (("map.txt",), "not a TFRecord file, or damaged"),
        (("train.record", "--label-map", "gone.pbtxt"), "there is no such file"),
        (("train.record", "--sheet", "no/such/folder.png"), "folder.png cannot be written"),
    ],
    ids=lambda value: value[-1] if isinstance(value, tuple) else "",
)
def test_what_cannot_be_read_is_an_error_that_says_why(
    folder: Path, arguments: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch
):
    write(folder / "empty.record", [])
    (folder / "cut.record").write_bytes((folder / "train.record").read_bytes()[:-10])
    (folder / "map.txt").write_text(LABEL_MAP)
    monkeypatch.chdir(folder)
    data, *options = arguments
    names = {"--label-map": "label_map", "--sheet": "sheet"}
    with pytest.raises(HoldfastError, match=said):
        inspect(data, **{names[options[0]]: options[1]} if options else {})


def test_errors_exit_with_2_and_leave_standard_output_alone(folder: Path):
    run = holdfast("gone.record", "--json", folder=folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert "gone.record matches no TFRecord file" in words(run.stderr)


def test_equal_reasons_of_two_readers_are_one(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    data = inspect_data(open_data("train.record"))
    found = inspection_json({"train": data, "eval": data})
    assert [(each["images"], each["boxes"]) for each in found["left_out"]] == [(0, 2), (2, 2)]
    assert len(found["left_out"][0]["examples"]) == 2


def test_the_help_shows_an_example_that_runs(folder: Path):
    run = holdfast("--help", folder=folder)
    assert "holdfast inspect records --sheet records.png" in words(run.stdout)
    write(folder / "records" / "a.record", [record()])
    assert holdfast("records", "--sheet", "records.png", folder=folder).returncode == 0
    assert (folder / "records.png").exists()


def test_a_data_set_of_another_format_is_inspected(folder: Path):
    data = folder / "yolo"
    data.mkdir(exist_ok=True)
    (data / "a.png").write_bytes(png())
    (data / "a.txt").write_text("0 0.5 0.5 0.2 0.4\n0 0.5 0.5 0.9 1.9\n")
    found = document(holdfast("yolo", "--json", "--no-sheet", folder=folder))
    assert (found["images"], found["boxes"], found["classes"]) == (1, 1, {"class_0": 1})
    assert [each["boxes"] for each in found["left_out"]] == [1]
    assert found["sheet"] is None


def test_the_folder_of_the_images_can_be_named(tmp_path: Path):
    size = {"width": 20, "height": 10}
    (tmp_path / "notes").mkdir()
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures/1.png").write_bytes(png())
    document = {
        "images": [{"id": 1, "file_name": "1.png", **size}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 1, 5, 5]}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    (tmp_path / "notes/coco.json").write_text(json.dumps(document))
    place = ("inspect", tmp_path / "notes", "--no-sheet", "--json")
    run = in_process(*place, "--images", tmp_path / "pictures")
    assert json.loads(run.out)["boxes"] == 1
    write(tmp_path / "train.record", [record()])
    refused = in_process("inspect", tmp_path / "train.record", "--images", tmp_path)
    assert refused.code == 2
    assert "--images applies to annotations" in refused.err
