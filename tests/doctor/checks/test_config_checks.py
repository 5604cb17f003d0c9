"""What the checks of a config say about faults that are planted into a healthy one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from tests.doctor.cases import HEAD, HEALTHY, RATE, RCNN, SUPPRESSION, case_of, found

from holdfast.config.label_map import parse_label_map
from holdfast.config.load import load_config
from holdfast.config.text.overrides import apply_overrides
from holdfast.doctor.case import LabelMaps
from holdfast.doctor.check import CHECKS, all_checks
from holdfast.doctor.diagnose import examine

FOCAL = "model.ssd.loss.classification_loss.weighted_sigmoid_focal"
MINER = "model.ssd.loss.hard_example_miner"
OPTIMIZER = "train_config.optimizer.momentum_optimizer"
# As of data/survey/statistics.py, which loads TensorFlow.
STATISTICS = SimpleNamespace(images=400, boxes_per_image=SimpleNamespace(maximum=60))


class Fault(NamedTuple):
    code: str
    severity: str
    overrides: dict[str, Any]
    text: str = HEALTHY


def rms(**values: Any) -> str:
    """The healthy config with RMSProp instead of momentum."""
    start, end = HEALTHY.index("optimizer {"), HEALTHY.index("data_augmentation")
    fields = " ".join(f"{name}: {value}" for name, value in values.items())
    return (
        f"{HEALTHY[:start]}optimizer {{ rms_prop_optimizer {{ {fields} learning_rate {{ "
        "exponential_decay_learning_rate { initial_learning_rate: 0.001 decay_steps: 500 "
        f"decay_factor: 0.5 }} }} }} }} {HEALTHY[end:]}"
    )


def adam(rate: float, epsilon: float = 1e-8) -> str:
    """The healthy config with Adam, and a rate that never falls."""
    start, end = HEALTHY.index("optimizer {"), HEALTHY.index("data_augmentation")
    return (
        f"{HEALTHY[:start]}optimizer {{ adam_optimizer {{ epsilon: {epsilon} learning_rate {{ "
        f"constant_learning_rate {{ learning_rate: {rate} }} }} }} }} {HEALTHY[end:]}"
    )


def in_epochs() -> str:
    """The healthy config with a manual schedule whose steps are those of epochs."""
    start, end = HEALTHY.index("cosine_decay_learning_rate"), HEALTHY.index("use_moving_average")
    return (
        f"{HEALTHY[:start]}manual_step_learning_rate {{ initial_learning_rate: 0.01 "
        "schedule { step: 8 learning_rate: 0.001 } schedule { step: 11 learning_rate: 0.0001 } "
        f"}} }} }} {HEALTHY[end:]}"
    )


def centers(settings: str) -> str:
    """A CenterNet in the place of the healthy config's detector."""
    return (
        "model { center_net { num_classes: 3 "
        'feature_extractor { type: "mobilenet_v2_fpn" } '
        "image_resizer { fixed_shape_resizer { height: 512 width: 512 } } "
        "object_detection_task { localization_loss { l1_localization_loss { } } } "
        f"object_center_params {{ {settings} }} }} }} {HEALTHY[HEALTHY.index('train_config') :]}"
    )


