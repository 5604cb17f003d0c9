from __future__ import annotations

import pytest

from holdfast.data.splitting.appearance import appearance_of
from holdfast.data.splitting.belonging import find_bonds

from .pictures import COPIES, frame, jpeg, photograph


def groups(names, images=None):
    """Give the groups of more than one image, each as the set of its names."""
    looks = [
        None if image is None else appearance_of(image) for image in images or [None] * len(names)
    ]
    bonds = find_bonds(names, looks)
    found = {}
    for name, label in zip(names, bonds.groups.tolist(), strict=True):
        found.setdefault(label, set()).add(name)
    return [group for group in found.values() if len(group) > 1]


def roboflow(name, number):
    return f"train/{name}.rf.{number:032x}.jpg"


def test_copies_that_roboflow_made_belong_together():
    names = [roboflow(name, index) for index, name in enumerate(["a_jpg", "b_png", "a_jpg", "a_b"])]
    assert groups(names) == [{names[0], names[2]}]


def test_a_name_that_hundreds_share_is_not_that_of_one_image():
    names = [roboflow("download_jpg", index) for index in range(200)]
    assert groups(names) == []


@pytest.mark.parametrize(
    "copies",
    [
        ["cat.jpg", "cat_aug_1.jpg", "cat_aug2.png"],
        ["x/cat.jpg", "augmented/cat_hflip.jpg", "augmented/cat-rotated-90.jpg"],
        ["cat.jpg", "cat_flip_blur.jpg", "cat_blur.jpg"],
        ["cat_augmented_1.jpg", "cat_augmented_2.jpg"],
        ["cat.jpg", "in_original_cat.jpg_0c1d2e3f-aaaa-bbbb-cccc-0123456789ab.jpg"],
    ],
)
def test_names_that_augmentations_give_belong_to_their_original(copies):
    assert groups([*copies, "dog.jpg", "dog2.jpg"]) == [set(copies)]


@pytest.mark.parametrize(
    "names",
    [
        ["room_dark_1.jpg", "room_dark_2.jpg", "room_bright_1.jpg"],
        ["a/1.jpg", "b/1.jpg", "b/2.jpg"],
        ["raccoon-1.jpg", "raccoon-2.jpg", "raccoon-12.jpg"],
        ["IMG_1234.jpg", "IMG_1235.jpg", "IMG_1234 (1).jpg"],
        ["photo (1).jpg", "photo (2).jpg", "photo (3).jpg"],
    ],
)
def test_other_names_say_nothing(names):
    assert groups(names) == []


def test_numbered_photographs_are_not_a_video():
    names = [f"BloodImage_{number:05d}.jpg" for number in range(40)]
    assert groups(names, [jpeg(photograph(number)) for number in range(40)]) == []


def test_frames_of_a_video_belong_together_though_the_first_and_last_differ():
    names = [f"clips/street_{number:04d}.jpg" for number in range(50)]
    images = [jpeg(frame(3, number)) for number in range(50)]
    bonds = find_bonds(names, [appearance_of(image) for image in images])
    assert len(set(bonds.groups.tolist())) == 1
    others = ["clips/z_1.jpg", "clips/z_2.jpg"]
    mixed = groups([*names, *others], [*images, jpeg(photograph(90)), jpeg(photograph(91))])
    assert mixed == [set(names)]


def test_two_videos_are_two_groups():
    names = [f"{clip}_{number}.jpg" for clip in "ab" for number in range(12)]
    images = [jpeg(frame(5 + (clip == "b"), number)) for clip in "ab" for number in range(12)]
    assert groups(names, images) == [set(names[:12]), set(names[12:])]


def test_a_cut_in_a_video_parts_it():
    images = [jpeg(frame(7 + number // 10, number)) for number in range(20)]
    names = [f"movie_{number:06d}.png" for number in range(20)]
    assert groups(names, images) == [set(names[:10]), set(names[10:])]


def test_near_duplicates_belong_together_whatever_their_names():
    names, images = [], []
    for seed in range(5):
        for change, make in COPIES.items():
            names.append(f"{seed} {change}.jpg")
            images.append(make(photograph(seed)))
    found = groups(names, images)
    assert len(found) == 5
    assert all(len({name[0] for name in group}) == 1 for group in found)
    assert all(len(group) == len(COPIES) for group in found)


def test_an_example_of_every_reason_is_given():
    names = ["a.jpg", "a_aug1.jpg", "b.jpg", "c.jpg"]
    image = appearance_of(jpeg(photograph(0)))
    bonds = find_bonds(names, [None, None, image, image])
    assert bonds.reasons == {"augmented copies": (0, 1), "near-duplicates": (2, 3)}


def test_nothing_is_nothing():
    assert find_bonds([], []).groups.tolist() == []
