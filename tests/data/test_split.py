from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.sources.voc import open_voc
from holdfast.data.split import TRAIN, VAL, named_split, stratified

IMAGES = st.lists(
    st.dictionaries(st.integers(0, 4), st.integers(1, 9), max_size=3), min_size=0, max_size=40
)


def shares(counts, splits):
    total, val = Counter(), Counter()
    for image, split in zip(counts, splits, strict=True):
        total.update(image)
        val.update(image if split == VAL else {})
    return {number: val[number] / total[number] for number in total}


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("train/1.jpg", "train"),
        ("Valid/images/1.jpg", "val"),
        ("images/test2017/1.jpg", "test"),
        ("data/validation_1/x.jpg", "val"),
        ("test_tubes/1.jpg", None),
        ("train.jpg", None),
        ("trainval/1.jpg", None),
    ],
)
def test_a_split_is_read_from_folders(path, split):
    assert named_split(path) == split


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("annotations/person_keypoints_train2017.json", "train"),
        ("val.json", "val"),
        ("trainval.json", None),
        ("train_and_test.json", None),
        ("test/_annotations.coco.json", "test"),
    ],
)
def test_a_split_is_read_from_the_name_of_an_annotation_file(path, split):
    assert named_split(path, by_name=True) == split


def test_bccd_is_split_alike_in_every_class(shared):
    counts = [entry.class_counts for entry in open_voc(str(shared / "datasets/bccd")).entries]
    for val in (0.1, 0.2, 0.4):
        splits = stratified(counts, val, seed=0)
        assert splits.count(VAL) / len(splits) == pytest.approx(val, abs=0.03)
        for share in shares(counts, splits).values():
            assert share == pytest.approx(val, abs=0.02)


def test_a_rare_class_is_in_val_too():
    random = np.random.default_rng(0)
    counts = [{0: int(random.integers(1, 20))} for _ in range(200)]
    for image in counts[:10]:
        image[1] = 1
    assert shares(counts, stratified(counts, 0.2, seed=0))[1] == pytest.approx(0.2)


def test_the_only_image_of_a_class_is_for_training():
    counts = [{0: 3}] * 20 + [{1: 1}]
    assert stratified(counts, 0.2, seed=3)[-1] == TRAIN


def test_images_without_objects_are_split_by_number():
    assert Counter(stratified([{}] * 10, 0.2, seed=0)) == {TRAIN: 8, VAL: 2}


@given(IMAGES, st.floats(0, 0.99), st.integers(0, 3))
def test_every_image_has_one_split_and_the_seed_decides(counts, val, seed):
    splits = stratified(counts, val, seed)
    assert len(splits) == len(counts)
    assert set(splits) <= {TRAIN, VAL}
    assert splits == stratified(counts, val, seed)
    if val == 0:
        assert VAL not in splits


def test_other_seeds_give_other_splits():
    counts = [{0: 1}] * 50
    assert stratified(counts, 0.5, seed=0) != stratified(counts, 0.5, seed=1)
