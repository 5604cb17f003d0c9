from __future__ import annotations

import re

import pytest

from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.config.validate.required import check_required
from holdfast.errors import Problem

from ..texts import CONFIG, COSINE, config, edited, line_of, on_lines

FASTER_RCNN = """\
model {
  faster_rcnn {
    num_classes: 3
    image_resizer { keep_aspect_ratio_resizer { } }
    feature_extractor { type: "faster_rcnn_resnet50_keras" }
    first_stage_anchor_generator { grid_anchor_generator { } }
    second_stage_box_predictor { mask_rcnn_box_predictor { } }
  }
}
"""
CENTER_NET = """\
model {
  center_net {
    num_classes: 3
    image_resizer { keep_aspect_ratio_resizer { } }
    feature_extractor { type: "resnet_v2_50" }
    object_center_params { classification_loss { penalty_reduced_logistic_focal_loss { } } }
  }
}
"""
REST = CONFIG[CONFIG.index("train_config {") :]


def judged(text: str) -> list[Problem]:
    return on_lines(list(check_required(config(text=text))), text)


def without(piece: str, text: str = CONFIG) -> str:
    return edited((piece, ""), text=text)


def block(start: str, text: str = CONFIG) -> str:
    """Cut a whole block out of the text: from its name to its closing bracket."""
    begin = text.index(start)
    end = text.index("{", begin) + 1
    while text[begin:end].count("{") > text[begin:end].count("}"):
        end += 1
    return text[begin:end]


@pytest.mark.parametrize("text", [CONFIG, FASTER_RCNN + REST, CENTER_NET + REST])
def test_a_complete_config_lacks_nothing(text: str):
    assert judged(text) == []


def test_an_empty_config_lacks_model_training_and_data():
    problems = list(check_required(TrainEvalPipelineConfig()))
    assert [(each.path, each.fix) for each in problems] == [
        ("model", "add `model { … }`"),
        ("train_config.optimizer", "add `train_config { optimizer … }`"),
        ("train_input_reader", "add `train_input_reader { … }`"),
    ]
    assert {each.severity for each in problems} == {"error"}
    assert {each.message for each in problems} == {"it is missing"}


SSD_BLOCKS = [
    *("image_resizer", "box_coder", "matcher", "similarity_calculator"),
    *("box_predictor", "anchor_generator", "loss.localization_loss", "loss.classification_loss"),
]


@pytest.mark.parametrize("path", SSD_BLOCKS)
def test_each_block_of_a_single_stage_detector_is_missed(path: str):
    name = path.rpartition(".")[2]
    text = without(block(f"{name} {{"))
    (problem,) = judged(text)
    assert problem.path == f"model.ssd.{path}"
    assert (problem.severity, problem.message) == ("error", "it is missing")
    assert problem.fix == f"add `{name} {{ … }}`"
    around = "    loss {" if "loss" in path else "  ssd {"
    assert problem.line == line_of(around, text)


def test_a_missing_number_is_written_with_a_colon():
    (problem,) = judged(without("    num_classes: 3\n"))
    assert (problem.path, problem.fix) == ("model.ssd.num_classes", "add `num_classes: …`")


def test_a_missing_block_around_what_is_required_is_told_with_it():
    problems = judged(without(block("    loss {")))
    assert [(each.path, each.fix) for each in problems] == [
        ("model.ssd.loss.localization_loss", "add `loss { localization_loss … }`"),
        ("model.ssd.loss.classification_loss", "add `loss { classification_loss … }`"),
    ]


@pytest.mark.parametrize(
    ("architecture", "text", "pieces"),
    [
        (
            "faster_rcnn",
            FASTER_RCNN,
            {
                "num_classes": "num_classes: 3",
                "image_resizer": "image_resizer { keep_aspect_ratio_resizer { } }",
                "feature_extractor.type": 'type: "faster_rcnn_resnet50_keras"',
                "first_stage_anchor_generator": block("first_stage_anchor", FASTER_RCNN),
                "second_stage_box_predictor": block("second_stage_box", FASTER_RCNN),
            },
        ),
        (
            "center_net",
            CENTER_NET,
            {
                "num_classes": "num_classes: 3",
                "image_resizer": "image_resizer { keep_aspect_ratio_resizer { } }",
                "feature_extractor.type": 'type: "resnet_v2_50"',
                "object_center_params.classification_loss": block(
                    "classification_loss", CENTER_NET
                ),
            },
        ),
    ],
)
def test_each_part_of_the_other_detectors_is_missed(
    architecture: str, text: str, pieces: dict[str, str]
):
    for path, piece in pieces.items():
        (problem,) = judged(without(piece, text) + REST)
        assert problem.path == f"model.{architecture}.{path}"
        assert problem.message == "it is missing"


@pytest.mark.parametrize("name", ["image_resizer", "box_coder", "matcher", "anchor_generator"])
def test_a_block_without_a_choice_in_it_is_missed(name: str):
    (problem,) = judged(edited((block(f"{name} {{"), f"{name} {{ }}")))
    assert problem.path == f"model.ssd.{name}"
    assert problem.message == "nothing is chosen in it"
    assert re.match(r"set one of \w+, \w+", problem.fix)
    assert problem.line is not None


def test_a_model_without_a_detector_is_missed():
    (problem,) = judged(edited((block("model {"), "model { }")))
    assert (problem.path, problem.message) == ("model", "nothing is chosen in it")
    assert problem.fix == "set one of faster_rcnn, ssd, experimental_model, center_net"


def test_an_experimental_model_is_left_to_whoever_registered_it():
    model = 'model { experimental_model { name: "mine" } }'
    assert judged(edited((block("model {"), model))) == []


def test_an_optimizer_and_its_learning_rate_must_be_chosen():
    optimizer = block("  optimizer {")
    (problem,) = judged(without(optimizer))
    assert problem.path == "train_config.optimizer"
    (problem,) = judged(edited((optimizer, "optimizer { }")))
    assert problem.fix == "set one of rms_prop_optimizer, momentum_optimizer, adam_optimizer"
    (problem,) = judged(edited((optimizer, "optimizer { adam_optimizer { } }")))
    assert problem.path == "train_config.optimizer.adam_optimizer.learning_rate"
    (problem,) = judged(without(COSINE))
    assert problem.path == "train_config.optimizer.momentum_optimizer.learning_rate"
    assert problem.message == "nothing is chosen in it"


def test_everything_that_is_missing_is_said_at_once():
    text = edited((block("    box_coder {"), ""), (block("    matcher {"), ""))
    text = text.replace(block("train_input_reader {", text), "")
    assert [each.path for each in judged(text)] == [
        "model.ssd.box_coder",
        "model.ssd.matcher",
        "train_input_reader",
    ]
