"""Rules of CONTRIBUTING.md that no linter knows, checked on the sources."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT

# from the ground up, as docs/architecture.md says: a room imports from the floors below, never from its own or above
FLOORS = [
    ["fairseq_rope_data"],
    ["fairseq_rope_data.grammar", "fairseq_rope.compat"],
    ["fairseq_rope.modules"],
    ["fairseq_rope.models", "fairseq_rope.criterions", "fairseq_rope.checkpoints", "fairseq_rope.scoring"],
    ["fairseq_rope"],
    ["fairseq_rope.export", "fairseq_rope.experiments", "fairseq_rope.conversion"],
    ["fairseq_rope.inference", "fairseq_rope.page"],
    ["fairseq_rope.tools"],
    ["benchmarks"],
    ["tests"],
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
FOLDERS = (ROOT / "fairseq_rope", ROOT / "data-prep" / "fairseq_rope_data", ROOT / "scripts", ROOT / "tests")
SOURCES = [path for folder in FOLDERS for path in sorted(folder.rglob("*.py"))]
SCRIPTS = [path for path in sorted(ROOT.rglob("*.sh")) if path.relative_to(ROOT).parts[0] in ("scripts", "data-prep")]
MOST_LINES = 250
BRITISH = re.compile(
    r"(?i)(ali|ari|imi|ini|oni|eni|ni)s(e|ed|er|ing|ation)s?(_|$)|neighbour|colour|favour|honour|behaviour|learnt"
)
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def module_of(path: Path) -> str:
    """The name that a source has as a module; the programs in scripts/ count as benchmarks."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] == "scripts":
        return ".".join(("benchmarks", *parts[1:]))
    return ".".join(parts[1:] if parts[0] == "data-prep" else parts)


def room_of(module: str) -> str | None:
    """The room that a module is in; None for other people's."""
    parts = module.split(".")
    return next((room for room in (".".join(parts[:2]), parts[0]) if room in FLOOR), None)


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and name of every module that a source imports, also inside functions; relative ones are of its room."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package import room` imports the room
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from ((node.lineno, name if name in FLOOR else node.module) for name in names)


def test_every_room_has_a_floor():
    folders = {module_of(path).rpartition(".")[0] for path in SOURCES if path.name == "__init__.py"}
    rooms = {".".join(name.split(".")[:2]) for name in folders if name.startswith("fairseq_rope")}
    assert rooms == {room for room in FLOOR if room.startswith("fairseq_rope")}


def test_rooms_import_from_the_floors_below():
    upwards = []
    for path, tree in TREES.items():
        own = room_of(module_of(path))
        for line, module in imports(tree):
            room = room_of(module)
            if room is not None and room != own and FLOOR[room] >= FLOOR[own]:
                upwards.append(f"{path.relative_to(ROOT)}:{line}: {own} imports {module}")
    assert upwards == []


def test_rooms_of_the_plugin_say_what_they_import():
    said, done = {}, {}
    for path, tree in TREES.items():
        own = room_of(module_of(path))
        if not own.startswith("fairseq_rope.") or own == "fairseq_rope.tools":  # a door to all of them
            continue
        found = {room_of(module) for _, module in imports(tree)} - {own, None}
        done.setdefault(own, set()).update(room.removeprefix("fairseq_rope.") for room in found)
        if path == ROOT / own.replace(".", "/") / "__init__.py":
            said[own] = set(re.findall(r"`(\w+)`", (ast.get_docstring(tree) or "").partition("Imports ")[2]))
    assert said == done


def test_public_functions_have_docstrings():
    bare = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and node.name != "main"
        if ROOT / "tests" not in path.parents and ast.get_docstring(node) is None
    ]
    assert bare == []


def test_nothing_imports_from_conftest():
    found = [path for path, tree in TREES.items() for _, module in imports(tree) if module.endswith("conftest")]
    assert found == []


def test_a_file_holds_one_idea():
    sources = [path for path in (*SOURCES, *SCRIPTS) if ROOT / "tests" not in path.parents]
    lines = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in sources}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_identifiers_are_in_american_spelling():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        for field in ("name", "id", "attr", "arg")
        if isinstance(name := getattr(node, field, None), str) and isinstance(node, ast.AST) and BRITISH.search(name)
    ]
    assert found == []


def test_names_of_tests_are_sentences():
    short = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if path.name.startswith("test_") and isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        if node.name.count("_") < 3
    ]
    assert short == []


def test_shell_programs_stop_at_a_failure_and_steps_stand_alone():
    for path in SCRIPTS:
        text = path.read_text(encoding="utf-8")
        if path.parent.name != "lib":
            assert "\nset -euo pipefail\n" in text, path
        # in a condition bash turns `set -e` off, within the step too
        assert not re.search(r"(?m)\b(if|while|until|!) +step |^ *step .*(\|\||&&)", text), path
