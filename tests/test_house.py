"""The state of the house: everything is typed, short, named once, and used by more than tests."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
FILES = sorted((SOURCE / "holdfast").rglob("*.py"))
MOST_LINES = 50
PUBLIC = {"holdfast", "holdfast.parts", "holdfast.testing"}  # what users' code imports from
# Decorators that say how a thing behaves. All others put it into a table that configs, files or
# the command line choose from: such things are used without being named.
PLAIN_DECORATORS = {"cache", "contextmanager", "dataclass", "final", "lru_cache", "overload"}

CALLED_BY_LIBRARIES = {"CommandHelp", "GroupHelp", "FakeQuantizer", "FusedBatchNorm", "_KernelLock"}
OF_PROGRAMS = {"name_of"}  # methods of what `holdfast` gives to programs

Function = ast.FunctionDef | ast.AsyncFunctionDef
Name = tuple[str, str]  # a module, and a function, class or value at its top level


def module_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def parameters(function: Function) -> list[ast.arg]:
    own = function.args
    starred = [each for each in (own.vararg, own.kwarg) if each is not None]
    return [*own.posonlyargs, *own.args, *own.kwonlyargs, *starred]


def num_lines(function: Function, module: str) -> int:
    """Count a function's lines without its docstring; of a command also without its options."""
    options = ("Annotated", "Option", "Argument")  # the last two end the names of shared options
    is_command = module.startswith("holdfast.cli.") and any(
        ast.unparse(each.annotation).partition("[")[0].endswith(options)
        for each in parameters(function)
        if each.annotation is not None
    )
    first = function.body[0] if is_command else function
    docstring = function.body[0] if ast.get_docstring(function) else None
    documented = docstring.end_lineno - docstring.lineno + 1 if docstring is not None else 0
    return function.end_lineno - first.lineno + 1 - documented


def test_every_function_is_annotated():
    bare = [
        f"{module}: {function.name}"
        for module, tree in TREES.items()
        for function in functions(tree)
        if function.returns is None
        or {each.arg for each in parameters(function) if each.annotation is None} - {"self", "cls"}
    ]
    assert bare == []


def test_functions_are_short():
    long = [
        f"{module}: {function.name}"
        for module, tree in TREES.items()
        for function in functions(tree)
        if num_lines(function, module) > MOST_LINES
    ]
    assert long == [], "name their steps"


def test_a_name_is_enough_to_find_a_file():
    names = Counter(path.name for path in FILES if path.name != "__init__.py")
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_two_public_classes_share_a_name():
    names = Counter(
        node.name
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, count in names.items() if count > 1} == set()


def test_everything_is_used_by_the_commands_or_by_programs():
    house = House(TREES)
    used = house.used()
    unused = [".".join(name) for name in house.nodes if name not in used]
    assert unused == [], "only tests use these: delete them"


def test_every_method_is_used_by_more_than_tests():
    known = {name for tree in TREES.values() for name in mentioned(tree)}
    unused = [
        f"{module}: {node.name}.{method.name}"
        for module, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name not in CALLED_BY_LIBRARIES
        for method in node.body
        if isinstance(method, Function) and method.name not in known | OF_PROGRAMS
        if not (method.name.startswith("_") and method.name.endswith("_"))
    ]
    assert unused == [], "only tests use these: delete them"


def mentioned(tree: ast.AST) -> Iterator[str]:
    """Name what is read of objects, or given by keyword; a text may be the name for getattr."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.keyword(arg=str(name)) | ast.Constant(str(name)):
                yield name


def test_the_search_for_unused_code_finds_it():
    trees = {
        "holdfast": ast.parse("from holdfast.work import train\n__all__ = ['train']"),
        "holdfast.cli.main": ast.parse("def main(): pass"),
        "holdfast.work": ast.parse(
            "from holdfast import tools\n"
            "from holdfast.parts import table\n"
            "def train(): tools.turn()\n"
            "def idle(): lazy()\n"
            "def lazy(): idle()\n"
            "@table.register('a')\n"
            "def part(): helper()\n"
            "def helper(): pass\n"
        ),
        "holdfast.tools": ast.parse("def turn(): return SPEED\nSPEED = 1\nOTHER = 2"),
    }
    house = House(trees)
    assert house.nodes.keys() - house.used() == {
        ("holdfast.work", "idle"),
        ("holdfast.work", "lazy"),
        ("holdfast.tools", "OTHER"),
    }


class House:
    """Everything at the top level of modules, and what it names."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self.trees = trees
        self.nodes: dict[Name, list[ast.stmt]] = {}
        self.loose: list[tuple[str, ast.stmt]] = []  # statements that run when a module is imported
        for module, tree in trees.items():
            for statement in tree.body:
                names = defined(statement)
                for name in names:
                    self.nodes.setdefault((module, name), []).append(statement)
                if not names and not is_import(statement):
                    self.loose.append((module, statement))
        self.imported = {module: imports(tree) for module, tree in trees.items()}

    def used(self) -> set[Name]:
        """Follow all names from the command, the public names and what is registered."""
        found: set[Name] = set()
        waiting = [("holdfast.cli.main", "main"), *self._public()]
        waiting += [name for name, nodes in self.nodes.items() if any(map(is_registered, nodes))]
        waiting += [each for module, node in self.loose for each in self._named(module, node)]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += [
                    each for node in self.nodes.get(name, []) for each in self._named(name[0], node)
                ]
        return found

    def _public(self) -> list[Name]:
        """List what programs may import: the names in `__all__` of the public modules."""
        return [
            self.imported[module].get(name.value, (module, name.value))
            for module in PUBLIC & self.trees.keys()
            for statement in self.trees[module].body
            if isinstance(statement, ast.Assign) and ast.unparse(statement.targets) == "__all__"
            for name in statement.value.elts
        ]

    def _named(self, module: str, node: ast.AST) -> Iterator[Name]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield module, part.id
                yield self.imported[module].get(part.id, ("", ""))
            elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
                home, name = self.imported[module].get(part.value.id, ("", ""))
                yield f"{home}.{name}" if name else home, part.attr


def defined(statement: ast.stmt) -> list[str]:
    """Name what a statement defines; what Python itself looks for, such as `__all__`, is not."""
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [] if statement.name.startswith("__") else [statement.name]
        case ast.Assign():
            targets = statement.targets
        case ast.AnnAssign():
            targets = [statement.target]
        case _:
            return []
    parts = [part for target in targets for part in ast.walk(target)]
    names = [part.id for part in parts if isinstance(part, ast.Name) and is_stored(part)]
    return [name for name in names if not name.startswith("__")]


def is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def imports(tree: ast.AST) -> dict[str, Name]:
    """Tell where each name that a file imports, anywhere in it, comes from."""
    found: dict[str, Name] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {
                alias.asname or alias.name: (node.module or "", alias.name) for alias in node.names
            }
        elif isinstance(node, ast.Import):
            found |= {alias.asname or alias.name: (alias.name, "") for alias in node.names}
    return found


def is_import(statement: ast.stmt) -> bool:
    for_checkers = isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test)
    return for_checkers or isinstance(statement, ast.Import | ast.ImportFrom)


def is_registered(statement: ast.stmt) -> bool:
    decorators = getattr(statement, "decorator_list", [])
    return any(ast.unparse(each).split("(")[0] not in PLAIN_DECORATORS for each in decorators)