FAULTS = [
    Fault("learning-rate-high", "error", {f"{RATE}.learning_rate_base": 1.0}),
    Fault("learning-rate-high", "warning", {f"{RATE}.learning_rate_base": 0.1}),
    Fault("learning-rate-high", "error", {}, adam(0.01)),
    Fault("learning-rate-high", "warning", {f"{OPTIMIZER}.momentum_optimizer_value": 0.99}),
    Fault(
        "learning-rate-high",
        "error",
        {
            f"{OPTIMIZER}.learning_rate.manual_step_learning_rate.initial_learning_rate": 0.03,
        },
        RCNN,
    ),
    Fault("learning-rate-low", "error", {f"{RATE}.learning_rate_base": 0.0001}),
    Fault("learning-rate-low", "warning", {f"{RATE}.learning_rate_base": 0.0003}),
    Fault("learning-rate-low", "error", {}, adam(1e-6)),
    Fault("warmup-too-long", "warning", {f"{RATE}.warmup_steps": 1000}),
    Fault(
        "warmup-too-long",
        "error",
        {f"{RATE}.warmup_steps": 40_000, f"{RATE}.warmup_learning_rate": 0},
    ),
    Fault("schedule-ends-early", "error", {f"{RATE}.total_steps": 100, f"{RATE}.warmup_steps": 5}),
    Fault("schedule-ends-early", "warning", {f"{RATE}.total_steps": 1300}),
    Fault("schedule-ends-early", "error", {}, in_epochs()),
    Fault("steps-few", "warning", {"train_config.num_steps": 150}),
    Fault("steps-few", "error", {"train_config.num_steps": 20, f"{RATE}.warmup_steps": 2}),
    Fault("schedule-never-decays", "warning", {f"{RATE}.total_steps": 200_000}),
    Fault("schedule-never-decays", "warning", {}, adam(0.0002)),
    Fault("schedule-never-decays", "note", {"train_config.num_steps": 9000}, RCNN),
    Fault("batch-norm-small-batch", "warning", {"train_config.batch_size": 2}),
    Fault("batch-norm-small-batch", "note", {"train_config.batch_size": 4}),
    Fault(
        "batch-norm-small-batch",
        "warning",
        {"model.faster_rcnn.feature_extractor.batch_norm_trainable": True},
        RCNN,
    ),
    Fault(
        "batch-norm-slow",
        "warning",
        {"model.ssd.feature_extractor.conv_hyperparams.batch_norm.decay": 0.9997},
    ),
    Fault(
        "batch-norm-slow",
        "error",
        {
            "model.ssd.feature_extractor.conv_hyperparams.batch_norm.decay": 0.9999,
            "train_config.fine_tune_checkpoint": "",
        },
    ),
    Fault("nothing-trains", "error", {"train_config.freeze_variables": '[".*"]'}),
    Fault("nothing-trains", "error", {"train_config.freeze_variables": '["BoxPredictor", "head"]'}),
    Fault("nothing-trains", "error", {"train_config.freeze_variables": '["BoxPredictor"]'}),
    Fault(
        "nothing-trains",
        "error",
        {"train_config.update_trainable_variables": '["FeatureExtractor"]'},
    ),
    Fault("nothing-trains", "error", {}, centers("object_center_loss_weight: 0")),
    Fault("nothing-trains", "error", {"model.ssd.loss.localization_weight": 0.0}),
    Fault("nothing-trains", "error", {"model.ssd.loss.classification_weight": 0.0}),
    Fault(
        "nothing-trains",
        "error",
        {f"{RATE}.learning_rate_base": 0.0, f"{RATE}.warmup_learning_rate": 0.0},
    ),
    Fault(
        "nothing-trains",
        "error",
        {"model.faster_rcnn.second_stage_classification_loss_weight": 0.0},
        RCNN,
    ),
    Fault("detections-hidden", "error", {f"{SUPPRESSION}.score_threshold": 0.95}),
    Fault("detections-hidden", "warning", {f"{SUPPRESSION}.score_threshold": 0.5}),
    Fault("detections-hidden", "error", {f"{SUPPRESSION}.max_total_detections": 0}),
    Fault("detections-hidden", "warning", {f"{SUPPRESSION}.max_total_detections": 5}),
    Fault("detections-hidden", "warning", {f"{SUPPRESSION}.iou_threshold": 0.05}),
    Fault("detections-hidden", "warning", {}, centers("max_box_predictions: 5")),
    Fault("detections-hidden", "error", {}, centers("max_box_predictions: 0")),
    Fault(
        "detections-hidden",
        "warning",
        {"model.faster_rcnn.first_stage_nms_iou_threshold": 0.05},
        RCNN,
    ),
    Fault("detections-hidden", "warning", {f"{SUPPRESSION}.iou_threshold": 0.99}),
    Fault("detections-hidden", "warning", {"model.faster_rcnn.first_stage_max_proposals": 2}, RCNN),
    Fault("detections-hidden", "error", {"model.ssd.post_processing.score_converter": "IDENTITY"}),
    Fault(
        "weights-missing",
        "error",
        {
            "train_config.fine_tune_checkpoint": "",
            "model.ssd.freeze_batchnorm": True,
            "train_config.num_steps": 1_000_000,
        },
    ),
    Fault("optimizer-odd", "warning", {"train_config.bias_grad_multiplier": 100.0}),
    Fault(
        "nothing-trains", "error", {"model.faster_rcnn.second_stage_balance_fraction": 0.0}, RCNN
    ),
    Fault("loss-odd", "error", {f"{FOCAL}.alpha": 0.0}),
    Fault("loss-odd", "error", {f"{FOCAL}.alpha": 1.0}),
    Fault("loss-odd", "warning", {f"{FOCAL}.gamma": 20.0}),
    Fault("loss-odd", "warning", {"model.ssd.loss.localization_weight": 0.0001}),
    Fault("loss-odd", "error", {f"{MINER}.num_hard_examples": 1}),
    Fault("loss-odd", "warning", {f"{MINER}.num_hard_examples": 3}),
    Fault("loss-odd", "error", {"model.faster_rcnn.second_stage_batch_size": 1}, RCNN),
    Fault("loss-odd", "warning", {"model.faster_rcnn.first_stage_minibatch_size": 4}, RCNN),
    Fault("background-prior", "warning", {f"{HEAD}.class_prediction_bias_init": 0.0}),
    Fault("background-prior", "error", {f"{HEAD}.class_prediction_bias_init": 4.6}),
    Fault("background-prior", "warning", {f"{HEAD}.class_prediction_bias_init": -20}),
    Fault(
        "penalty-strong",
        "error",
        {f"{HEAD}.conv_hyperparams.regularizer.l2_regularizer.weight": 1.0},
    ),
    Fault(
        "penalty-strong",
        "warning",
        {f"{HEAD}.conv_hyperparams.regularizer.l2_regularizer.weight": 0.01},
    ),
    Fault(
        "dropout-strong",
        "warning",
        {f"{HEAD}.use_dropout": True, f"{HEAD}.dropout_keep_probability": 0.2},
    ),
    Fault(
        "dropout-strong",
        "error",
        {f"{HEAD}.use_dropout": True, f"{HEAD}.dropout_keep_probability": 0.01},
    ),
    Fault("batch-small", "note", {"train_config.batch_size": 1}),
    Fault("batch-large", "note", {"train_config.batch_size": 128}),
    Fault("batch-large", "warning", {"train_config.batch_size": 512}),
    Fault("optimizer-odd", "error", {f"{OPTIMIZER}.momentum_optimizer_value": 1.0}),
    Fault("optimizer-odd", "warning", {f"{OPTIMIZER}.momentum_optimizer_value": 0.0}),
    Fault("optimizer-odd", "warning", {"train_config.gradient_clipping_by_norm": 0.001}),
    Fault("optimizer-odd", "warning", {}, rms(epsilon=1e-8)),
    Fault("optimizer-odd", "error", {}, rms(decay=1.5)),
    Fault("optimizer-odd", "warning", {}, adam(0.0002, epsilon=1.0)),
    Fault("classes-mismatch", "error", {"model.ssd.num_classes": 2}),
    Fault("classes-mismatch", "warning", {"model.ssd.num_classes": 90}),
    Fault("weights-missing", "warning", {"train_config.fine_tune_checkpoint": ""}),
    Fault("resolution-changed", "warning", {}, HEALTHY.replace("300", "600")),
    Fault("resolution-changed", "note", {}, HEALTHY.replace("300", "400")),
]
LABEL_MAP = parse_label_map(
    b'item { id: 1 name: "cat" } item { id: 2 name: "dog" } item { id: 3 name: "owl" }', "labels"
)
KNOWN = {"train.statistics": STATISTICS, "label_maps": LabelMaps(LABEL_MAP, LABEL_MAP)}
CODES = sorted({fault.code for fault in FAULTS})


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.code}-{fault.severity}")
def test_a_planted_fault_is_found(fault: Fault):
    case = case_of(fault.text, fault.overrides, **KNOWN)
    finding = found(case, fault.code)
    assert finding is not None
    assert finding.severity == fault.severity, finding.what
    assert finding.what
    assert finding.why
    assert finding.fix.text


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.code}-{fault.severity}")
def test_a_fix_ends_what_was_found(fault: Fault):
    case = case_of(fault.text, fault.overrides, **KNOWN)
    finding = found(case, fault.code)
    assert finding is not None
    fix = dict(finding.fix.set)
    if not fix or fault.code == "weights-missing":
        pytest.skip("the fix is told in words, or is to fetch a file")
    config, problems = apply_overrides(case.config, fix)
    assert not problems, "what is ready to paste must be legal"
    mended = case_of(fault.text, fault.overrides, **KNOWN, config=config)
    remaining = found(mended, fault.code)
    assert remaining is None or remaining.severity == "note", remaining


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("text", [HEALTHY, RCNN], ids=["ssd", "rcnn"])
def test_nothing_is_found_in_a_healthy_config(code: str, text: str):
    case = case_of(text, **KNOWN)
    if code == "weights-missing":
        case.steps = ("a run that has begun has its weights",)
    assert found(case, code) is None


