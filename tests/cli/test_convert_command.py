from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from holdfast.cli.convert_command import convert
from holdfast.errors import HoldfastError

from ..data.example_records import png

app = typer.Typer()
app.command()(convert)


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_examples_of_the_help_text_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = convert.__doc__.split("`")[1::2]
    assert len(examples) == 3
    for example in examples:
        command, *arguments = example.removeprefix("holdfast ").split()
        assert command == "convert"
        small = {"200@128": "6@32", "20@512": "3@512"}
        result = run(*(small.get(argument, argument) for argument in arguments))
        assert result.exit_code == 0, result.output
        assert (tmp_path / arguments[1] / "label_map.pbtxt").exists()


def test_the_summary_counts_classes_in_splits(tmp_path):
    result = run("20@32", tmp_path, "--format", "synthetic", "--shards", 2, "--val", 0.5)
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["synthetic", "train", "val"]
    assert ["shards", "2", "2"] in [line.split() for line in lines]
    assert any(line.split()[:2] == ["1", "ellipse"] for line in lines)
    assert f"label_map_path: {tmp_path}/label_map.pbtxt" in "".join(lines)


def test_json_is_one_document_and_nothing_else_on_standard_output(tmp_path):
    result = run("10@32", tmp_path, "--format", "synthetic", "--json", "--no-masks")
    document = json.loads(result.stdout)
    assert document["images"] == 10
    assert document["boxes"] == sum(document["classes"].values())
    assert sum(split["images"] for split in document["splits"].values()) == 10
    assert document["left_out"] == []
    again = json.loads(
        run("10@32", tmp_path, "--format", "synthetic", "--json", "--no-masks").stdout
    )
    assert again["shards_kept"] == len(document["splits"])


def test_progress_is_told_in_plain_lines_without_a_terminal(tmp_path):
    result = run("10@32", tmp_path, "--format", "synthetic")
    assert "convert: 10 of 10 images" in result.stderr
    assert "s left" in result.stderr


def test_what_was_left_out_is_named(tmp_path):
    folder = tmp_path / "voc"
    folder.mkdir()
    (folder / "1.xml").write_text("<annotation></annotation>")
    result = run(folder, tmp_path / "out")
    assert "left out: 1 image: cannot be read" in result.stdout
    assert "1.xml: Its image '1' was not found" in result.stdout
    assert result.exit_code == 1


def test_a_conversion_without_a_box_says_so_first(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/1.jpg").write_bytes(png())
    (tmp_path / "data/1.txt").write_text("7 0.5 0.5 0.5 0.5\n")
    (tmp_path / "data/classes.txt").write_text("cat\n")
    finished = run(tmp_path / "data", tmp_path / "out")
    assert finished.exit_code == 0
    assert finished.stdout.startswith("warning: no box was written")


def test_wrong_arguments_are_errors_of_holdfast(tmp_path):
    for arguments in ((tmp_path / "gone", tmp_path), (tmp_path, tmp_path, "--format", "cocos")):
        result = run(*arguments)
        assert isinstance(result.exception, HoldfastError)


def test_several_sources_become_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("6@32", "a", "--format", "synthetic")
    run("4@48", "b", "--format", "synthetic", "--seed", 1)
    document = json.loads(run("a", "b", "both", "--json").stdout)
    assert document["images"] == 10
    assert document["format"] == "tfrecord"
    assert any("Merged by name" in note for note in document["notes"])


def test_records_go_out_again_in_every_format(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    boxes = json.loads(run("6@32", "records", "--format", "synthetic", "--json").stdout)["boxes"]
    for to in ("coco", "voc", "yolo", "csv"):
        result = run("records", to, "--to", to)
        assert result.exit_code == 0, result.output
        assert f"tfrecord to {to}" in result.stdout
        assert "shards" not in result.stdout
        again = json.loads(run(to, f"{to}_records", "--json").stdout)
        assert (again["format"], again["boxes"]) == (to, boxes)


def test_kept_classes_and_what_they_cost_are_said(tmp_path):
    options = ("--format", "synthetic", "--classes", "star", "--map", "triangle=star")
    result = run("6@32", tmp_path / "out", *options)
    text = " ".join(result.stdout.split())
    assert "note: triangle becomes star." in text
    assert "note: --classes leaves out" in text
    assert "Class ids are counted from 1: 1 star (was 3)." in text
    manifest = json.loads((tmp_path / "out/convert.json").read_text())
    assert manifest["source"]["selection"] == '--map "triangle=star" --classes "star"'


def test_one_is_singular(tmp_path):
    source = ("1@32", tmp_path / "out", "--format", "synthetic", "--val", 0)
    run(*source)
    assert "Already there, and kept: 1 shard.\n" in run(*source).stdout


def test_options_that_do_not_fit_the_format_are_errors(tmp_path):
    source = ("2@32", tmp_path / "out", "--format", "synthetic")
    for options, words in (
        (("--to", "cocoo"), "Did you mean coco?"),
        (("--to", "voc", "--shards", 2), "--shards applies to TFRecords"),
        (("--label-map", "x.pbtxt"), "--label-map goes with TFRecords"),
        (("--to", "voc", "--tile", 64), "--tile writes TFRecords"),
        (("--overlap", 0.2), "no tiles are asked for"),
        (("--empty-tiles", 0.2), "no tiles are asked for"),
        (("--tile", 64, "--overlap", 2), "cannot overlap"),
        (("--tile", 64, "--smallest-share", 2), "--smallest-share is 2"),
    ):
        assert words in str(run(*source, *options).exception)
    assert not (tmp_path / "out").exists()


def test_a_source_alone_is_a_usage_error(tmp_path):
    result = run(tmp_path)
    assert result.exit_code == 2
    assert "Missing argument" in result.output


def test_the_splits_of_a_real_data_set_are_kept_or_made_anew(shared, tmp_path):
    kept = json.loads(run(shared / "datasets/bccd", tmp_path / "kept", "--json").stdout)
    assert {name: split["images"] for name, split in kept["splits"].items()} == {
        "train": 205,
        "val": 87,
        "test": 72,
    }
    anew = json.loads(
        run(shared / "datasets/bccd", tmp_path / "anew", "--json", "--resplit").stdout
    )
    assert set(anew["splits"]) == {"train", "val"}
    for name, boxes in anew["splits"]["val"]["classes"].items():
        assert boxes / anew["classes"][name] == pytest.approx(0.2, abs=0.02)


def test_the_command_is_defined_without_tensorflow():
    code = (
        "import sys, holdfast.cli.convert_command; print(*{'tensorflow', 'PIL'} & set(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert finished.stdout.split() == []


def test_tiles_are_counted_as_images_and_what_is_cut_is_said(tmp_path):
    result = run("4@96", tmp_path / "out", "--format", "synthetic", "--tile", 64, "--json")
    document = json.loads(result.stdout)
    assert document["images"] == 4 * 4
    assert "tiles of 64 pixels" in " ".join(document["notes"])
    assert any("edge of a tile" in each["reason"] for each in document["remarks"])
