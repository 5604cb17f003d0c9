import dataclasses

import pytest

from holdfast.errors import (
    ConfigError,
    HoldfastError,
    Problem,
    errors_of,
    in_file_order,
    nearest,
    warnings_of,
)

LATE = Problem(message="late", line=9, column=1)
EARLY = Problem(message="early", line=2, column=7)
SAME_LINE = Problem(message="same line", line=2, column=3, severity="warning")
NO_PLACE = Problem(message="no place")


def test_a_problem_reads_as_place_field_message_and_fix():
    problem = Problem(message="it is 0", fix="write 1", path="train_config.batch_size", line=3)
    assert str(problem) == "line 3: train_config.batch_size: it is 0 -> write 1"
    assert str(NO_PLACE) == "no place"


def test_a_problem_is_an_error_unless_said_otherwise_and_cannot_change():
    assert NO_PLACE.severity == "error"
    with pytest.raises(dataclasses.FrozenInstanceError):
        NO_PLACE.line = 1  # type: ignore[misc]


def test_problems_come_in_the_order_of_the_file_those_without_place_first():
    assert in_file_order([LATE, EARLY, SAME_LINE, NO_PLACE]) == (NO_PLACE, SAME_LINE, EARLY, LATE)
    top = Problem(message="top", line=1, column=1)
    assert in_file_order([top, NO_PLACE]) == (NO_PLACE, top)


def test_problems_without_place_keep_their_order():
    first, second = Problem(message="z"), Problem(message="a")
    assert in_file_order([first, second]) == (first, second)


def test_errors_and_warnings_are_told_apart():
    problems = [LATE, SAME_LINE, EARLY]
    assert errors_of(problems) == (EARLY, LATE)
    assert warnings_of(problems) == (SAME_LINE,)


def test_an_error_shows_what_to_do_below_what_is_wrong():
    error = HoldfastError("There is no x.", fix="Write y.")
    assert str(error) == "There is no x.\nWrite y."
    assert str(HoldfastError("There is no x.")) == "There is no x."


def test_a_config_error_lists_every_problem_in_the_order_of_the_file():
    error = ConfigError("pipeline.config", [LATE, EARLY])
    assert isinstance(error, HoldfastError)
    assert error.source == "pipeline.config"
    assert error.problems == (EARLY, LATE)
    assert str(error) == "pipeline.config: 2 problems\n  line 2: early\n  line 9: late"


def test_one_problem_is_not_counted_in_the_plural():
    assert str(ConfigError("a", iter([NO_PLACE]))) == "a: 1 problem\n  no place"


def test_the_nearest_names_come_best_first_and_far_ones_not_at_all():
    names = ["batch_size", "batch_sizes", "num_steps"]
    assert nearest("batch_size", names, 3) == ["batch_size", "batch_sizes"]
    assert nearest("bach_size", names) == ["batch_size"]
    assert nearest("xyz", names) == []


def test_the_nearest_name_of_something_endless_is_not_looked_for():
    assert nearest("a" * 81, ["a" * 80]) == []
    assert nearest("a" * 80, ["a" * 80]) == ["a" * 80]
