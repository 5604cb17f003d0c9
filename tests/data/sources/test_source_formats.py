from __future__ import annotations

import subprocess
import sys

import pytest

from holdfast.data.sources import source_formats as formats
from holdfast.data.sources.classes import build_classes
from holdfast.data.sources.open_source import open_source
from holdfast.data.sources.source import Source
from holdfast.data.sources.source_formats import ending, format_names, load_formats, source_format
from holdfast.errors import HoldfastError


def test_the_names_are_known_without_loading_tensorflow():
    program = (
        "import sys; from holdfast.data.sources.source_formats import format_names\n"
        "print(*format_names(), *{'tensorflow', 'numpy'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert tuple(run.stdout.split()) == format_names()


def test_each_module_registers_the_format_it_is_listed_for():
    assert [one.name for one in load_formats()] == list(format_names())
    assert len({one.title for one in load_formats()}) == len(format_names())


@pytest.mark.parametrize("name", format_names())
def test_an_empty_folder_is_refused_in_words(tmp_path, name):
    """Whatever the format: no traceback, and no source without images."""
    with pytest.raises(HoldfastError):
        open_source(str(tmp_path), format_name=name)


@pytest.mark.parametrize("name", format_names())
@pytest.mark.parametrize(
    "content",
    [b"", b"\0\1\2\xff", b"{", b"<", b"[]", b"{}", b"\xff\xfe", b"a,b\n", "é;ü\n".encode()],
)
def test_no_format_stumbles_over_a_file_that_is_none(tmp_path, name, content):
    for one in ("a.json", "a.xml", "a.txt", "a.csv", "a.yaml", "a.jpg"):
        (tmp_path / one).write_bytes(content)
    form = next(one for one in load_formats() if one.name == name)
    paths = sorted(path.name for path in tmp_path.iterdir())
    assert not any(form.is_one(str(tmp_path / path)) for path in form.candidates(paths))


def test_a_format_of_ones_own_is_one_decorated_function(tmp_path, monkeypatch):
    registry = type(formats.FORMATS)("format")
    for row in load_formats():
        registry.register(row.name)(row)
    monkeypatch.setattr(formats, "FORMATS", registry)

    @source_format(
        "mine",
        title="Mine",
        candidates=ending(".mine"),
        is_one=lambda path: True,
    )
    def open_mine(location, options):
        label_map = build_classes({1: "cat"}).label_map
        return Source(format="mine", location=location, label_map=label_map, entries=())

    (tmp_path / "1.mine").write_text("")
    assert format_names()[-1] == "mine"
    assert open_source(str(tmp_path)).format == "mine"
