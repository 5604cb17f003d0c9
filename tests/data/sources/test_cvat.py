from __future__ import annotations

import re
from xml.dom import minidom

import numpy as np
import pytest

from holdfast.data.sources.cvat import open_cvat
from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.source_formats import OpenOptions
from holdfast.errors import HoldfastError

from .reading import assert_same, hull_of_ellipse, hull_of_turned_box, problems, read_boxes

# An image task, as CVAT 2 exports it: every shape that it draws, an image in a folder, one without
# objects, a name with blanks and letters that are not ASCII.
IMAGES = """\
<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      <id>7</id>
      <name>Straße</name>
      <size>4</size>
      <mode>annotation</mode>
      <overlap>0</overlap>
      <subset></subset>
      <start_frame>0</start_frame>
      <stop_frame>3</stop_frame>
      <labels>
        <label><name>Fußgänger </name><color>#33ddff</color><type>any</type><attributes>
          <attribute><name>age</name><input_type>select</input_type><values>old</values></attribute>
        </attributes></label>
        <label><name>car</name><type>rectangle</type><attributes></attributes></label>
        <label><name>night</name><type>tag</type><attributes></attributes></label>
        <label><name>pose</name><type>skeleton</type><attributes></attributes></label>
        <label><name>nose</name><type>points</type><attributes></attributes><parent>pose</parent>
        </label>
      </labels>
      <segments><segment><id>1</id><start>0</start><stop>3</stop></segment></segments>
    </task>
    <dumped>2023-04-05 10:11:12.131415+00:00</dumped>
  </meta>
  <image id="0" name="street/a b.jpg" width="80" height="60">
    <tag label="night" source="manual"></tag>
    <box label="car" source="manual" occluded="0" xtl="4.50" ytl="5.25" xbr="30.00" ybr="20.75"
         z_order="0"></box>
    <box label="Fußgänger " source="manual" occluded="1" xtl="30.00" ytl="20.00" xbr="50.00"
         ybr="30.00" rotation="30.00" z_order="0"><attribute name="age">old</attribute></box>
    <polygon label="car" source="manual" occluded="0" points="40.5,10;70,12.5;60,40;45,35"
         z_order="1"></polygon>
    <polyline label="Fußgänger " source="manual" occluded="0" points="1,2;9,8;5,20" z_order="0">
    </polyline>
    <points label="car" source="manual" occluded="0" points="7,9" z_order="0"></points>
    <ellipse label="car" source="manual" occluded="0" cx="40" cy="30" rx="12" ry="6"
         rotation="40.0" z_order="0"></ellipse>
    <mask label="car" source="semi-auto" occluded="0" rle="1, 2, 1, 4, 2, 2" left="10" top="20"
         width="4" height="3" z_order="0"></mask>
    <cuboid label="car" source="manual" occluded="0" xtl1="10" ytl1="12" xbl1="10" ybl1="40"
         xtr1="30" ytr1="11" xbr1="30" ybr1="42" xtl2="15" ytl2="8" xbl2="15" ybl2="38" xtr2="36"
         ytr2="9" xbr2="36" ybr2="37" z_order="0"></cuboid>
    <skeleton label="pose" source="manual" z_order="0">
      <points label="nose" source="manual" occluded="0" outside="0" points="20.0,30.0"></points>
      <points label="hand" source="manual" occluded="0" outside="0" points="28.5,22.0"></points>
      <points label="foot" source="manual" occluded="0" outside="1" points="0.0,0.0"></points>
    </skeleton>
  </image>
  <image id="1" name="empty.jpg" width="80" height="60">
  </image>
  <image id="2" name="gone.jpg" width="80" height="60">
    <box label="car" occluded="0" xtl="1" ytl="1" xbr="9" ybr="9"></box>
  </image>
  <image id="3" name="frame_000017" width="40" height="30">
    <box label="car" occluded="0" xtl="3" ytl="4" xbr="3" ybr="9"></box>
  </image>
</annotations>
"""

# A video task: tracks with every frame, an object that leaves, a frame without any object.
VIDEO = """\
<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta>
    <task>
      <id>3</id><name>clip</name><size>4</size><mode>interpolation</mode><subset>Validation</subset>
      <start_frame>0</start_frame><stop_frame>3</stop_frame><frame_filter></frame_filter>
      <labels>
        <label><name>dog</name><attributes></attributes></label>
        <label><name>cat</name><attributes></attributes></label>
      </labels>
    </task>
    <dumped>2022-02-03 10:11:12.131415+00:00</dumped>
    <original_size><width>64</width><height>48</height></original_size>
    <source>clip.mp4</source>
  </meta>
  <track id="0" label="cat" source="manual">
    <box frame="0" keyframe="1" outside="0" occluded="0" xtl="1.0" ytl="2.0" xbr="11.0" ybr="12.0">
      <attribute name="mood">bad</attribute></box>
    <box frame="1" keyframe="0" outside="0" occluded="0" xtl="2.0" ytl="3.0" xbr="12.0" ybr="13.0"/>
    <box frame="2" keyframe="1" outside="1" occluded="0" xtl="3.0" ytl="4.0" xbr="13.0" ybr="14.0"/>
  </track>
  <track id="1" label="dog" source="manual">
    <polygon frame="1" keyframe="1" outside="0" occluded="0" points="20,20;40,22;30,40"/>
    <polygon frame="2" keyframe="1" outside="1" occluded="0" points="20,20;40,22;30,40"/>
  </track>
</annotations>
"""

