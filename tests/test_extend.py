"""A user's own parts, in a package of their own: those of docs/extend.md, checked and trained."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from tests.cli.commands import CONFIG

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extend.md"
FPN = """feature_extractor { type: "ssd_tiny_fpn" depth_multiplier: 0.5
    fpn { min_level: 3 max_level: 6 additional_layer_depth: 8 } }"""
ANCHORS = """anchor_generator { multiscale_anchor_generator {
    min_level: 3 max_level: 6 aspect_ratios: 1.0 scales_per_octave: 1 } }"""
USED = [
    *("--use", "head=plain,kernel_size=3"),
    *("--use", "classification_loss=quality,beta=1.5"),
    *("--use", "localization_loss=log_cosh"),
    *("--use", "augmentation=fog,density=0.5"),
]


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's parts as a module, and with its checks."""
    folder = tmp_path_factory.mktemp("package")
    *parts, checks = blocks()
    (folder / "my_parts.py").write_text("\n\n".join(parts))
    (folder / "my_checks.py").write_text(f"{checks}\n\ntest_my_parts()\n")
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Path:
    """Labeled images in the format of the page, and a config that names the page's parts."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "images").mkdir()
    for number in range(8):
        picture = Image.new("RGB", (96, 80), (30 * number, 90, 60))
        picture.paste((200, 40, 40), (10, 20, 50, 60))
        picture.save(folder / "images" / f"{number}.jpg")
        (folder / "images" / f"{number}.txt").write_text("cat@10,20,40,40\n")
    config = re.sub(r"feature_extractor \{.*?\}", FPN, CONFIG, count=1, flags=re.DOTALL)
    config = re.sub(r"anchor_generator \{ ssd.*?\} \}", ANCHORS, config, count=1)
    config = config.replace("num_classes: 4", "num_classes: 1")
    config = config.replace("eval_config {", 'eval_config { metrics_set: "mean_score"')
    (folder / "pipeline.config").write_text(config)
    return folder


def holdfast(
    folder: Path, *arguments: object, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, as a user does."""
    places = [str(path)] if path else []
    places += [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(places),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "COLUMNS": "200",
    }
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_parts_of_the_page_pass_the_checks_of_built_in_ones(package: Path):
    run = subprocess.run(
        [sys.executable, "my_checks.py"], cwd=package, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_a_training_runs_with_parts_of_every_kind(package: Path, project: Path):
    module = ["--import", package / "my_parts.py"]
    converted = holdfast(project, "convert", "images", "records", "--val", 0.25, *module)
    assert converted.returncode == 0, converted.stderr
    assert "mine" in converted.stdout
    options = ["--steps", 2, "--evaluate-every", 2, "--json"]
    trained = holdfast(
        project, "train", "pipeline.config", "--run", "run", *options, *module, *USED
    )
    assert trained.returncode == 0, trained.stdout + trained.stderr
    assert json.loads(trained.stdout)["steps"] == 2
    evaluated = holdfast(project, "evaluate", "run", "--json", *module)  # remembers what was used
    assert evaluated.returncode == 0, evaluated.stderr
    assert "MeanScore" in json.loads(evaluated.stdout)["metrics"]


def test_an_installed_package_needs_no_import(package: Path, project: Path, tmp_path: Path):
    site = tmp_path / "site"
    metadata = site / "my_parts-1.0.dist-info"
    metadata.mkdir(parents=True)
    (site / "my_parts.py").write_text((package / "my_parts.py").read_text())
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: my_parts\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[holdfast.parts]\nmy_parts = my_parts\n")
    checked = holdfast(project, "check", "pipeline.config", "--json", *USED, path=site)
    problems = json.loads(checked.stdout)["errors"]
    assert not [each for each in problems if "there is no" in each["message"]], problems


def test_without_the_module_every_unknown_name_is_an_error_that_names_the_option(project: Path):
    checked = holdfast(project, "check", "pipeline.config", "--json", *USED)
    problems = [
        each
        for each in json.loads(checked.stdout)["errors"]
        if re.match(r"there is no (extractor|metric|head|.* loss|augmentation)", each["message"])
    ]
    assert len(problems) == 6
    assert all("--import MODULE" in each["fix"] for each in problems), problems


def test_a_finding_of_ones_own_is_looked_for(package: Path, project: Path):
    module = ["--import", package / "my_parts.py"]
    large = ["--set", "eval_config.batch_size=64"]
    done = holdfast(project, "doctor", "pipeline.config", "--json", *large, *module)
    assert done.returncode in (0, 1), done.stderr
    codes = [each["code"] for each in json.loads(done.stdout)["findings"]]
    assert "evaluation-batch-large" in codes
    page = holdfast(project, "doctor", "--explain", "evaluation-batch-large", *module)
    assert "on a larger card" in page.stdout
