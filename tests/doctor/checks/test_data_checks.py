"""Checks that look at records: anchors, augmentations and weights, on data made on the spot."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.cli.commands import CONFIG
from tests.doctor.cases import HEALTHY, case_of, found

import holdfast
from holdfast.checkpoints.own.own_names import inner_path
from holdfast.checkpoints.own.store import CheckpointStore
from holdfast.checkpoints.report import Report
from holdfast.config.load import load_config
from holdfast.data.conversion.to_records import convert
from holdfast.data.sources.open_source import open_source
from holdfast.data.survey.anchor_coverage import AnchorCoverage, Share
from holdfast.doctor.case import Case
from holdfast.doctor.matched_weights import StartWeights, matched_weights
from holdfast.models.detectors.build_layout import Covered

CROP = """data_augmentation_options { random_scale_crop_and_pad_to_square {
  output_size: 96 scale_min: %s scale_max: %s } }"""
FLIP = "data_augmentation_options { random_horizontal_flip { } }"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with records of 24 images, and the config of a small detector."""
    place = tmp_path_factory.mktemp("data")
    source = open_source("24@96", format_name="synthetic", seed=1)
    convert(source, str(place / "records"), val=0.25, seed=0)
    return place


def case_with(folder: Path, text: str = CONFIG, overrides: dict[str, str] | None = None) -> Case:
    path = folder / "pipeline.config"
    path.write_text(text)
    return Case(config=load_config(path, overrides or {}), config_path=path)


def test_a_sample_of_the_data_has_boxes_and_pixels(folder: Path):
    case = case_with(folder)
    image = case.train.sample[0]
    assert image.pixels().shape == (96, 96, 3)
    assert len(image.sample().boxes) == len(image.observation.boxes)
    assert len(case.train.observations) == case.train.statistics.images == 18


@pytest.mark.parametrize(
    ("scales", "expected"), [((0.02, 0.03), "error"), ((0.9, 1.1), None)], ids=["tiny", "usual"]
)
def test_augmentations_that_shrink_boxes_to_nothing_destroy_them(
    folder: Path, scales: tuple[float, float], expected: str | None
):
    case = case_with(folder, CONFIG.replace(FLIP, CROP % scales))
    finding = found(case, "augmentation-destroys-boxes")
    assert (finding and finding.severity) == expected
    if finding is not None:
        assert "random_scale_crop_and_pad_to_square" in finding.what


BLANK = """data_augmentation_options { random_adjust_contrast {
  min_delta: 0.0 max_delta: 0.001 } }"""
JITTER = "data_augmentation_options { random_jitter_boxes { ratio: %s } }"


def test_augmentations_that_blank_what_boxes_show_destroy_them(folder: Path):
    case = case_with(folder, CONFIG.replace(FLIP, BLANK))
    finding = found(case, "augmentation-destroys-boxes")
    assert finding is not None
    assert "random_adjust_contrast" in finding.what


@pytest.mark.parametrize(("ratio", "is_found"), [(0.9, True), (0.05, False)])
def test_boxes_that_are_jittered_away_from_their_objects_are_lost(
    folder: Path, ratio: float, is_found: bool
):
    case = case_with(folder, CONFIG.replace(FLIP, JITTER % ratio))
    assert (found(case, "augmentation-destroys-boxes") is not None) == is_found


def test_a_matcher_that_asks_for_too_much_is_what_is_mended(folder: Path):
    matcher = "model.ssd.matcher.argmax_matcher"
    strict = {f"{matcher}.matched_threshold": "0.95", f"{matcher}.unmatched_threshold": "0.9"}
    finding = found(case_with(folder, CONFIG, strict), "anchors-miss-boxes")
    assert finding is not None
    assert finding.fix.set["model.ssd.matcher.argmax_matcher.matched_threshold"] == "0.5"


def test_another_resolution_is_fine_where_anchors_cover_the_boxes(folder: Path):
    case = case_with(folder)
    case.model = case_of(HEALTHY.replace("300", "400")).model
    most, fewer = (
        AnchorCoverage(iou_threshold=0.5, all=share, small=share, classes={})
        for share in (Share(boxes=100, covered=98), Share(boxes=100, covered=80))
    )
    case.coverage = Covered(most, published=fewer)
    assert found(case, "resolution-changed") is None
    case.coverage = Covered(fewer, published=most)
    finding = found(case, "resolution-changed")
    assert finding is not None
    assert finding.severity == "warning"


