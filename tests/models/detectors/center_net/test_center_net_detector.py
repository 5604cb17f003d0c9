"""CenterNets with every task: they train, are evaluated, and find what their maps show."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from tests.models.detectors.center_net.small_centers import (
    ALL_TASKS,
    BOXES,
    FOLDER,
    MASKS,
    center_net,
    keypoints,
)

from holdfast.checkpoints.legacy.detector_names import names_of
from holdfast.config.schema.pipeline_config import TrainEvalPipelineConfig
from holdfast.data.input.evaluation_input import EvaluationBatch, LabeledTruth
from holdfast.data.sample import GroundTruth
from holdfast.errors import HoldfastError
from holdfast.evaluation.evaluation_step import EvaluationStep
from holdfast.geometry.mask_bits import pack_masks
from holdfast.models.detectors.build_detector import build_detector
from holdfast.models.detectors.center_net.build_tasks import build_tasks
from holdfast.models.detectors.center_net.peak_detections import peak_detections
from holdfast.models.detectors.center_net.prepared import CenterNetPredictions, KeypointMaps
from holdfast.models.detectors.center_net.tasks import Tasks
from holdfast.models.inference.detections import Suppression

SIZES = tf.constant([[64, 64, 3]] * 2)
LOSSES = {
    "Loss/object_center",
    "Loss/box/scale",
    "Loss/box/offset",
    *(
        f"Loss/{task}/keypoint/{what}"
        for task, what in itertools.product(("pose", "dog"), ("heatmap", "offset", "regression"))
    ),
    "Loss/segmentation/heatmap",
}


@pytest.fixture(scope="module")
def detector():
    return build_detector(center_net(ALL_TASKS))


def truth(rows: int = 3) -> GroundTruth:
    random = np.random.default_rng(0)
    corners = random.uniform(0.0, 0.4, (2, rows, 2))
    boxes = np.concatenate([corners, corners + random.uniform(0.2, 0.5, corners.shape)], axis=-1)
    masks = random.integers(0, 2, (2, rows, 64, 64)).astype(np.uint8)
    return GroundTruth(
        boxes=tf.constant(boxes, tf.float32),
        classes=tf.constant(np.arange(2 * rows).reshape(2, rows) % 3, tf.int32),
        weights=tf.constant([[1.0] * rows, [1.0] + [0.0] * (rows - 1)]),
        keypoints=tf.constant(random.uniform(0.1, 0.9, (2, rows, 5, 2)), tf.float32),
        masks=tf.constant(masks),
    )


def test_it_says_what_it_learns_from_and_of_what_it_is_made(detector):
    assert detector.truth_fields == {"keypoints", "masks"}
    assert list(detector.parts()) == ["backbone", "neck", "head"]
    assert detector.num_classes == 3


def test_all_losses_are_finite_and_have_the_od_apis_names(detector):
    predictions = detector(tf.zeros((2, 64, 64, 3)), sizes=SIZES, training=True)
    targets = detector.targets(truth(), SIZES, predictions)
    assert detector.normalizers(targets).keys() == LOSSES
    terms = detector.loss_terms(predictions, targets)
    assert terms.keys() == LOSSES
    assert all(np.isfinite(float(each)) for each in terms.values())


def test_masks_as_bits_are_the_same_masks(detector):
    plain = truth()
    packed = plain._replace(masks=None, mask_bits=pack_masks(plain.masks))
    (found,), (wanted,) = (detector.targets(each, SIZES).masks for each in (packed, plain))
    np.testing.assert_array_equal(found, wanted)


def test_an_image_without_boxes_is_background(detector):
    empty = GroundTruth(
        boxes=tf.zeros((2, 0, 4)),
        classes=tf.zeros((2, 0), tf.int32),
        weights=tf.zeros((2, 0)),
        keypoints=tf.zeros((2, 0, 5, 2)),
        masks=tf.zeros((2, 0, 64, 64), tf.uint8),
    )
    predictions = detector(tf.zeros((2, 64, 64, 3)), sizes=SIZES)
    terms = detector.loss_terms(predictions, detector.targets(empty, SIZES, predictions))
    assert float(terms["Loss/object_center"]) > 0.0
    assert float(terms["Loss/box/scale"]) == 0.0
    assert all(np.isfinite(float(each)) for each in terms.values())


def test_images_of_any_size_are_padded_and_cropped():
    detector = build_detector(center_net(size=(70, 90)))
    run = tf.function(
        detector, input_signature=[tf.TensorSpec((None, None, None, 3))], autograph=False
    )
    for height, width in ((70, 90), (64, 64), (33, 127)):
        predictions = run(tf.zeros((1, height, width, 3)))
        shape = -(-height // 4), -(-width // 4)
        assert tuple(predictions.object_center[0].shape[1:3]) == shape
        sizes = tf.constant([[height, width, 3]])
        boxes = tf.constant([[[0.9, 0.9, 1.0, 1.0]]])
        labeled = GroundTruth(boxes, tf.zeros((1, 1), tf.int32), tf.ones((1, 1)))
        terms = detector.loss_terms(predictions, detector.targets(labeled, sizes, predictions))
        assert all(np.isfinite(float(each)) for each in terms.values())
        assert detector.detections(predictions, sizes).boxes.shape == (1, 7, 4)


@pytest.mark.slow
def test_an_evaluation_takes_no_loss_from_images_that_fill_the_batch():
    detector = build_detector(center_net(BOXES + keypoints()))
    step = EvaluationStep(detector, with_loss=True)
    labels = truth()
    fields = {name: getattr(labels, name) for name in ("boxes", "classes", "weights", "keypoints")}
    fields |= {"areas": tf.ones((2, 3))} if "areas" in LabeledTruth._fields else {}
    flags = {name: tf.zeros((2, 3), tf.bool) for name in ("is_crowd", "group_of", "difficult")}
    labeled = LabeledTruth(**{name: (fields | flags).get(name) for name in LabeledTruth._fields})

    def losses(images: tf.Tensor) -> dict[str, float]:
        given = {
            "images": images,
            "sizes": SIZES,
            "truth": labeled,
            "is_real": tf.constant([True, False]),
        }
        batch = EvaluationBatch(**{name: given.get(name) for name in EvaluationBatch._fields})
        return {name: float(value) for name, value in step(batch).losses.items()}

    first = tf.random.uniform((1, 64, 64, 3), maxval=255.0, seed=1)
    others = [tf.zeros((1, 64, 64, 3)), tf.fill((1, 64, 64, 3), 255.0)]
    found = [losses(tf.concat([first, other], axis=0)) for other in others]
    assert found[0] == pytest.approx(found[1], rel=1e-4)


def maps(classes: int = 2, cells: tuple[int, int] = (8, 8)) -> dict[str, np.ndarray]:
    """Make maps on which two objects stand: of class 1 at cell (2, 3), of class 0 at (5, 6)."""
    centers = np.full((1, *cells, classes), -20.0, np.float32)
    centers[0, 2, 3, -1], centers[0, 5, 6, 0] = 3.0, 2.0
    scale = np.full((1, *cells, 2), 4.0, np.float32)
    offset = np.full((1, *cells, 2), 0.5, np.float32)
    return {"object_center": centers, "box_scale": scale, "box_offset": offset}


def predictions_of(
    values: dict[str, np.ndarray], *tasks: KeypointMaps, masks: np.ndarray | None = None
) -> CenterNetPredictions:
    height, width = values["object_center"].shape[1:3]
    return CenterNetPredictions(
        **{name: (tf.constant(each),) for name, each in values.items()},
        keypoints=tasks,
        segmentation_heatmap=() if masks is None else (tf.constant(masks),),
        extracted_features=(),
        preprocessed_inputs=tf.zeros((1, 4 * height, 4 * width, 3)),
    )


def tasks_of(config: TrainEvalPipelineConfig) -> Tasks:
    return build_tasks(config.model.center_net, FOLDER)


def sigmoid(value: float) -> float:
    return 1 / (1 + np.exp(-value))


def test_boxes_are_relative_to_the_true_image():
    tasks = tasks_of(center_net(num_classes=2))
    found = peak_detections(tasks, predictions_of(maps()), tf.constant([[32, 24, 3]]), None)
    assert found.count.numpy().tolist() == [7]  # far peaks of 2e-9 are peaks
    assert found.classes.numpy()[0, :2].tolist() == [1, 0]
    np.testing.assert_allclose(found.scores[0, :2], [sigmoid(3.0), sigmoid(2.0)], rtol=1e-5)
    # Cell (2, 3) with its offset is (10, 14) in pixels, and the box 16 pixels high and wide.
    np.testing.assert_allclose(found.boxes[0, 0], [2 / 32, 6 / 24, 18 / 32, 22 / 24], rtol=1e-5)


def pose_maps(num: int, cells: tuple[int, int] = (8, 8)) -> KeypointMaps:
    """Put keypoint k of the object at (2, 3) near cell (2 + k, 3), and see it a cell too far."""
    heat = np.full((1, *cells, num), -20.0, np.float32)
    regression = np.zeros((1, *cells, num, 2), np.float32)
    for keypoint in range(num):
        heat[0, 2 + keypoint, 3, keypoint] = 1.0 + keypoint
        regression[0, :, :, keypoint] = keypoint + 1.0, 0.0
    return KeypointMaps(
        (tf.constant(heat),),
        (tf.fill((1, *cells, 2), 0.25),),
        (tf.constant(regression.reshape(1, *cells, 2 * num)),),
    )


def test_keypoints_are_placed_on_peaks_and_only_for_their_class():
    config = center_net(BOXES + keypoints(more="box_scale: 2.0 candidate_search_scale: 2.0"))
    tasks = tasks_of(config)
    values = maps(classes=3)
    values["object_center"][0, 2, 3] = [3.0, -20.0, -20.0]  # a person
    values["object_center"][0, 5, 6] = [-20.0, 2.0, -20.0]  # a dog
    found = peak_detections(
        tasks, predictions_of(values, pose_maps(3)), tf.constant([[32, 32, 3]]), None
    )
    expected = [[(2.25 + keypoint) * 4 / 32, 3.25 * 4 / 32] for keypoint in range(3)]
    np.testing.assert_allclose(found.keypoints[0, 0], expected, rtol=1e-5)
    np.testing.assert_allclose(
        found.keypoint_scores[0, 0], [sigmoid(1.0), sigmoid(2.0), sigmoid(3.0)], rtol=1e-5
    )
    assert not np.asarray(found.keypoints[0, 1]).any()


def test_scores_can_follow_the_keypoints():
    more = "box_scale: 2.0 candidate_search_scale: 2.0 rescore_instances: true "
    config = center_net(BOXES + keypoints(more=f"{more} rescoring_threshold: 0.8"))
    tasks = tasks_of(config)
    values = maps(classes=3)
    values["object_center"][0, 2, 3] = [3.0, -20.0, -20.0]
    found = peak_detections(
        tasks, predictions_of(values, pose_maps(3)), tf.constant([[32, 32, 3]]), None
    )
    mean = (sigmoid(2.0) + sigmoid(3.0)) / 2  # the first one's 0.73 is below the threshold
    assert float(found.scores[0, 0]) == pytest.approx(sigmoid(3.0) * mean, rel=1e-4)


def test_keypoints_beyond_the_image_can_be_clipped():
    more = "clip_out_of_frame_keypoints: true keypoint_candidate_score_threshold: 1.0"
    tasks = tasks_of(center_net(BOXES + keypoints(more=more)))
    values = maps(classes=3)
    values["object_center"][0, 2, 3] = [3.0, -20.0, -20.0]
    pose = pose_maps(3)
    regression = np.array(pose.regression[0])
    regression[..., 4] = 90.0  # y of the last keypoint
    given = predictions_of(values, pose._replace(regression=(tf.constant(regression),)))
    found = peak_detections(tasks, given, tf.constant([[32, 32, 3]]), None)
    assert float(found.keypoints[0, 0, 2, 0]) == 1.0
    np.testing.assert_allclose(found.keypoint_scores[0, 0], [0.1, 0.1, 0.0], rtol=1e-5)


def test_without_boxes_they_are_drawn_around_the_keypoints():
    tasks = tasks_of(center_net(keypoints()))
    values = maps(classes=3)
    values["object_center"][0, 2, 3] = [3.0, -20.0, -20.0]
    given = predictions_of(values, pose_maps(3))._replace(box_scale=(), box_offset=())
    found = peak_detections(tasks, given, tf.constant([[32, 32, 3]]), None)
    expected = [2.25 / 8, 3.25 / 8, 4.25 / 8, 3.25 / 8]
    np.testing.assert_allclose(found.boxes[0, 0], expected, rtol=1e-5)


def test_the_highest_cell_in_the_box_can_be_taken():
    more = (
        "argmax_postprocessing: true per_keypoint_offset: true "
        'candidate_ranking_mode: "gaussian_weighted_const" gaussian_denom_ratio: 1.0'
    )
    config = center_net(BOXES + keypoints(more=more), num_classes=1)
    tasks = tasks_of(config)
    values = {name: each[..., -2:] for name, each in maps().items()}
    values["object_center"] = values["object_center"][..., -1:]
    values["box_scale"] = np.full((1, 8, 8, 2), 9.0, np.float32)
    pose = pose_maps(3)._replace(offset=(tf.fill((1, 8, 8, 6), 0.25),))
    found = peak_detections(tasks, predictions_of(values, pose), tf.constant([[32, 32, 3]]), None)
    expected = [[(2.25 + keypoint) / 8, 3.25 / 8] for keypoint in range(3)]
    np.testing.assert_allclose(found.keypoints[0, 0], expected, rtol=1e-5)
    # One cell from where each was regressed: weighed by exp(-1 / (8 * 1)).
    scores = [sigmoid(1.0 + keypoint) * np.exp(-1 / 8) for keypoint in range(3)]
    np.testing.assert_allclose(found.keypoint_scores[0, 0], scores, rtol=1e-4)


def test_masks_are_cut_from_the_map_of_the_class():
    tasks = tasks_of(center_net(BOXES + MASKS, num_classes=2))
    values = maps()
    segmentation = np.full((1, 8, 8, 2), -5.0, np.float32)
    segmentation[0, :, :4, 1] = 5.0
    given = predictions_of(values, masks=segmentation)
    found = peak_detections(tasks, given, tf.constant([[32, 32, 3]]), None)
    assert found.masks.shape == (1, 7, 5, 6)
    first = np.asarray(found.masks[0, 0])  # columns 1.5 to 5.5 of the map's 8
    assert first[:, :3].all()
    assert not first[:, 4:].any()
    assert not np.asarray(found.masks[0, 1]).any()


def test_suppression_keeps_keypoints_with_their_boxes():
    config = center_net(BOXES + keypoints(more="box_scale: 2.0 candidate_search_scale: 2.0"))
    tasks = tasks_of(config)
    values = maps(classes=3)
    values["object_center"][0, 2, 3] = [3.0, -20.0, -20.0]
    values["object_center"][0, 2, 5] = [2.5, -20.0, -20.0]  # the same box, two cells beside
    values["box_scale"][:] = 8.0
    given, sizes = predictions_of(values, pose_maps(3)), tf.constant([[32, 32, 3]])
    plain = peak_detections(tasks, given, sizes, None)
    suppression = Suppression(
        score_threshold=0.1, iou_threshold=0.5, max_detections_per_class=3, max_total_detections=3
    )
    found = peak_detections(tasks, given, sizes, suppression)
    assert found.boxes.shape == (1, 3, 4)
    assert found.count.numpy().tolist() == [2]
    np.testing.assert_allclose(found.keypoints[0, 0], plain.keypoints[0, 0])
    assert found.classes.numpy()[0].tolist() == [0, 0, 0]


@pytest.mark.slow
def test_mixed_precision_predicts_in_float32():
    detector = build_detector(center_net(ALL_TASKS), precision="mixed_float16")
    predictions = detector(tf.zeros((1, 64, 64, 3)))
    assert predictions.object_center[0].dtype == tf.float32
    assert predictions.extracted_features[0].dtype == tf.float16


EXTRACTORS = {
    "resnet_v1_18_fpn": "_feature_extractor/_base_model/layer_with_weights-",
    "mobilenet_v2": "_feature_extractor/_network/layer_with_weights-0/layer_with_weights-",
    "mobilenet_v2_fpn": "_feature_extractor/_base_model/layer_with_weights-",
    "hourglass_10": "_feature_extractor/_network/downsample_input/conv_block/conv/kernel",
}


@pytest.mark.parametrize("name", EXTRACTORS)
def test_every_variable_of_every_kind_of_network_has_a_name_of_its_own(name):
    detector = build_detector(center_net(extractor=f'type: "{name}"'))
    sought = names_of(detector, "tf2", "full", ())
    names = [each.names[0] for each in sought]
    assert len(set(names)) == len(names) == len(detector.weights)
    assert names[0].startswith(f"model/{EXTRACTORS[name]}")
    inner = {each.names[0] for each in names_of(detector, "tf2", "detection", ())}
    assert {name for name in names if "_feature_extractor/" in name} == inner


def test_an_hourglass_has_no_classifier_to_start_from():
    detector = build_detector(center_net(extractor='type: "hourglass_10"'))
    with pytest.raises(HoldfastError, match="no classifier"):
        names_of(detector, "tf2", "classification", ())
