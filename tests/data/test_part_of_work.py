from __future__ import annotations

import pytest

from holdfast.data.part_of_work import PartOfWork, read_part
from holdfast.errors import HoldfastError


def test_every_item_is_in_one_part():
    items = list(range(11))
    parts = [PartOfWork(number, 4).of(items) for number in range(1, 5)]
    assert sorted(item for part in parts for item in part) == items


def test_more_parts_than_items_leave_some_with_nothing():
    assert [list(PartOfWork(number, 3).of("ab")) for number in (1, 2, 3)] == [["a"], ["b"], []]


def test_a_part_is_read_as_it_is_written():
    assert str(read_part(" 3 / 16")) == "3/16"


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "a/b", "1/0", "-1/4", "1/2/3"])
def test_what_is_no_part_is_refused_with_an_example(text):
    with pytest.raises(HoldfastError, match="is not a part") as refused:
        read_part(text)
    assert "3/16" in refused.value.fix