def test_a_limit_for_each_class_hides_what_an_image_has_more_of(folder: Path):
    limit = "model.ssd.post_processing.batch_non_max_suppression.max_detections_per_class"
    most = max(
        Counter(image.class_names).most_common(1)[0][1]
        for image in case_with(folder).train.images
        if image.class_names
    )
    for allowed, is_found in ((most - 1, True), (most, False)):
        case = case_with(folder, CONFIG, {limit: str(allowed)})
        assert (found(case, "detections-hidden") is not None) == is_found


def test_a_flip_is_neither_slow_nor_harmful(folder: Path):
    case = case_with(folder)
    assert found(case, "augmentation-slow") is None
    assert found(case, "augmentation-destroys-boxes") is None


def test_slow_augmentations_are_named(folder: Path):
    case = case_with(folder)
    trial = case.augmentation_trial
    slow = trial.steps[0]._replace(image_seconds=10.0)
    case.augmentation_trial = trial._replace(steps=(slow,))
    finding = found(case, "augmentation-slow")
    assert finding is not None
    assert "random_horizontal_flip" in finding.what


ANCHORS = "model.ssd.anchor_generator.ssd_anchor_generator"


def test_anchors_that_are_far_too_large_miss_the_boxes(folder: Path):
    large = {f"{ANCHORS}.min_scale": "0.97", f"{ANCHORS}.max_scale": "0.99"}
    case = case_with(folder, CONFIG, large)
    finding = found(case, "anchors-miss-boxes")
    assert finding is not None
    assert finding.severity == "error"
    use = case.anchor_use
    assert use.boxes == case.train.statistics.boxes
    assert sum(each.boxes for each in use.maps) <= case.coverage.here.all.covered * len(use.maps)


def test_anchors_that_cover_the_boxes_are_fine(folder: Path):
    dense = CONFIG.replace("num_layers: 2 aspect_ratios: 1.0", "num_layers: 2").replace(
        "ssd_anchor_generator {", "ssd_anchor_generator { min_scale: 0.25 max_scale: 0.5"
    )
    case = case_with(folder, dense)
    share = case.coverage.here.all
    assert (found(case, "anchors-miss-boxes") is None) == (share.covered >= 0.85 * share.boxes)


def test_maps_whose_anchors_nothing_matches_are_named(folder: Path):
    idle = {f"{ANCHORS}.min_scale": "0.4", f"{ANCHORS}.max_scale": "1.0"}
    case = case_with(folder, CONFIG, idle)
    use = case.anchor_use
    big = use._replace(boxes=200, maps=(use.maps[0]._replace(boxes=150), *use.maps[1:]))
    case.anchor_use = big._replace(
        maps=(big.maps[0], *(each._replace(boxes=0) for each in big.maps[1:]))
    )
    finding = found(case, "anchors-unused")
    assert finding is not None
    assert finding.severity == "note"
    case.anchor_use = big._replace(maps=tuple(each._replace(boxes=9) for each in big.maps))
    assert found(case, "anchors-unused") is None


def weights(loaded: int, missing: int, problem: str = "") -> StartWeights:
    report = Report(
        loaded=tuple(f"backbone/{number}" for number in range(loaded)),
        missing=tuple(f"backbone/lost/{number}" for number in range(missing)),
        mismatched=("BoxPredictor_0/ClassPredictor/weights",),
        unused=(),
        other=(),
        variables={},
    )
    return StartWeights("ckpt-0", "detection", None if problem else report, problem)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (weights(100, 0), None),
        (weights(100, 30), "warning"),
        (weights(10, 90), "error"),
        (weights(0, 0, "Nothing in ckpt-0 fits this detector."), "error"),
    ],
)
def test_weights_are_partial_by_what_is_missing_below_the_head(
    folder: Path, start: StartWeights, expected: str | None
):
    case = case_with(folder)
    case.start_weights = start
    finding = found(case, "weights-partial")
    assert (finding and finding.severity) == expected


def test_a_checkpoint_is_matched_as_a_training_does(folder: Path, tmp_path: Path):
    path = folder / "pipeline.config"
    path.write_text(CONFIG)
    detector = holdfast.build_detector(load_config(path))
    tensors = {f"model/{inner_path(detector, each.path)}": each for each in detector.weights}
    saved = CheckpointStore(tmp_path, keep=1).save(1, tensors, {"seed": 0})
    wider = {"model.ssd.feature_extractor.depth_multiplier": "0.5"}
    kind = {"train_config.fine_tune_checkpoint_type": "detection"}
    same = matched_weights(load_config(path, kind), str(saved.path))
    other = matched_weights(load_config(path, kind | wider), str(saved.path))
    assert same.report is not None
    assert not same.report.missing
    assert other.report is None or other.report.mismatched
