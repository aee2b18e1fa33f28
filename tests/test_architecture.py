"""The house keeps its directions: who may import whom, and what a pure package may not touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "kvobs"
MODULES = sorted(path for path in ROOT.rglob("*.py") if "_assets" not in path.parts)

LAYERS = [
    {"errors", "settings"},
    {"dashboard"},
    {"stack"},
    {"health"},
    {"adapters"},
    {"use_cases"},
    {"report", "terminal"},
    {"cli"},
    {"__main__", "__init__"},
]
"""A module imports its own layer and those before it, nothing after it."""

PURE = ("dashboard", "stack", "health")
IMPURE_MODULES = {
    "kubernetes",
    "pyhelm3",
    "httpx",
    "prometheus_api_client",
    "requests",
    "urllib3",
    "websocket",
    "subprocess",
    "asyncio",
    "socket",
    "os",
    "pathlib",
    "shutil",
    "tempfile",
    "time",
    "random",
    "secrets",
}
ADAPTER_OF = {
    "kubernetes": "adapters",
    "pyhelm3": "adapters",
    "httpx": "adapters",
    "prometheus_api_client": "adapters",
    "websocket": "adapters",
    "subprocess": "adapters",
    "typer": "cli",
    "rich": "terminal",
}
"""Where a library may be imported, and nowhere else."""


def room(path: Path) -> str:
    """Name the room a module lives in: its top folder, or its own name."""
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported(path: Path) -> Iterator[tuple[str, int]]:
    """Yield every imported module, absolute, with its line; what only a type checker reads is no import."""
    tree = ast.parse(path.read_text())
    package = ("kvobs", *path.relative_to(ROOT).parent.parts)
    for node in _running(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join((*base, *([node.module] if node.module else [])))
            yield stem, node.lineno
            if stem == "kvobs":
                for alias in node.names:
                    yield f"kvobs.{alias.name}", node.lineno


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _running(child)


def layer(name: str) -> int:
    """Return the number of the layer that holds room *name*."""
    return next(number for number, rooms in enumerate(LAYERS) if name in rooms)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path: Path) -> None:
    """A module knows only its own layer and those below it."""
    own = room(path)
    for name, line in imported(path):
        parts = name.split(".")
        if parts[0] == "kvobs" and len(parts) > 1 and parts[1] != "__version__":
            assert layer(parts[1]) <= layer(own), f"{path.relative_to(ROOT)}:{line} imports {name}, which is above it"


@pytest.mark.parametrize(
    "path", [path for path in MODULES if room(path) in PURE], ids=lambda p: str(p.relative_to(ROOT))
)
def test_a_pure_package_does_no_io(path: Path) -> None:
    """A pure module imports nothing that reaches outside, and opens nothing."""
    for name, line in imported(path):
        assert name.partition(".")[0] not in IMPURE_MODULES, f"{path.relative_to(ROOT)}:{line} imports {name}"
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("open", "print", "input"), f"{path.relative_to(ROOT)}:{node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_outside_library_has_one_home(path: Path) -> None:
    """A library that talks to the outside is imported in its adapter only."""
    for name, line in imported(path):
        home = ADAPTER_OF.get(name.partition(".")[0])
        assert home in (None, room(path)), f"{path.relative_to(ROOT)}:{line} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_writes_to_the_standard_streams(path: Path) -> None:
    """Nobody prints but the command line; progress is given the stream that it writes to."""
    if room(path) in ("cli", "__main__"):
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in (("sys", "stdout"), ("sys", "stderr")), f"{path}:{node.lineno}"


def test_public_names_are_what_all_says() -> None:
    """Every name of `__all__` is there, sorted, and nothing else is public."""
    import kvobs

    assert kvobs.__all__ == sorted(kvobs.__all__)
    for name in kvobs.__all__:
        assert getattr(kvobs, name).__module__.startswith("kvobs.")