# A project, written by an older CVAT: subsets as attributes, boxes without rotation or source.
PROJECT = """\
\ufeff<?xml version="1.0" encoding="utf-8"?>
<!-- exported <annotation> -->
<annotations>
  <version>1.1</version>
  <meta>
    <project>
      <id>1</id><name>fruit</name>
      <labels><label><name>pear</name></label><label><name> apple</name></label></labels>
      <subsets>Train\nTest</subsets>
      <tasks>
        <task><id>4</id><name>one</name><size>1</size><subset>Train</subset></task>
        <task><id>5</id><name>two</name><size>2</size><subset>Test</subset></task>
      </tasks>
    </project>
  </meta>
  <image id="0" name="x.png" subset="Train" task_id="4" width="50" height="40">
    <box label=" apple" occluded="0" xtl="1e1" ytl="5" xbr="20" ybr=" 15 "></box>
  </image>
  <image id="1" name="y.png" subset="Test" task_id="5" width="50" height="40">
    <box label="pear" occluded="0" xtl="20" ytl="5" xbr="30" ybr="15"></box>
    <box label="grape" occluded="0" xtl="-3" ytl="5" xbr="70" ybr="15"></box>
  </image>
  <image id="2" name="y2.png" task_id="5" width="99" height="99"></image>
</annotations>
"""


def parse(text):
    """Read all shapes by the DOM: image -> class, left, top, right, bottom."""
    document = minidom.parseString(text.lstrip("\ufeff"))
    found = {}
    for image in document.getElementsByTagName("image"):
        shapes = [node for node in image.childNodes if node.nodeType == node.ELEMENT_NODE]
        boxes = [_outer(node) for node in shapes if node.tagName != "tag"]
        found[image.getAttribute("name").split("/")[-1]] = boxes
    for track in document.getElementsByTagName("track"):
        for node in track.childNodes:
            if node.nodeType == node.ELEMENT_NODE and node.getAttribute("outside") == "0":
                name = f"frame_{int(node.getAttribute('frame')):06d}.png"
                label = track.getAttribute("label")
                found.setdefault(name, []).append((label, *_outer(node)[1:]))
    return found


def _outer(node):
    values = {name: node.getAttribute(name) for name in node.attributes.keys()}  # noqa: SIM118
    label = values.get("label", "").strip()
    turn = float(values.get("rotation", 0))
    if node.tagName == "box":
        box = tuple(float(values[name]) for name in ("xtl", "ytl", "xbr", "ybr"))
        pivot = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
        return label, *(hull_of_turned_box(box, turn, pivot) if turn else box)
    if node.tagName == "ellipse":
        center, radii = (float(values["cx"]), float(values["cy"])), (12.0, 6.0)
        return label, *hull_of_ellipse(center, radii, turn)
    if node.tagName == "mask":  # drawn by hand: .##. / #### / ..## at 10, 20
        return label, 10, 20, 14, 23
    if node.tagName == "cuboid":
        return label, 10, 8, 36, 42
    if node.tagName == "skeleton":
        return label, 20, 22, 28.5, 30
    numbers = [float(number) for number in re.findall(r"[-\d.]+", values["points"])]
    return label, min(numbers[::2]), min(numbers[1::2]), max(numbers[::2]), max(numbers[1::2])


@pytest.fixture
def images(tmp_path, make_image):
    (tmp_path / "annotations.xml").write_text(IMAGES, encoding="utf-8")
    make_image(tmp_path / "images/street/a b.jpg", 80, 60)
    make_image(tmp_path / "images/empty.jpg", 80, 60)
    make_image(tmp_path / "images/frame_000017.PNG", 40, 30)
    return tmp_path


@pytest.fixture
def video(tmp_path, make_image):
    (tmp_path / "annotations.xml").write_text(VIDEO)
    for number in range(4):
        make_image(tmp_path / f"images/frame_{number:06d}.png", 64, 48)
    return tmp_path


def names(source):
    return [item.name for item in source.label_map.item]


