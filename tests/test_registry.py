import pytest

from holdfast.errors import HoldfastError
from holdfast.registry import Registry


@pytest.fixture
def shapes() -> Registry[str]:
    registry: Registry[str] = Registry("shape")
    for name in ("square", "circle", "triangle"):
        registry.register(name)(name.upper())
    return registry


def test_a_registered_thing_is_found_under_its_name_and_stays_itself():
    registry: Registry[type] = Registry("shape")

    @registry.register("square")
    class Square:
        pass

    assert registry["square"] is Square
    assert Square.__name__ == "Square"


def test_a_name_is_taken_once(shapes: Registry[str]):
    with pytest.raises(ValueError, match="shape 'square' is registered twice"):
        shapes.register("square")("another")
    assert shapes["square"] == "SQUARE"


def test_an_unknown_name_is_answered_with_the_nearest_ones(shapes: Registry[str]):
    with pytest.raises(HoldfastError) as caught:
        shapes["sqare"]
    assert caught.value.message == "There is no shape 'sqare'."
    assert caught.value.fix == "Did you mean square?"


def test_at_most_three_near_names_are_offered():
    registry: Registry[int] = Registry("level")
    for number in range(5):
        registry.register(f"level_{number}")(number)
    with pytest.raises(HoldfastError) as caught:
        registry["level_"]
    assert caught.value.fix == "Did you mean level_4 or level_3 or level_2?"


def test_an_unknown_name_like_no_other_is_answered_with_all_of_them(shapes: Registry[str]):
    with pytest.raises(HoldfastError) as caught:
        shapes["xyz"]
    assert caught.value.fix == "Known: square, circle, triangle"


def test_names_come_in_the_order_of_registration(shapes: Registry[str]):
    assert list(shapes) == ["square", "circle", "triangle"]
    assert len(shapes) == 3


def test_membership_asks_for_the_name(shapes: Registry[str]):
    assert "circle" in shapes
    assert "CIRCLE" not in shapes
    assert len(Registry("nothing")) == 0
