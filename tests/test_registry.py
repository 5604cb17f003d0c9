import subprocess
import sys
from pathlib import Path

import pytest

import holdfast.registry as registry_module
from holdfast.errors import HoldfastError
from holdfast.registry import NOT_FOUND_FIX, VARIABLE, Registry, load_parts, registered


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
    assert caught.value.fix == f"Did you mean square? {NOT_FOUND_FIX}."
    assert "--import" in caught.value.fix


def test_at_most_three_near_names_are_offered():
    registry: Registry[int] = Registry("level")
    for number in range(5):
        registry.register(f"level_{number}")(number)
    with pytest.raises(HoldfastError) as caught:
        registry["level_"]
    assert caught.value.fix.startswith("Did you mean level_4 or level_3 or level_2?")


def test_an_unknown_name_like_no_other_is_answered_with_all_of_them(shapes: Registry[str]):
    with pytest.raises(HoldfastError) as caught:
        shapes["xyz"]
    assert caught.value.fix.startswith("Known: square, circle, triangle.")


def test_names_come_in_the_order_of_registration(shapes: Registry[str]):
    assert list(shapes) == ["square", "circle", "triangle"]
    assert len(shapes) == 3


def test_membership_asks_for_the_name(shapes: Registry[str]):
    assert "circle" in shapes
    assert "CIRCLE" not in shapes
    assert len(Registry("nothing")) == 0


def test_the_same_thing_defined_again_takes_its_own_place():
    registry: Registry[object] = Registry("shape")

    def cell() -> object:
        def square() -> int:
            return 4

        return registry.register("square")(square)

    first, second = cell(), cell()
    assert first is not second
    assert registry["square"] is second


def test_parts_are_found_by_kind_and_name_without_their_table(shapes: Registry[str]):
    assert registered("shape", "circle") == "CIRCLE"
    assert registered("shape", "oval") is None
    assert registered("a kind that nobody has", "oval") is None


@pytest.fixture
def outside(tmp_path, monkeypatch) -> Path:
    """A working directory with modules of a user's, in a process that has loaded none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(registry_module, "_has_looked_outside", False)
    monkeypatch.setattr(registry_module, "_TABLES", {})
    monkeypatch.setenv(VARIABLE, "")  # and so it is restored, whatever a test adds
    return tmp_path


OVAL = "from holdfast.registry import _TABLES\n_TABLES['shape'].register('oval')('OVAL')\n"


def test_a_module_of_the_working_directory_registers_its_parts(outside: Path):
    shapes: Registry[str] = Registry("shape")
    (outside / "rounded_parts.py").write_text(OVAL)
    load_parts("rounded_parts")
    assert shapes["oval"] == "OVAL"


def test_a_file_anywhere_does_so_too(outside: Path):
    shapes: Registry[str] = Registry("shape")
    (outside / "lab").mkdir()
    (outside / "lab" / "lab_parts.py").write_text(OVAL)
    load_parts("lab/lab_parts.py")
    assert shapes["oval"] == "OVAL"


def test_another_process_finds_what_was_loaded_here(outside: Path, monkeypatch):
    (outside / "lab_parts.py").write_text(OVAL)
    Registry("shape")
    load_parts("./lab_parts.py", "json")
    monkeypatch.chdir("/")
    program = (
        "from holdfast.registry import Registry\n"
        "shapes = Registry('shape')\nprint(shapes['oval'], 'json' in __import__('sys').modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["OVAL", "True"]


def test_an_installed_package_is_loaded_when_a_name_is_unknown(outside: Path, monkeypatch):
    shapes: Registry[str] = Registry("shape")
    (outside / "entry_parts.py").write_text(OVAL)
    metadata = outside / "entry_parts-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: entry_parts\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[holdfast.parts]\nall = entry_parts\n")
    monkeypatch.syspath_prepend(str(outside))
    assert "oval" not in shapes
    assert shapes["oval"] == "OVAL"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_that_name", "No module named 'nothing_of_that_name'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("def (", "SyntaxError"),
    ],
)
def test_what_is_wrong_with_a_module_is_said(outside: Path, text: str, message: str):
    (outside / "broken_parts.py").write_text(text)
    with pytest.raises(HoldfastError, match="The parts of broken_parts cannot be loaded") as caught:
        load_parts("broken_parts")
    assert message in caught.value.message


@pytest.mark.parametrize("name", ["absent_parts", "absent_parts.inner"])
def test_a_module_that_is_not_there_is_an_error_in_words(outside: Path, name: str):
    with pytest.raises(HoldfastError, match=f"There is no module '{name}'"):
        load_parts(name)
    with pytest.raises(HoldfastError, match=r"There is no file absent\.py"):
        load_parts("absent.py")