def test_an_image_task_is_read_as_another_parser_reads_it(images):
    source = open_source(str(images))
    expected = parse(IMAGES)
    del expected["gone.jpg"]
    expected["frame_000017.PNG"] = expected.pop("frame_000017")
    assert_same(read_boxes(source), expected)
    assert source.format == "cvat"
    assert names(source) == ["Fußgänger", "car", "pose"]


def test_images_without_objects_are_kept_and_missing_ones_are_told(images):
    source = open_cvat(str(images))
    assert read_boxes(source)["empty.jpg"] == []
    places = problems(source)
    assert list(places) == ["annotations.xml, image 2 (gone.jpg)"]
    assert "'gone.jpg' was not found" in places["annotations.xml, image 2 (gone.jpg)"]


def test_notes_say_what_is_not_taken_as_drawn(images):
    notes = open_cvat(str(images)).notes
    assert "Rotated boxes: 1. The upright box around each is used." in notes
    assert "Tags of whole images: 1, left out." in notes


def test_outlines_become_masks_and_boxes_beside_them_too(images):
    (entry,) = (one for one in open_cvat(str(images)).entries if one.source_id == "a b.jpg")
    sample = entry.read().sample
    mask = sample.masks[6]
    assert mask[20:23, 10:14].tolist() == [[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 1, 1]]
    assert mask.sum() == sample.areas[6] == 8
    assert int(sample.masks[1].sum()) == pytest.approx(200, rel=0.1)  # turned, its area stays
    assert sample.masks[3].sum() == 0  # a line encloses nothing
    without = open_cvat(str(images), OpenOptions(masks=False))
    assert next(iter(without)).masks is None


def test_tracks_are_read_frame_by_frame_as_another_parser_reads_them(video):
    source = open_source(str(video))
    expected = parse(VIDEO)
    assert_same(read_boxes(source), {**expected, "frame_000002.png": [], "frame_000003.png": []})
    assert names(source) == ["dog", "cat"]
    assert {entry.split for entry in source.entries} == {"val"}
    assert {entry.read().remarks for entry in source.entries} == {()}  # the size is the declared


@pytest.mark.parametrize("name", ["{}.jpg", "img_{:03d}.jpg"])
def test_frames_under_other_names_are_paired_by_their_number(tmp_path, make_image, name):
    (tmp_path / "annotations.xml").write_text(VIDEO)
    for number in (0, 1, 2):  # one fewer than the task has
        make_image(tmp_path / "frames" / name.format(number), 64, 48)
    source = open_cvat(str(tmp_path))
    found = read_boxes(source)
    assert [len(found[name.format(number)]) for number in (0, 1, 2)] == [1, 2, 0]
    assert any("by the number in their names" in note for note in source.notes)


def test_as_many_images_as_frames_are_paired_in_their_order(tmp_path, make_image):
    (tmp_path / "annotations.xml").write_text(VIDEO)
    for number in (8, 9, 10, 11):  # ffmpeg counts from 1, cameras from anywhere
        make_image(tmp_path / f"clip-{number}.jpg", 64, 48)
    source = open_cvat(str(tmp_path))
    found = read_boxes(source)
    assert [len(found[f"clip-{number}.jpg"]) for number in (8, 9, 10, 11)] == [1, 2, 0, 0]
    assert any("in their order: clip-8.jpg is frame 0" in note for note in source.notes)


def test_frames_are_counted_from_the_start_of_the_video_and_by_its_step(tmp_path, make_image):
    text = VIDEO.replace("<frame_filter></frame_filter>", "<frame_filter>step=5</frame_filter>")
    text = text.replace("<start_frame>0", "<start_frame>10").replace(
        "<stop_frame>3", "<stop_frame>0"
    )
    for old, new in (("0", "10"), ("1", "15"), ("2", "20")):
        text = text.replace(f'frame="{old}" keyframe', f'frame="{new}" keyframe')
    (tmp_path / "annotations.xml").write_text(text)
    for number in range(10, 27):
        make_image(tmp_path / f"images/frame_{number:06d}.PNG", 64, 48)
    found = read_boxes(open_cvat(str(tmp_path)))
    assert {name: len(boxes) for name, boxes in found.items()} == {
        "frame_000010.PNG": 1,
        "frame_000015.PNG": 2,
        "frame_000020.PNG": 0,
        "frame_000025.PNG": 0,
    }


def test_a_video_without_its_frames_says_how_to_get_them(tmp_path):
    (tmp_path / "annotations.xml").write_text(VIDEO)
    source = open_cvat(str(tmp_path))
    assert len(problems(source)) == len(source) == 2
    assert any("ffmpeg -i clip.mp4" in note for note in source.notes)