def test_a_checkpoint_that_is_not_there_is_an_error_where_the_data_is():
    case = case_of(HEALTHY, **{"train.files": ("train.record",)})
    finding = found(case, "weights-missing")
    assert finding is not None
    assert finding.severity == "error"
    without_data = examine(case_of(HEALTHY), only=["weights-missing"])
    assert without_data.findings == ()
    assert without_data.not_looked_at[0].reason == "train.record leads to no file"


def test_a_planted_fault_is_the_first_or_second_finding():
    first = []
    for fault in FAULTS:
        codes = [
            each.code
            for each in examine(case_of(fault.text, fault.overrides, **KNOWN)).findings
            if each.severity == fault.severity or fault.severity != "note"
        ]
        first.append(fault.code in codes[:2])
    assert sum(first) >= 0.9 * len(first), [
        fault for fault, is_first in zip(FAULTS, first, strict=True) if not is_first
    ]


@pytest.mark.parametrize("name", ["tf1", "tf2"])
def test_published_configs_have_no_errors_and_few_warnings(corpus, name: str):
    paths = sorted((corpus / "zoo_configs" / name).glob("*.config"))
    assert paths
    warnings = 0
    for path in paths:
        case = case_of(HEALTHY, config=load_config(path))
        findings = examine(case).findings
        assert not [each for each in findings if each.severity == "error"], path.name
        warnings += sum(each.severity == "warning" for each in findings)
    assert warnings <= 0.1 * len(paths)


def test_every_code_of_the_table_is_a_check():
    all_checks()
    assert [code for code in CODES if code not in CHECKS] == []


def covered(share: float) -> SimpleNamespace:
    """A coverage of 1000 boxes, as of data/survey/anchor_coverage.py, which loads TensorFlow."""
    boxes = SimpleNamespace(boxes=1000, covered=round(1000 * share))
    here = SimpleNamespace(iou_threshold=0.5, all=boxes, small=boxes, classes={"cat": boxes})
    return SimpleNamespace(here=here)


@pytest.mark.parametrize(
    ("text", "share", "severity"),
    [
        (HEALTHY, 0.95, None),
        (HEALTHY, 0.7, "warning"),
        (HEALTHY, 0.2, "error"),
        (RCNN, 0.4, None),
        (RCNN, 0.1, "warning"),
    ],
)
def test_anchors_miss_boxes_by_what_the_detector_asks_for(
    text: str, share: float, severity: str | None
):
    finding = found(case_of(text, coverage=covered(share)), "anchors-miss-boxes")
    assert (finding and finding.severity) == severity
