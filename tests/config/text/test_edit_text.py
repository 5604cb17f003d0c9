"""A field of a config's text can be changed, and everything else stays as it was written."""

import difflib

import pytest

from holdfast.config.schema.image_resizer import FixedShapeResizer, ImageResizer
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.text.decode import decode
from holdfast.config.text.edit_text import edit_field
from holdfast.config.text.overrides import apply_overrides

TEXT = """\
# A config.
model {
  ssd {
    num_classes: 90  # of COCO
    image_resizer {
      fixed_shape_resizer { height: 300 width: 300 }
    }
    anchor_generator {
      ssd_anchor_generator {
        num_layers: 6
        min_scale: 0.2
        aspect_ratios: 1.0
        aspect_ratios: 2.0  # wide
        aspect_ratios: 0.5
        reduce_boxes_in_lowest_layer: true
      }
    }
  }
}
train_config: <
  batch_size: 24;
  optimizer { adam_optimizer {} }
>
eval_input_reader: [
  { label_map_path: 'a' 'b' },
  { label_map_path: "c" }
]
"""
SSD = "model.ssd.anchor_generator.ssd_anchor_generator"


@pytest.mark.parametrize(
    ("path", "value", "removed", "added"),
    [
        ("model.ssd.num_classes", 3, ["num_classes: 90  # of COCO"], ["num_classes: 3  # of COCO"]),
        (
            "model.ssd.image_resizer.fixed_shape_resizer.width",
            64,
            ["fixed_shape_resizer { height: 300 width: 300 }"],
            ["fixed_shape_resizer { height: 300 width: 64 }"],
        ),
        (f"{SSD}.min_scale", None, ["min_scale: 0.2"], []),
        (f"{SSD}.scales", (0.1, 0.2), [], ["scales: 0.1", "scales: 0.2"]),
        (
            f"{SSD}.aspect_ratios",
            (1.0, 1.5),
            ["aspect_ratios: 2.0  # wide", "aspect_ratios: 0.5"],
            ["aspect_ratios: 1.5", "# wide"],
        ),
        ("train_config.batch_size", 8, ["batch_size: 24;"], ["batch_size: 8;"]),
        ("train_config.num_steps", 9, [], ["num_steps: 9"]),
        (
            "train_config.optimizer.adam_optimizer.learning_rate.constant_learning_rate",
            None,
            [],
            [],
        ),
        ("eval_input_reader[0].label_map_path", "x", None, None),
        ("eval_input_reader[1].label_map_path", "x", None, None),
        ("eval_config.num_examples", 5, [], ["eval_config {", "num_examples: 5", "}"]),
        ("train_config.optimizer.adam_optimizer.epsilon", 0.5, None, None),
    ],
)
def test_a_change_of_the_text_is_the_change_of_the_config(path, value, removed, added):
    text = edit_field(TEXT, path, value)
    before = decode(TEXT, TrainEvalPipelineConfig)
    assert before.problems == []
    after = decode(text, TrainEvalPipelineConfig)
    assert after.problems == []
    expected, problems = apply_overrides(before.message, {path: value})
    assert problems == []
    assert after.message == expected
    if removed is not None:
        diff = list(difflib.ndiff(TEXT.splitlines(), text.splitlines()))
        lost = [line[2:].strip() for line in diff if line.startswith("- ")]
        new = [line[2:].strip() for line in diff if line.startswith("+ ")]
        assert (lost, new) == (removed, added)


def test_a_whole_block_is_replaced_in_the_style_of_the_file():
    resizer = ImageResizer(fixed_shape_resizer=FixedShapeResizer(height=64, width=96))
    text = edit_field(TEXT, "model.ssd.image_resizer", resizer)
    assert "    image_resizer {\n      fixed_shape_resizer {\n        height: 64\n" in text
    assert decode(text, TrainEvalPipelineConfig).message.model.ssd.image_resizer == resizer


def test_every_scalar_of_the_corpus_can_be_changed_where_it_stands(corpus):
    paths = sorted((corpus / "zoo_configs").rglob("*.config"))
    assert paths
    for path in paths:
        text = path.read_text()
        before = decode(text, TrainEvalPipelineConfig)
        if before.problems or not before.message.has("train_config"):
            continue
        for name, value in {"train_config.batch_size": 3, "train_config.num_steps": 77}.items():
            changed = edit_field(text, name, value)
            expected, _ = apply_overrides(before.message, {name: value})
            assert decode(changed, TrainEvalPipelineConfig).message == expected, path
            assert changed.count("#") == text.count("#")