def test_a_project_has_subsets_and_labels_of_its_own(tmp_path, make_image):
    (tmp_path / "annotations.xml").write_text(PROJECT, encoding="utf-8")
    for name in ("x", "y", "y2"):
        make_image(tmp_path / f"images/{name}.png", 50, 40)
    source = open_source(str(tmp_path))
    assert_same(read_boxes(source), parse(PROJECT))
    assert names(source) == ["pear", "apple", "grape"]
    assert [entry.split for entry in source.entries] == ["train", "test", "test"]
    remarks = source.entries[2].read().remarks
    assert "image size in the annotation is not that of the image" in remarks[0]


def test_several_files_are_one_data_set_and_the_same_image_is_told_once(tmp_path, make_image):
    box = '<box label="{}" xtl="{}" ytl="2" xbr="9" ybr="9"/>'
    one = '<annotations><image name="1.jpg" width="20" height="20">{}</image></annotations>'
    (tmp_path / "a.xml").write_text(one.format(box.format("cat", 1)))
    (tmp_path / "b.xml").write_text(one.format(box.format("cat", 1) + box.format("dog", 3)))
    make_image(tmp_path / "1.jpg", 20, 20)
    source = open_cvat(str(tmp_path))
    assert_same(read_boxes(source), {"1.jpg": [("cat", 1, 2, 9, 9), ("dog", 3, 2, 9, 9)]})
    assert any("described more than once: 1, such as 1.jpg" in note for note in source.notes)


def test_a_skeleton_of_a_track_is_there_as_long_as_one_of_its_points(tmp_path, make_image):
    point = '<points label="nose" outside="{}" points="{},4"/>'
    both = [point.format(0, 2) + point.format(1, 9), point.format(1, 2) + point.format(1, 9)]
    skeletons = [
        f'<skeleton frame="{number}" keyframe="1">{points}</skeleton>'
        for number, points in enumerate(both)
    ]
    track = f'<track id="0" label="pose">{"".join(skeletons)}</track>'
    text = f"<annotations><meta><task><size>2</size></task></meta>{track}</annotations>"
    (tmp_path / "a.xml").write_text(text)
    for number in (0, 1):
        make_image(tmp_path / f"frame_{number:06d}.png", 20, 20)
    expected = {"frame_000000.png": [("pose", 2, 4, 2, 4)], "frame_000001.png": []}
    assert_same(read_boxes(open_cvat(str(tmp_path))), expected)


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ('<polygon label="a" points="1,2;3"/>', "not pairs `x,y;x,y`"),
        ('<mask label="a" rle="3, 1" left="0" top="0" width="3" height="3"/>', "does not fill"),
        ('<box xtl="1" ytl="1" xbr="2" ybr="2"/>', "A <box> has no label"),
    ],
)
def test_a_broken_shape_costs_its_image_only(tmp_path, make_image, shape, reason):
    text = f"""<annotations><image id="4" name="1.jpg" width="9" height="9">{shape}</image>
        <image name="2.jpg" width="9" height="9"/></annotations>"""
    (tmp_path / "a.xml").write_text(text)
    make_image(tmp_path / "1.jpg", 9, 9)
    make_image(tmp_path / "2.jpg", 9, 9)
    source = open_cvat(str(tmp_path))
    ((place, message),) = problems(source).items()
    assert place == "a.xml, image 4 (1.jpg)"
    assert reason in message
    assert read_boxes(source) == {"2.jpg": []}


def test_what_is_not_a_number_is_left_to_the_checks(tmp_path, make_image):
    text = """<annotations><image name="1.jpg"><box label="a" xtl="x" ytl="1" xbr="2" ybr="2"/>
        <polygon label="a" points="1,1;nan,2;3,4"/></image></annotations>"""
    (tmp_path / "a.xml").write_text(text)
    make_image(tmp_path / "1.jpg", 9, 9)
    (sample,) = open_cvat(str(tmp_path))
    assert np.isnan(sample.boxes).any(axis=1).all()


def test_files_that_cannot_be_read_are_named_with_the_place(tmp_path):
    (tmp_path / "cut.xml").write_text(IMAGES[:1500], encoding="utf-8")
    with pytest.raises(HoldfastError, match=r"cut\.xml is not valid XML: .*line \d+"):
        open_cvat(str(tmp_path))
    (tmp_path / "cut.xml").write_text("<annotations><image id='1'/></annotations>")
    with pytest.raises(HoldfastError, match=r"cut\.xml: <image> number 1 has no name"):
        open_cvat(str(tmp_path))


def test_a_file_without_images_and_tracks_is_told(tmp_path):
    (tmp_path / "a.xml").write_text("<annotations><meta></meta></annotations>")
    with pytest.raises(HoldfastError, match="no images"):
        open_cvat(str(tmp_path))
