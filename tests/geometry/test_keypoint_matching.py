"""Regressed keypoints are moved to candidates by the OD API's rules, by a slow oracle."""

from __future__ import annotations

import numpy as np
import pytest

from holdfast.errors import HoldfastError
from holdfast.geometry.keypoint_matching import RANKINGS, KeypointCandidates, KeypointMatcher

DEVIATIONS = (4.0, 10.0, 20.0)


def problem(seed: int):
    random = np.random.default_rng(seed)
    regressed = random.uniform(0, 20, (2, 4, 3, 2)).astype(np.float32)
    candidates = KeypointCandidates(
        random.uniform(0, 20, (2, 3, 5, 2)).astype(np.float32),
        -np.sort(-random.random((2, 3, 5)).astype(np.float32), axis=-1),
    )
    corner = random.uniform(0, 10, (2, 4, 2))
    boxes = np.concatenate([corner, corner + random.uniform(1, 12, corner.shape)], axis=-1)
    return regressed, candidates, boxes.astype(np.float32)


def deviation_of(height: float, width: float) -> float:
    b = 2 * 0.7 * (height + width)
    radius = (np.sqrt(b * b + 16 * 0.7 * 0.3 * height * width) - b) / 2
    return (2 * np.floor(radius) + 1) / 6


def oracle(matcher: KeypointMatcher, regressed, candidates, box, keypoint: int):
    """Place one keypoint of one object."""
    points, scores = candidates
    distances = np.linalg.norm(points - regressed, axis=-1)
    distances[scores < matcher.candidate_threshold] = 1e5
    height, width = box[2] - box[0], box[3] - box[1]
    side = max(height, width)
    if matcher.ranking == "min_distance":
        ranks = -distances
    elif matcher.ranking == "score_distance_ratio":
        ranks = scores / (distances + matcher.distance_offset)
    elif matcher.ranking == "score_scaled_distance_ratio":
        ranks = scores / (distances + side * matcher.distance_multiplier)
    else:
        deviation = deviation_of(height, width) * DEVIATIONS[keypoint]
        ranks = scores * np.exp(-(distances**2) / (2 * deviation**2))
    best = int(np.argmax(ranks))
    score = ranks[best] if matcher.ranking == "gaussian_weighted" else scores[best]
    y, x = points[best]
    center_y, center_x = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    is_outside = (
        abs(y - center_y) > height / 2 * matcher.box_scale
        or abs(x - center_x) > width / 2 * matcher.box_scale
    )
    is_far = distances.min() > side * matcher.box_scale * matcher.search_scale
    if is_outside or is_far or score < matcher.candidate_threshold:
        return regressed, matcher.unmatched_score
    return points[best], score


@pytest.mark.parametrize("ranking", RANKINGS)
def test_every_ranking_gives_what_the_oracle_gives(ranking):
    matcher = KeypointMatcher(
        ranking=ranking,
        candidate_threshold=0.3,
        unmatched_score=0.05,
        search_scale=0.6,
        deviations=DEVIATIONS,
    )
    moved = 0
    for seed in range(5):
        regressed, candidates, boxes = problem(seed)
        found = matcher.match(regressed, candidates, boxes)
        for image, number, keypoint in np.ndindex(2, 4, 3):
            own = (candidates.points[image, keypoint], candidates.scores[image, keypoint])
            point, score = oracle(
                matcher, regressed[image, number, keypoint], own, boxes[image, number], keypoint
            )
            np.testing.assert_allclose(found.points[image, number, keypoint], point, rtol=1e-4)
            assert float(found.scores[image, number, keypoint]) == pytest.approx(score, rel=1e-3)
            moved += score != 0.05
    assert 5 < moved < 115  # both cases are there


def test_without_boxes_only_the_score_decides():
    regressed, candidates, _ = problem(0)
    matcher = KeypointMatcher(candidate_threshold=0.0)
    found = matcher.match(regressed, candidates, None)
    distances = np.linalg.norm(
        regressed[:, :, :, None] - np.asarray(candidates.points)[:, None], axis=-1
    )
    nearest = np.argmin(distances, axis=-1)
    expected = np.take_along_axis(
        np.broadcast_to(np.asarray(candidates.points)[:, None], (2, 4, 3, 5, 2)),
        nearest[..., None, None],
        axis=3,
    )[..., 0, :]
    np.testing.assert_allclose(found.points, expected, rtol=1e-5)


def test_no_candidate_leaves_keypoints_where_they_were_regressed():
    regressed, candidates, boxes = problem(1)
    matcher = KeypointMatcher(candidate_threshold=2.0, unmatched_score=0.25)
    found = matcher.match(regressed, candidates, boxes)
    np.testing.assert_array_equal(found.points, regressed)
    assert (np.asarray(found.scores) == 0.25).all()


def test_an_unknown_ranking_is_refused():
    with pytest.raises(HoldfastError, match="no candidate_ranking_mode 'nearest'"):
        KeypointMatcher(ranking="nearest")


@pytest.mark.parametrize("ranking", RANKINGS[2:])
def test_a_ranking_by_size_needs_boxes(ranking):
    regressed, candidates, _ = problem(0)
    with pytest.raises(HoldfastError, match="needs boxes"):
        KeypointMatcher(ranking=ranking, deviations=DEVIATIONS).match(regressed, candidates, None)
