from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.data.sources.json_keys import ITEM, key_paths

VALUES = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab[]{}:,"), inner),
    max_leaves=12,
)


def walk(value, way=()):
    """Find all ways by parsing the whole file."""
    if isinstance(value, list):
        yield (*way, ITEM)
        for one in value:
            yield from walk(one, (*way, ITEM))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield (*way, key)
            yield from walk(one, (*way, key))


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("json") / "x.json"


@given(VALUES)
def test_all_keys_are_found_without_parsing(path, value):
    path.unlink(missing_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    assert key_paths(str(path)) == {way for way in walk(value) if len(way) <= 6}


def test_of_a_large_file_the_first_keys_are_found(tmp_path):
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"images": [{"id": 1}], "data": "x" * 100_000, "late": 1}))
    assert key_paths(str(path)) == {
        *(("images",), ("images", ITEM), ("images", ITEM, "id"), ("data",))
    }


@pytest.mark.parametrize("content", [b"", b"]}]]:", b"\xff\xfe\x00", b"hello", b'{"a'])
def test_what_is_not_json_has_no_keys(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    assert key_paths(str(tmp_path / "x.json")) == frozenset()
