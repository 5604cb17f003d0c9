"""The import rules of the house: who may know whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent / "src" / "holdfast"

# A line may import lines below it, never above; names on one line do not import each other.
LINES = [
    {"__main__"},
    {"cli"},
    {"report", "cloud", "tuning"},
    {"training", "export", "prediction", "doctor", "projects", "profiling", "testing"},
    {"checkpoints", "memory", "evaluation", "runtimes"},
    {"models"},
    {"data", "losses"},
    {"config", "runs", "geometry"},
    {"store"},
    {"registry", "units", "pictures", "files", "progress", "parts", "extras"},
    {"label_plates"},
    {"lettering"},
    {"errors"},
]
HEIGHT = {room: -index for index, line in enumerate(LINES) for room in line}
TENSORFLOW_ROOMS = {
    *("data", "checkpoints", "memory", "evaluation"),
    *("training", "export", "prediction", "profiling", "testing"),
}
# Keras has no kernel for what these do.
TENSORFLOW_FILES = {
    "holdfast.geometry.chance",
    "holdfast.geometry.class_masks",
    "holdfast.geometry.highest",
    "holdfast.geometry.one_by_one",
    "holdfast.geometry.regions",
    "holdfast.geometry.suppression",
    "holdfast.models.heads.region_mask",
    "holdfast.models.layers.batch_norm",
    "holdfast.models.layers.chunks",
    "holdfast.models.layers.dropout",
    "holdfast.models.layers.fake_quantization",
    "holdfast.models.layers.penalty",
    "holdfast.models.layers.recomputation",
}
KERAS_ROOMS = TENSORFLOW_ROOMS | {"geometry", "losses", "models"}
# Parts take plain keywords: only files of this name turn config into parts.
CONFIG_READERS = "build_"
PART_ROOMS = {"data", "losses", "geometry", "models"}
# Plain values of the config's room that parts may know.
PLAIN_VALUES = (
    "holdfast.config.label_map",
    "holdfast.config.schema.label_map_items",
    "holdfast.config.facts.extractors",
)


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(SOURCE.rglob("*.py")):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imported(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Names of the modules a file imports; imports for type checkers do not count."""
    names = set()
    for node in _nodes(ast.parse(path.read_text()), top_level_only):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names |= {
                f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base
                for alias in node.names
            }
    return names


def _nodes(tree: ast.AST, top_level_only: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if top_level_only and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        yield from _nodes(node, top_level_only)


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_rooms_below_it(module):
    if module == "holdfast":
        return  # the public face; it loads everything lazily
    assert room(module) in HEIGHT, f"{room(module)} is not on the plan of the house"
    for name in imported(MODULES[module]):
        if name.startswith("holdfast.") and room(name) != room(module):
            assert HEIGHT[room(name)] < HEIGHT[room(module)], f"{module} imports {name}"


@pytest.mark.parametrize("module", MODULES)
def test_tensorflow_and_keras_stay_in_their_rooms(module):
    packages = {name.partition(".")[0] for name in imported(MODULES[module])}
    if room(module) not in TENSORFLOW_ROOMS and module not in TENSORFLOW_FILES:
        assert "tensorflow" not in packages
    if room(module) not in KERAS_ROOMS:
        assert "keras" not in packages


@pytest.mark.parametrize("module", MODULES)
def test_parts_never_see_config_types(module):
    path = MODULES[module]
    if room(module) in PART_ROOMS and not path.name.startswith(CONFIG_READERS):
        schemas = {name for name in imported(path) if name.startswith("holdfast.config")}
        assert schemas <= set(PLAIN_VALUES), (
            f"{module} reads the config; that belongs into a build_*.py"
        )


def test_no_module_imports_itself_in_a_circle():
    edges = {
        module: {name for name in imported(path, top_level_only=True) if name in MODULES}
        for module, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for name in edges[module] - {module}:
                visit(name, (*trail, module))
            done.add(module)

    for module in edges:
        visit(module, ())


def test_the_command_line_loads_neither_tensorflow_nor_keras_nor_numpy():
    program = (
        "import sys, holdfast, holdfast.cli.main, holdfast.config.check_config\n"
        "print(*{'tensorflow', 'keras', 'numpy'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == []
