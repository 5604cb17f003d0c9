from __future__ import annotations

import pytest

from holdfast.data.sources.plain_text import split_lines
from holdfast.data.sources.table_rows import find_table
from holdfast.errors import HoldfastError


def three_columns(rows):
    return rows if rows and len(rows[0]) == 3 else None


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_that_gives_the_rows_a_meaning(separator):
    text = separator.join(["a", '"b, c; d"', "e"]) + "\n\n" + separator.join(["1", "2", "3"])
    table = find_table(split_lines(text.encode()), three_columns)
    assert table.separator == separator
    assert list(table.rows()) == [(1, ["a", "b, c; d", "e"]), (3, ["1", "2", "3"])]


def test_excels_line_about_the_separator_decides_and_is_not_a_row():
    table = find_table(split_lines(b"sep=;\r\na;b;c\r\n"), three_columns)
    assert list(table.rows()) == [(2, ["a", "b", "c"])]


def test_rows_without_anything_in_them_are_skipped():
    table = find_table(split_lines(b"a,b,c\n,,\n , ,\n1,,\n"), three_columns)
    assert [row.line for row in table.rows()] == [1, 4]


def test_a_quote_that_is_not_closed_ends_with_its_line():
    table = find_table(split_lines(b'a,b,c\n"1,2,3\n4,5,6\n'), three_columns)
    assert [row.cells for row in table.rows()][1:] == [["1,2,3"], ["4", "5", "6"]]


def test_a_name_in_quotes_goes_on_in_the_next_line():
    table = find_table(split_lines(b'a,b,c\r\n1,"two\r\n\r\nlines",3\r\n4,5,6\r\n'), three_columns)
    assert list(table.rows())[1:] == [(2, ["1", "two\n\nlines", "3"]), (5, ["4", "5", "6"])]


def test_a_quote_that_is_closed_by_that_of_another_row_costs_only_its_own_row():
    table = find_table(split_lines(b'a,b,c\n"1,2,3\n4,5,6\n7,"8",9\n'), three_columns)
    assert [row.cells for row in table.rows()][2:] == [["4", "5", "6"], ["7", "8", "9"]]


def test_text_that_means_nothing_is_not_a_table():
    assert find_table(split_lines(b"a b c\n"), three_columns) is None
    assert find_table(split_lines(b""), three_columns) is None


def test_what_is_nearly_a_table_says_what_is_wrong():
    def meaning(rows):
        if len(rows[0]) == 2:
            raise HoldfastError("one column is missing")

    with pytest.raises(HoldfastError, match="one column is missing"):
        find_table(split_lines(b"a;b\n"), meaning)
