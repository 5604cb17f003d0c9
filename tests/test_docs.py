"""The docs' Python blocks run, and their tables are complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import holdfast.parts
from holdfast import registry
from holdfast.config.facts.extractors import OD_API_EXTRACTORS

PROJECT = Path(__file__).resolve().parent.parent
PAGES = [
    PROJECT / "README.md",
    PROJECT / "CONTRIBUTING.md",
    *sorted((PROJECT / "docs").rglob("*.md")),
    *sorted((PROJECT / "tests").rglob("*.md")),
]
CONFIG = """
model { ssd { feature_extractor { type: "ssd_mobilenet_v2_keras" } } }
train_config {
  batch_size: 4
  data_augmentation_options { random_horizontal_flip { } }
}
"""


ARCHIVE = "ssdlite_mobilenet_v2_coco_2018_05_09"


def write_archive(folder: Path) -> None:
    """Write what an archive of the model zoo unpacks to: a config and a checkpoint, 90 classes."""
    from tests.checkpoints.bundles import write_bundle

    from holdfast.checkpoints.legacy.detector_names import names_of
    from holdfast.config.load import save_config
    from holdfast.config.recipes.fill import recipe_model
    from holdfast.config.recipes.recipe_table import find_recipe
    from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
    from holdfast.models.detectors.build_detector import build_detector

    model = recipe_model(find_recipe("ssdlite_mobilenet_v2"), num_classes=90)
    values = {
        each.names[0]: each.variable.value
        for each in names_of(build_detector(model), "tf1", "full", ())
    }
    write_bundle(folder / "model.ckpt", values)
    save_config(TrainEvalPipelineConfig(model=model), folder / "pipeline.config")


def blocks() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        code = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        found += [(f"{page.name}-{index}", block) for index, block in enumerate(code)]
    return found


@pytest.fixture
def parts_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a block registers is gone after it."""
    for table in registry._TABLES.values():
        monkeypatch.setattr(table, "_entries", dict(table._entries))
        monkeypatch.setattr(table, "_makers", dict(table._makers))


@pytest.mark.usefixtures("parts_forgotten")
@pytest.mark.parametrize(
    "block", [code for _, code in blocks()], ids=[name for name, _ in blocks()]
)
def test_a_python_block_of_the_docs_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pipeline.config").write_text(CONFIG)
    if ARCHIVE in block:
        write_archive(tmp_path / ARCHIVE)
    exec(compile(block, "docs", "exec"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_page_on_parts_of_ones_own_shows_every_decorator():
    page = (PROJECT / "docs" / "extend.md").read_text()
    shown = set(re.findall(r"^@(\w+)", page, re.MULTILINE))
    kinds = shown & set(holdfast.parts._HOMES)
    assert shown == kinds
    assert len(shown) == 9


def test_the_models_page_lists_every_extractor():
    page = (PROJECT / "docs" / "models.md").read_text()
    assert re.findall(r"^\| `([^`]+)`", page, re.MULTILINE) == list(OD_API_EXTRACTORS)


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_and_rooms_that_a_page_names_exist(name):
    named = re.findall(r"`([a-z_/]+(?:/|\.py))`", (PROJECT / name).read_text())
    assert len(named) > 10
    places = [PROJECT, PROJECT / "src/holdfast", PROJECT / "src/holdfast/losses"]
    missing = [each for each in named if not any((place / each).exists() for place in places)]
    assert missing == []
