from __future__ import annotations

from holdfast.data.sources.classes import build_classes, keypoint_names


def test_ids_are_kept_with_their_gaps():
    label_map = build_classes({3: "fig", 1: "date"}).label_map
    assert [(item.id, item.name) for item in label_map.item] == [(1, "date"), (3, "fig")]
    assert keypoint_names(label_map) == ()


def test_classes_of_equal_name_are_told_apart_and_said():
    label_map, notes = build_classes({1: "cell", 4: "cell"})
    assert [item.name for item in label_map.item] == ["cell", "cell (4)"]
    assert len(notes) == 1
    assert "id 4" in notes[0]


def test_a_class_whose_name_is_blank_gets_one_that_every_format_can_write():
    label_map = build_classes({1: "cat", 2: "", 3: " \n"}).label_map
    assert [item.name for item in label_map.item] == ["cat", "class_2", "class_3"]


def test_keypoints_of_equal_name_share_an_id():
    points = {1: ["nose", "tail"], 2: ["nose", "beak"]}
    label_map = build_classes({1: "cat", 2: "bird"}, points).label_map
    assert keypoint_names(label_map) == ("nose", "tail", "beak")
    assert [point.id for point in label_map.item[1].keypoints] == [0, 2]
