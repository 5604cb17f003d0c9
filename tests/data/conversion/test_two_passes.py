from __future__ import annotations

from holdfast.data.conversion.two_passes import TwoPasses


def test_two_passes_are_half_of_the_work_each():
    told = []
    passes = TwoPasses(lambda done, total: told.append((done, total)))
    passes.comparing(5, 10)
    passes.comparing(10, 10)
    passes.writing(5, 10)
    passes.writing(10, 10)
    assert told == [(2, 10), (5, 10), (7, 10), (10, 10)]


def test_one_pass_is_all_of_the_work():
    told = []
    TwoPasses(lambda done, total: told.append(done)).writing(3, 10)
    assert told == [3]
