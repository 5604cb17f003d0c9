from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from holdfast.cli.new.new_command import new
from holdfast.config.check_config import check_config
from holdfast.config.facts.networks import detector_of
from holdfast.config.label_map import load_label_map
from holdfast.config.load import load_config
from holdfast.config.recipes.recipe import RECIPES, find_recipe
from holdfast.data.conversion.to_records import convert
from holdfast.data.input.build_input import build_training_input, open_reader
from holdfast.data.records.record_files import read_records
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.data.sources.synthetic import open_synthetic
from holdfast.data.survey.inspection import inspect_data
from holdfast.errors import HoldfastError
from holdfast.projects.project_folder import written_path
from holdfast.projects.start_weights import choose_start

from ...data.example_records import png, record, write

app = typer.Typer()
app.command()(new)
SYNTHETIC = ("--data", "10@64", "--format", "synthetic")
LABEL_MAP = 'item { id: 1 name: "cat" } item { id: 2 name: "dog" }'
SIZE = 64


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    """TFRecords of ten images in train and val with masks; their statistics stay beside them."""
    folder = tmp_path_factory.mktemp("shapes")
    convert(open_synthetic("10@64", OpenOptions(masks=True)), str(folder))
    return folder


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def made(*arguments):
    """Run it, expect success, and give the JSON document."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(*arguments) -> HoldfastError:
    error = run(*arguments).exception
    assert isinstance(error, HoldfastError), error
    return error


def words(text: str) -> str:
    """Undo the wrapping of lines."""
    return " ".join(text.replace("│", " ").split())


def picture(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (SIZE, SIZE, 3), np.uint8)
    Image.fromarray(pixels).save(path)


# Data sets of ten images, each with a cat of 20 x 30 pixels; every other one has a dog too.


def objects(index: int) -> dict[str, tuple[int, int, int, int]]:
    """Boxes of an image by class: left, top, right, bottom."""
    cat = {"cat": (5, 5, 25, 35)}
    return cat | ({"dog": (30, 30, 60, 60)} if index % 2 else {})


def voc(folder: Path, box: tuple[int, int, int, int] | None = None) -> None:
    for index in range(10):
        picture(folder / f"{index}.jpg", index)
        found = ""
        for name, (left, top, right, bottom) in objects(index).items():
            if box:
                left, top, right, bottom = box
            corners = f"<xmin>{left}</xmin><ymin>{top}</ymin><xmax>{right}</xmax><ymax>{bottom}"
            found += f"<object><name>{name}</name><bndbox>{corners}</ymax></bndbox></object>"
        size = f"<size><width>{SIZE}</width><height>{SIZE}</height><depth>3</depth></size>"
        text = f"<annotation><filename>{index}.jpg</filename>{size}{found}</annotation>"
        (folder / f"{index}.xml").write_text(text)


def coco(folder: Path) -> None:
    annotations = []
    for index in range(10):
        picture(folder / f"{index}.jpg", index)
        for name, (left, top, right, bottom) in objects(index).items():
            box = [left, top, right - left, bottom - top]
            number = ("cat", "dog").index(name) + 1
            annotations.append(
                {"id": len(annotations), "image_id": index, "category_id": number, "bbox": box}
            )
    images = [
        {"id": index, "file_name": f"{index}.jpg", "width": SIZE, "height": SIZE}
        for index in range(10)
    ]
    categories = [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}]
    document = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "annotations.json").write_text(json.dumps(document))


def yolo(folder: Path, splits: tuple[str, ...] = ("",)) -> None:
    for index in range(10):
        split = splits[index % len(splits)]
        picture(folder / split / "images" / f"{index}.jpg", index)
        lines = []
        for name, box in objects(index).items():
            left, top, right, bottom = (side / SIZE for side in box)
            center = ((left + right) / 2, (top + bottom) / 2, right - left, bottom - top)
            lines.append(f"{('cat', 'dog').index(name)} {' '.join(map(str, center))}")
        labels = folder / split / "labels" / f"{index}.txt"
        labels.parent.mkdir(parents=True, exist_ok=True)
        labels.write_text("\n".join(lines))
    (folder / "data.yaml").write_text("names: [cat, dog]\n")


def labelme(folder: Path) -> None:
    for index in range(10):
        picture(folder / f"{index}.jpg", index)
        shapes = [
            {"label": name, "shape_type": "rectangle", "points": [box[:2], box[2:]]}
            for name, box in objects(index).items()
        ]
        document = {"shapes": shapes, "imagePath": f"{index}.jpg", "imageData": None}
        document |= {"imageHeight": SIZE, "imageWidth": SIZE}
        (folder / f"{index}.json").write_text(json.dumps(document))


def records(folder: Path, *names: str) -> None:
    """Two records a file, and a label map."""
    for number, name in enumerate(names):
        examples = [
            record(
                labels=[1 + index], source_id=f"{name}{index}", image=png(seed=2 * number + index)
            )
            for index in range(2)
        ]
        write(folder / name, examples)
    (folder / "map.pbtxt").write_text(LABEL_MAP)


@pytest.mark.parametrize("dataset", [voc, coco, yolo, labelme])
def test_a_folder_of_any_format_becomes_a_config_that_is_ready_to_train(dataset, tmp_path):
    dataset(tmp_path / "pets")
    document = made("fpnlite_320", "--data", "pets", "--out", "out")
    assert document["format"] == dataset.__name__
    assert document["num_classes"] == 2
    assert sum(split["images"] for split in document["splits"].values()) == 10
    assert sum(split["boxes"] for split in document["splits"].values()) == 15
    report = check_config(document["config"])
    assert report.errors + report.warnings == ()
    label_map = load_label_map(tmp_path / "out" / document["label_map"])
    assert {item.id: item.name for item in label_map.item} == {1: "cat", 2: "dog"}


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_is_written_and_checked(shapes, name):
    document = made(name, "--data", shapes)
    assert document["config"] == f"{name}/pipeline.config"
    assert document["errors"] == document["warnings"] == []
    config = load_config(document["config"])
    assert detector_of(config.model).num_classes == 4
    schedule = document["schedule"]
    assert config.train_config.batch_size == schedule["batch_size"]
    assert config.train_config.batch_size <= document["splits"]["train"]["images"]
    assert config.train_config.num_steps == schedule["num_steps"]


def test_the_config_feeds_a_training_from_any_working_directory(tmp_path, monkeypatch):
    made("ssd_mobilenet_v2_320", *SYNTHETIC, "--out", "shapes", "--batch-size", 3)
    monkeypatch.chdir("/")
    path = tmp_path / "shapes" / "pipeline.config"
    config = load_config(path)
    opened = open_reader(config.train_input_reader, path.parent)
    batches = build_training_input(config, opened, inspect_data(opened).statistics)
    batch = next(iter(batches.batches()))
    assert batch.images.shape == (3, 300, 300, 3)
    assert int(batch.truth.classes.numpy().max()) < 4


def test_the_example_of_the_help_text_runs_and_says_what_was_made():
    example = new.__doc__.split("`")[1].replace("200@320", "10@64")
    command, *arguments = example.removeprefix("holdfast ").split()
    assert command == "new"
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    recipe = find_recipe("fpnlite_320")
    for part in (
        "now in shapes/shapes_records",
        "star",
        "for evaluation",
        "steps 1000",
        "published: 0.08 for 128 images",
        "random weights",
        recipe.archive,
        f"--checkpoint {recipe.zoo_checkpoint}",
        "Next: holdfast train shapes/pipeline.config --run runs/shapes",
    ):
        assert part in words(result.stdout)


def test_splits_of_the_data_are_kept_and_a_test_split_is_not_touched(tmp_path):
    yolo(tmp_path / "pets", splits=("train", "train", "valid", "train", "test"))
    document = made("fpnlite_320", "--data", "pets", "--out", "out")
    images = {name: split["images"] for name, split in document["splits"].items()}
    assert images == {"train": 6, "val": 2, "test": 2}
    assert document["evaluates_on"] == "val"
    text = (tmp_path / "out" / "pipeline.config").read_text()
    assert "/val.record" in text
    assert "/test.record" not in text
    anew = made("fpnlite_320", "--data", "pets", "--out", "anew", "--resplit", "--val", 0.5)
    assert anew["splits"].keys() == {"train", "val"}
    assert sum(split["images"] for split in anew["splits"].values()) == 10


def test_if_nothing_is_held_out_it_warns():
    document = made("fpnlite_320", *SYNTHETIC, "--out", "shapes", "--val", 0)
    assert "no image is held out" in document["warnings"][0]["message"]
    assert load_config(document["config"]).eval_input_reader == ()


def test_options_decide_batch_and_length(shapes):
    document = made("fpnlite_320", "--data", shapes, "--batch-size", 2, "--epochs", 300)
    train = load_config(document["config"]).train_config
    assert train.batch_size == 2
    rate = train.optimizer.momentum_optimizer.learning_rate.cosine_decay_learning_rate
    assert rate.learning_rate_base == pytest.approx(0.08 * 2 / 128)
    images = document["splits"]["train"]["images"]
    assert train.num_steps == pytest.approx(300 * images / 2, abs=100)
    assert "from 1 to" in refusal("fpnlite_320", "--data", shapes, "--batch-size", 11).fix


def test_small_boxes_are_warned_of_and_large_ones_are_not(tmp_path):
    voc(tmp_path / "small", box=(10, 10, 11, 11))  # 1 of 64 pixels
    warned = made("fpnlite_320", "--data", "small", "--out", "one")
    assert "5 x 5 pixels" in warned["warnings"][0]["message"]
    assert warned["warnings"][0]["fix"].startswith("fpnlite_640 sees them at 10 x 10")
    assert made("fpnlite_640", "--data", "small", "--out", "two")["warnings"] == []


def test_records_with_splits_are_used_where_they_are(tmp_path):
    shards = [f"train.record-0000{index}-of-00002" for index in range(2)]
    records(tmp_path / "records", *shards, "val.record", "other.record")
    document = made("fpnlite_320", "--data", "records", "--out", "out")
    assert document["format"] == "tfrecord"
    assert document["splits"]["train"]["input_path"] == ["../records/train.record-?????-of-00002"]
    assert document["splits"]["train"]["images"] == 4
    assert "other.record: left out" in document["notes"][0]
    assert sorted(os.listdir("out")) == ["new.json", "pipeline.config"]
    assert check_config("out/pipeline.config").errors == ()


def test_records_without_splits_are_copied_unchanged_into_some(tmp_path):
    names = [f"all-{index}.record" for index in range(5)]
    records(tmp_path / "records", *names)
    document = made("fpnlite_320", "--data", "records", "--out", "out")
    folder = tmp_path / "out" / "out_records"
    copies = {
        name: list(read_records(str(folder / f"{name}.record-00000-of-00001")))
        for name in ("train", "val")
    }
    before = [each for name in names for each in read_records(str(tmp_path / "records" / name))]
    assert Counter(copies["train"] + copies["val"]) == Counter(before)
    assert document["splits"]["val"]["images"] == len(copies["val"]) == 2
    # Stratified: one of each class.
    assert document["classes"] == {"cat": 4, "dog": 4}


def test_without_a_val_split_it_evaluates_on_test(tmp_path):
    records(tmp_path / "records", "train.record", "test.record")
    document = made("fpnlite_320", "--data", "records", "--out", "out")
    assert document["evaluates_on"] == "test"


def test_the_label_map_of_records_is_found_or_asked_for(tmp_path):
    records(tmp_path / "records", "train.record", "val.record")
    (tmp_path / "records" / "second.pbtxt").write_text(LABEL_MAP)
    assert "map.pbtxt, second.pbtxt" in refusal("fpnlite_320", "--data", "records").fix
    for name in ("map.pbtxt", "second.pbtxt"):
        (tmp_path / "records" / name).unlink()
    assert "--label-map" in refusal("fpnlite_320", "--data", "records").fix
    (tmp_path / "elsewhere.pbtxt").write_text(LABEL_MAP)
    document = made("fpnlite_320", "--data", "records", "--label-map", "elsewhere.pbtxt")
    assert document["label_map"] == "../elsewhere.pbtxt"
    assert "goes with TFRecords" in refusal("fpnlite_320", *SYNTHETIC, "--label-map", "a").message


def test_data_that_cannot_be_used_is_refused_with_the_reason(tmp_path):
    (tmp_path / "empty").mkdir()
    assert refusal("fpnlite_320", "--data", "empty").message == "empty holds no images."
    picture(tmp_path / "unlabeled" / "1.jpg", 1)
    assert "no annotations" in refusal("fpnlite_320", "--data", "unlabeled").message
    assert "does not exist" in refusal("fpnlite_320", "--data", "nowhere").message
    assert not (tmp_path / "fpnlite_320").exists()
    voc(tmp_path / "pets")
    for image in (tmp_path / "pets").glob("*.jpg"):
        image.unlink()
    message = refusal("fpnlite_320", "--data", "pets").message
    assert "no image to train on: cannot be read" in message
    voc(tmp_path / "boxless", box=(10, 10, 10, 10))
    message = refusal("fpnlite_320", "--data", "boxless", "--out", "other").message
    assert "No training image has a box to train on: no height or no width" in message


def test_what_is_left_out_is_named(tmp_path):
    voc(tmp_path / "pets")
    (tmp_path / "pets" / "0.jpg").write_bytes(b"no image")
    result = run("fpnlite_320", "--data", "pets")
    assert "left out: 1 box in 1 image: cannot be read: 0.xml" in words(result.stdout)


def test_a_folder_that_is_in_use_is_refused(shapes, tmp_path):
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "thesis.tex").write_text("dear to me")
    assert "not empty" in refusal("fpnlite_320", "--data", shapes, "--out", "used").message
    assert os.listdir("used") == ["thesis.tex"]
    (tmp_path / "file").write_text("")
    assert "is a file" in refusal("fpnlite_320", "--data", shapes, "--out", "file").message


def test_the_same_command_goes_on_and_another_is_refused():
    first = made("fpnlite_320", *SYNTHETIC, "--out", "shapes")
    text = Path("shapes/pipeline.config").read_text()
    again = made("fpnlite_320", *SYNTHETIC, "--out", "shapes")
    assert again["conversion"]["shards_kept"] == len(first["splits"])
    assert Path("shapes/pipeline.config").read_text() == text
    for other in (("fpnlite_640", *SYNTHETIC), ("fpnlite_320", *SYNTHETIC, "--val", 0.3)):
        assert "was made with" in refusal(*other, "--out", "shapes").message
    Path("shapes/pipeline.config").unlink()  # as if it had been killed before
    made("fpnlite_320", *SYNTHETIC, "--out", "shapes")
    assert Path("shapes/pipeline.config").read_text() == text


def test_an_edited_config_is_never_written_over(shapes):
    made("fpnlite_320", "--data", shapes, "--out", "shapes")
    made(
        "fpnlite_320", "--data", shapes, "--out", "shapes", "--batch-size", 2
    )  # not edited: replaced
    path = Path("shapes/pipeline.config")
    assert load_config(path).train_config.batch_size == 2
    edited = path.read_text().replace("batch_size: 2\n", "batch_size: 5\n")
    path.write_text(edited)
    assert "was edited" in refusal("fpnlite_320", "--data", shapes, "--out", "shapes").message
    assert path.read_text() == edited


def test_a_path_that_means_other_files_from_here_is_written_in_full(tmp_path):
    for folder in ("", "out"):
        (tmp_path / folder / "records").mkdir(parents=True)
        (tmp_path / folder / "records" / "train.record").write_text(folder)
    inside = tmp_path / "out" / "records" / "train.record"
    assert written_path("out/records/train.record", Path("out")) == str(inside)
    (tmp_path / "records" / "train.record").unlink()
    assert written_path("out/records/train.record", Path("out")) == "records/train.record"
    assert written_path(str(inside), tmp_path / "out") == "records/train.record"
    assert written_path(str(inside), tmp_path / "elsewhere") == str(inside)
    assert written_path("gs://bucket/train.record", Path("out")) == "gs://bucket/train.record"


@pytest.mark.parametrize(
    ("name", "index", "num_classes", "kind", "version"),
    [
        ("fpnlite_320", "16", 4, "full", "V2"),
        ("fpnlite_320", "16", 90, "full", "V2"),
        ("efficientdet_d0", "08", 90, "full", "V2"),  # which has no background class
        ("efficientdet_d0", "08", 89, "full", "V2"),
        ("ssd_mobilenet_v2_320", "47", 90, "full", "V2"),
        ("ssdlite_mobilenet_v2", "03", 4, "full", "V1"),
    ],
)
def test_as_much_of_a_checkpoint_is_loaded_as_fits(
    name, index, num_classes, kind, version, corpus, tmp_path
):
    prefix = corpus / "checkpoint_indexes" / f"checkpoint{index}"
    start = choose_start(str(prefix), find_recipe(name), num_classes, tmp_path)
    assert (start.kind, start.version.name) == (kind, version)


def test_a_checkpoint_is_named_in_the_config(shapes, corpus, tmp_path):
    archive = tmp_path / "zoo" / "checkpoint"
    archive.mkdir(parents=True)
    index = corpus / "checkpoint_indexes" / "checkpoint16.index"
    (archive / "ckpt-0.index").write_bytes(index.read_bytes())
    document = made("fpnlite_320", "--data", shapes, "--out", "shapes", "--checkpoint", "zoo")
    assert document["start"]["checkpoint"] == "../zoo/checkpoint/ckpt-0"
    train = load_config(document["config"]).train_config
    assert train.fine_tune_checkpoint == "../zoo/checkpoint/ckpt-0"
    assert train.fine_tune_checkpoint_type == "full"
    assert check_config(document["config"]).errors == ()


def test_weights_of_a_classifier_fill_the_backbone(shared, tmp_path):
    name = "mobilenet_v2_1.0_224_no_top.weights.h5"
    weights = shared / "weights" / "imagenet_mobilenet_v2" / name
    start = choose_start(str(weights), find_recipe("fpnlite_320"), 4, tmp_path)
    assert (start.checkpoint, start.kind) == (str(weights), "classification")


def test_a_checkpoint_that_is_not_there_is_refused_before_anything_is_written(shapes, tmp_path):
    for name in ("zoo/ckpt-0", "zoo/model.h5"):
        error = refusal("fpnlite_320", "--data", shapes, "--checkpoint", name)
        assert name in error.message
    assert not (tmp_path / "fpnlite_320").exists()


def test_epochs_beside_steps_are_refused_instead_of_being_ignored(shapes):
    error = refusal("fpnlite_320", "--data", shapes, "--steps", 7, "--epochs", 2)
    assert "--epochs 2 and --steps 7" in error.message


def test_a_mistake_ends_the_process_with_code_2_and_no_traceback(tmp_path):
    command = [sys.executable, "-m", "holdfast", "new", "fpnlite320", "--data", "nowhere"]
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert "Did you mean fpnlite_320?" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_several_sets_of_different_formats_become_one(tmp_path):
    voc(tmp_path / "pets")
    coco(tmp_path / "more")
    document = made("fpnlite_320", "--data", "pets", "--data", "more", "--out", "out")
    assert document["format"] == "voc + coco"
    assert sum(split["images"] for split in document["splits"].values()) == 20
    assert document["num_classes"] == 2
    assert any("Merged by name" in note for note in document["notes"])
    again = made("fpnlite_320", "--data", "pets", "--data", "more", "--out", "out")
    assert again["config"] == document["config"]
    error = refusal("fpnlite_320", "--data", "pets", "--out", "out")
    assert "was made with data" in error.message


def test_some_classes_are_kept_and_others_merged(tmp_path):
    voc(tmp_path / "pets")
    document = made("fpnlite_320", "--data", "pets", "--classes", "dog", "--out", "dogs")
    assert document["num_classes"] == 1
    assert sum(split["images"] for split in document["splits"].values()) == 10
    assert sum(split["boxes"] for split in document["splits"].values()) == 5
    merged = made("fpnlite_320", "--data", "pets", "--map", "cat,dog=pet", "--out", "all")
    assert sum(split["boxes"] for split in merged["splits"].values()) == 15
    label_map = load_label_map(tmp_path / "all" / merged["label_map"])
    assert [item.name for item in label_map.item] == ["pet"]
    assert "Did you mean dog?" in refusal("fpnlite_320", "--data", "pets", "--classes", "dgo").fix


def test_classes_of_records_are_chosen_by_copying_them(shapes):
    document = made("fpnlite_320", "--data", shapes, "--classes", "star", "--out", "stars")
    assert document["num_classes"] == 1
    assert document["format"] == "tfrecord"
    assert document["conversion"]["classes"].keys() == {"star"}


def test_the_folder_of_the_images_can_be_named(tmp_path):
    coco(tmp_path / "pets")
    (tmp_path / "notes").mkdir()
    (tmp_path / "pets/annotations.json").rename(tmp_path / "notes/annotations.json")
    document = made("fpnlite_320", "--data", "notes", "--images", "pets", "--out", "out")
    assert sum(split["images"] for split in document["splits"].values()) == 10
