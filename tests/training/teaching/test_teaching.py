"""A step with a teacher: terms with names, gradients into the student alone, pieces as one."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.center_net.small_centers import BOXES as BOX_TASK
from tests.models.detectors.center_net.small_centers import MOBILE, center_net
from tests.models.detectors.small_configs import small_config, small_stages
from tests.models.detectors.two_stage.tiny_network import TINY

from holdfast.config.text.overrides import apply_overrides
from holdfast.data.input.resize import keep_aspect_ratio
from holdfast.data.sample import Batch, GroundTruth
from holdfast.geometry.chance import image_seeds
from holdfast.models.backbones.split_networks import SPLIT_NETWORKS
from holdfast.models.detectors.build_detector import build_detector
from holdfast.training.step.batch_gradients import PENALTY
from holdfast.training.step.batch_loss import BatchLoss
from holdfast.training.step.gradients import GradientRules
from holdfast.training.step.optimizers import Momentum, StepOptimizer
from holdfast.training.step.training_step import TOTAL, TrainingStep
from holdfast.training.teaching.build_teaching import anchors_agree
from holdfast.training.teaching.teacher import DetectorTeacher
from holdfast.training.teaching.teaching import BOXES, CLASSES, Teaching, distilled

SIDE, IMAGES = 64, 4
WIDE = {"model.ssd.feature_extractor.depth_multiplier": 0.5}
STILL = {"model.ssd.box_predictor.convolutional_box_predictor.use_dropout": False}


def config_of(name: str):
    SPLIT_NETWORKS["inception_v2"] = TINY
    match name:
        case "center_net":
            return center_net(BOX_TASK, MOBILE, size=(SIDE, SIDE))
        case "faster_rcnn" | "mask_rcnn":
            return small_stages(name, SIDE, SIDE)
        case "wide":
            return apply_overrides(config_of("ssd"), WIDE)[0]
        case "ssd":
            return apply_overrides(small_config(name, SIDE, SIDE), STILL)[0]
    return small_config(name, SIDE, SIDE)


def detector_of(name: str):
    """Build a detector with weights that are always the same, and scores that differ."""
    detector = build_detector(config_of(name), freeze_batch_norm=True)
    random = np.random.default_rng(1)
    for weight in detector.weights:
        noise = random.normal(0, 0.1, tuple(weight.shape))
        is_scale = any(part in weight.path for part in ("gamma", "variance"))
        weight.assign(np.float32(np.abs(1 + noise) if is_scale else noise))
    return detector


def batch() -> Batch:
    random = np.random.default_rng(0)
    corners = random.uniform(0.0, 0.4, (IMAGES, 3, 2))
    boxes = np.concatenate([corners, corners + random.uniform(0.3, 0.6, corners.shape)], axis=-1)
    return Batch(
        images=tf.constant(random.uniform(0, 255, (IMAGES, SIDE, SIDE, 3)), tf.float32),
        sizes=tf.constant([[SIDE, SIDE, 3]] * IMAGES),
        truth=GroundTruth(
            boxes=tf.constant(boxes, tf.float32),
            classes=tf.constant(random.integers(0, 3, (IMAGES, 3)), tf.int32),
            weights=tf.constant([[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 1, 0]], tf.float32),
        ),
        source_ids=tf.constant([str(number) for number in range(IMAGES)]),
        positions=tf.range(IMAGES, dtype=tf.int64),
    )


def taught(student, teacher, *, accumulation: int = 1) -> TrainingStep:
    looking = DetectorTeacher(teacher, resize=None, largest=(SIDE, SIDE), is_padded=False)
    agrees = anchors_agree(student, teacher)
    variables = student.trainable_variables
    teaching = Teaching(student, looking, anchor_teacher=teacher if agrees else None)
    return TrainingStep(
        BatchLoss(student, teaching=teaching, seed=5),
        StepOptimizer(variables, Momentum()),
        lambda number: tf.constant(0.01),
        variables=variables,
        rules=GradientRules(),
        accumulation=accumulation,
    )


def losses_of(step: TrainingStep) -> dict[str, float]:
    outcome = step.run(batch(), tf.constant(0, tf.int64))
    return {name: float(value) for name, value in outcome.losses.items()}


@pytest.fixture(scope="module")
def first_step() -> tuple[TrainingStep, list, list, dict[str, float]]:
    """Take a step with anchors in common; give the teacher before and after it, and the losses."""
    teacher, student = detector_of("wide"), detector_of("ssd")
    before = [each.numpy() for each in teacher.variables]
    step = taught(student, teacher)
    losses = losses_of(step)
    return step, before, [each.numpy() for each in teacher.variables], losses


def test_the_terms_of_the_teacher_have_names_and_count(first_step):
    _, _, _, losses = first_step
    own = ["Loss/localization_loss", "Loss/classification_loss"]
    terms = {*own, *map(distilled, own), CLASSES, BOXES, PENALTY}
    assert losses.keys() == terms | {TOTAL}
    assert losses[TOTAL] == pytest.approx(sum(losses[name] for name in terms), rel=1e-5)
    assert losses[CLASSES] > 0.0
    assert losses[BOXES] > 0.0


def test_the_teacher_stays_as_it_is(first_step):
    _, before, after, _ = first_step
    for first, second in zip(before, after, strict=True):
        np.testing.assert_array_equal(first, second)


def test_gradients_of_its_terms_flow_into_the_student_alone(first_step):
    step = first_step[0]
    student, teacher = step.detector, step.loss.teaching.teacher.detector
    given = batch()
    lesson = step.loss.teaching.lesson(given, (SIDE, SIDE), image_seeds(5, given.positions))
    with tf.GradientTape() as tape:
        predictions = student(student.normalize(given.images, given.sizes), training=True)
        normalizers = student.normalizers(lesson.prepared)
        normalizers |= step.loss.teaching.normalizers(given, normalizers)
        terms = step.loss.teaching.terms(predictions, lesson, normalizers)
        total = tf.add_n(list(terms.values()))
    variables = [each.value for each in student.trainable_variables]
    theirs = [each.value for each in teacher.trainable_variables]
    gradients, none = tape.gradient(total, (variables, theirs))
    assert all(each is None for each in none)
    heads = [
        gradient
        for gradient, variable in zip(gradients, student.trainable_variables, strict=True)
        if "/head/" in variable.path and variable.name == "kernel"
    ]
    assert all(float(tf.reduce_max(tf.abs(each))) > 0.0 for each in heads)


def test_a_student_that_is_its_teacher_learns_nothing_from_anchors(first_step):
    looking = first_step[0].loss.teaching.teacher
    same = looking.detector
    teaching, given = Teaching(same, looking, anchor_teacher=same), batch()
    lesson = teaching.lesson(given, (SIDE, SIDE), image_seeds(5, given.positions))
    predictions = same(same.normalize(given.images, given.sizes))
    own = same.normalizers(lesson.prepared)
    terms = teaching.terms(predictions, lesson, own | teaching.normalizers(given, own))
    assert float(terms[CLASSES]) == pytest.approx(0.0, abs=1e-3)


def test_pieces_learn_from_a_teacher_what_the_whole_batch_does(first_step):
    whole = first_step[3]
    pieces = losses_of(taught(detector_of("ssd"), detector_of("wide"), accumulation=2))
    assert pieces.keys() == whole.keys()
    for name, value in whole.items():
        assert pieces[name] == pytest.approx(value, rel=1e-4, abs=1e-5), name


@pytest.mark.parametrize(
    ("student", "teacher"),
    [
        pytest.param("ssdlite", "fpn", marks=pytest.mark.slow),
        ("ssd", "center_net"),
        pytest.param("mask_rcnn", "wide", marks=pytest.mark.slow),
        pytest.param("center_net", "faster_rcnn", marks=pytest.mark.slow),
    ],
)
def test_detectors_without_common_anchors_learn_from_detections(student, teacher):
    learner, knows = detector_of(student), detector_of(teacher)
    assert not anchors_agree(learner, knows)
    step = taught(learner, knows)
    given = batch()
    if student == "mask_rcnn":
        bits = tf.zeros((IMAGES, 3, SIDE, SIDE // 8), tf.uint8)
        given = given._replace(truth=given.truth._replace(mask_bits=bits))
    outcome = step.run(given, tf.constant(0, tf.int64))
    terms = {name: float(each) for name, each in outcome.losses.items()}
    distilled_terms = [name for name in terms if name.startswith("Loss/distillation_")]
    assert len(distilled_terms) >= 2
    assert CLASSES not in terms
    assert np.isfinite(list(terms.values())).all()
    assert any(terms[name] > 0.0 for name in distilled_terms)


def test_a_teacher_of_another_size_gets_its_own_images():
    teacher = detector_of("center_net")
    seen = []
    normalize = teacher.normalize
    teacher.normalize = lambda images, sizes: (
        seen.append((images, sizes)) or normalize(images, sizes)
    )

    def resized(image, masks):

        return keep_aspect_ratio(image, masks, min_dimension=32, max_dimension=48)

    looking = DetectorTeacher(teacher, resize=resized, largest=(48, 48), is_padded=True)
    given = batch()
    sizes = tf.constant([[SIDE, SIDE // 2, 3]] * IMAGES)
    looking.look(given._replace(sizes=sizes))
    ((images, true_sizes),) = seen
    assert images.shape == (IMAGES, 48, 48, 3)
    np.testing.assert_array_equal(true_sizes, [[48, 24, 3]] * IMAGES)
    np.testing.assert_array_equal(images[:, :, 24:], 0.0)
