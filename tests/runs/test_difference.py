import pytest

from holdfast.runs.difference import differences


def test_equal_configs_have_no_differences():
    config = {"a": {"b": [1, {"c": {}}]}}
    assert differences(config, config) == ()


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b: 1 -> 2"]),
        ({"a": {}}, {}, ["a: {} -> not set"]),
        ({}, {"a": {"b": "x"}}, ['a.b: not set -> "x"']),
        (
            {"a": [{"b": 1}]},
            {"a": [{"b": 2}, {"b": 3}]},
            ["a[0].b: 1 -> 2", "a[1].b: not set -> 3"],
        ),
        (
            {"a": [1, 2]},
            {"a": []},
            ["a[0]: 1 -> not set", "a[1]: 2 -> not set", "a: not set -> []"],
        ),
        ({"a": True}, {"a": False}, ["a: true -> false"]),
    ],
)
def test_each_field_that_differs_is_a_line(before, after, lines):
    assert list(differences(before, after)) == lines


def test_equal_numbers_of_different_types_do_not_differ():
    assert differences({"a": 8}, {"a": 8.0}) == ()


def test_lists_and_tuples_do_not_differ():
    assert differences({"a": [1]}, {"a": (1,)}) == ()
