import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.runs.json_text import from_text, to_text

SPELLINGS = {"NaN", "Infinity", "-Infinity"}
TEXTS = st.text().filter(lambda text: text not in SPELLINGS)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_any_value_reads_as_it_was_written(value):
    assert repr(from_text(to_text(value).encode())) == repr(value)


@given(VALUES)
def test_the_text_is_one_line_of_strict_json(value):
    text = to_text(value)
    assert text.isascii()
    assert len(text.splitlines()) == 1

    def refuse(name):
        raise AssertionError(name)

    json.loads(text, parse_constant=refuse)


def test_an_indented_text_says_the_same():
    assert math.isnan(from_text(to_text({"a": math.nan}, indent=1).encode())["a"])


@pytest.mark.parametrize("text", [b"", b"{", b"\xff", b"\x00\x00", b"[" * 100_000, b"1" * 5000])
def test_what_is_not_json_is_a_value_error(text):
    with pytest.raises(ValueError):  # noqa: PT011  its kinds differ
        from_text(text)


def test_values_that_json_lacks_are_a_type_error():
    with pytest.raises(TypeError):
        to_text({"a": {1, 2}})
