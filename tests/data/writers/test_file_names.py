from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.writers.file_names import file_name, file_stems

NASTY = st.text(alphabet='ab/\\.. :*?"<>|\x00\n\x1fé猫\ud800', max_size=12)


@given(st.lists(NASTY, max_size=8))
def test_names_are_safe_and_no_two_alike_whatever_they_were(filenames):
    stems = file_stems(filenames)
    assert len(stems) == len(filenames)
    assert len({stem.casefold() for stem in stems}) == len(stems)
    for stem in stems:
        assert stem
        assert not set(stem) & set('/\\:*?"<>|\x00\n\x1f')
        assert posixpath.normpath(posixpath.join("out", f"{stem}.jpg")) == f"out/{stem}.jpg"
        assert not stem.startswith((".", " "))
        stem.encode()


@pytest.mark.parametrize(
    ("filenames", "stems"),
    [
        (["1.jpg", "2.png"], ["1", "2"]),
        (["/home/me/1.jpg", "../../etc/passwd"], ["1", "passwd"]),
        (["a/1.jpg", "b/1.jpg"], ["a_1", "b_1"]),
        (["1.jpg", "1.jpg", "1_2.jpg"], ["1", "1_3", "1_2"]),
        (["A.jpg", "a.png"], ["A", "a_2"]),
        (["C:\\photos\\cat.jpg"], ["cat"]),
        (["con.jpg", "NUL"], ["_con", "_NUL"]),
        (["cat.jpg.rf.0a1b.jpg", "v1.2"], ["cat.jpg.rf.0a1b", "v1.2"]),
        (["", "..", "///"], ["image", "image_2", "image_3"]),
        (["x" * 300 + ".jpg"], ["x" * 180]),
    ],
)
def test_a_name_stays_as_it_is_where_it_can(filenames, stems):
    assert file_stems(filenames) == stems


def test_the_ending_is_that_of_the_image():
    assert file_name("a", "a.JPG", "jpeg") == "a.JPG"
    assert file_name("a", "a.png", "jpeg") == "a.jpg"
    assert file_name("a", "a", "png") == "a.png"
