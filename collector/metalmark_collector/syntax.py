"""Code as plain values, without what changes nothing when it runs: comments, docstrings, annotations, places.

And what a piece of code reaches: the functions, classes and constants that it names. Nothing is imported
or run, so that no library has a say.
"""

import ast
import functools
import importlib.util
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Read = Callable[[str], str]  # name of a module -> its text
Place = tuple[str, str]  # module, and the name of something at its top level

_WORDS = frozenset({"annotation", "ctx", "kind", "returns", "type_comment"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@functools.cache
def source(module: str) -> str:
    """The text of a module; the packages that it lies in are imported to find it, and the module is not."""
    spec = importlib.util.find_spec(module)
    assert spec is not None, module  # noqa: S101 - names come from imports that work
    assert spec.origin is not None, module  # noqa: S101
    return Path(spec.origin).read_text(encoding="utf-8")


def plain(node: Any) -> Any:
    """A tree of code as lists and texts, the same in every version of Python.

    Neither ``ast.dump`` nor ``ast.unparse`` promises that: a newer Python adds fields to the tree, and sets quotes
    and brackets in another way. Added fields are empty where nobody uses them, and empty ones are left out here.
    """
    if isinstance(node, list):
        return [plain(one) for one in node if not _is_word(one)]
    if isinstance(node, ast.AnnAssign):
        node = ast.Assign(targets=[node.target], value=node.value or ast.Constant(None))
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Dict) and all(isinstance(one, ast.Constant) for one in (*node.keys, *node.values)):
        pairs = zip(node.keys, node.values, strict=True)
        return ["Dict", sorted([plain(key), plain(value)] for key, value in pairs)]  # a table, whose order says nothing
    return [type(node).__name__, *([name, plain(value)] for name, value in _fields(node) if value not in (None, []))]


def _is_word(node: Any) -> bool:
    """Whether it is a docstring, or a name with a type and no value."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.AnnAssign) and node.value is None)


def _fields(node: ast.AST) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in ast.iter_fields(node) if name not in _WORDS)


def _walk(node: Any) -> Iterator[ast.AST]:
    """All that runs in a tree."""
    if isinstance(node, list):
        for one in node:
            yield from _walk(one)
    elif isinstance(node, ast.AST):
        yield node
        for _, value in _fields(node):
            yield from _walk(value)


class Code:
    """Modules as texts, and what lies in them.

    Args:
        ours: names of packages and modules whose code is followed; what is imported from elsewhere is only named.
        without_classes: modules whose classes are only named.
        read: gives the text of a module.
    """

    def __init__(self, ours: Sequence[str], without_classes: Collection[str] = (), read: Read = source) -> None:
        self._ours = ours
        self._without_classes = without_classes
        self._read = read
        self._known: dict[str, Mapping[str, list[ast.stmt]]] = {}
        self._parts: dict[Place, tuple[Any, list[Place]]] = {}

    def is_ours(self, module: str) -> bool:
        """Whether the module's code is followed."""
        return any(module == one or module.startswith(f"{one}.") for one in self._ours)

    def reached(self, roots: Sequence[Place]) -> dict[str, Any]:
        """All that ``roots`` reach, themselves included: plain code by its place.

        A local variable with the name of something of its module reaches it, too: too much is safer than too little.
        """
        found: dict[Place, Any] = {}
        waiting = list(roots)
        while waiting:
            place = waiting.pop()
            if place not in found:
                found[place], taken = self._part(place)
                waiting += taken
        return {".".join(place): part for place, part in found.items() if part is not None}

    def _part(self, place: Place) -> tuple[Any, list[Place]]:
        """Plain code, and what it takes; None for a class that is only named."""
        if place not in self._parts:
            module, name = place
            statements = self._names(module)[name]
            named = module in self._without_classes and any(isinstance(one, ast.ClassDef) for one in statements)
            taken = list(self._taken(module, statements))
            self._parts[place] = (None, []) if named else (plain(statements), taken)
        return self._parts[place]

    def _taken(self, module: str, statements: list[ast.stmt]) -> Iterator[Place]:
        known = self._names(module)
        for node in _walk(statements):
            if isinstance(node, ast.Name) and node.id in known:
                yield module, node.id
            if isinstance(node, ast.ImportFrom):
                origin = _origin(module, node)
                if self.is_ours(origin):
                    yield from ((origin, one.name) for one in node.names)

    def _names(self, module: str) -> Mapping[str, list[ast.stmt]]:
        """What each name at a module's top level is made of."""
        if module not in self._known:
            names: dict[str, list[ast.stmt]] = {}
            for statement in ast.parse(self._read(module)).body:
                for name, part in _bound(statement):
                    names.setdefault(name, []).append(part)
            self._known[module] = names
        return self._known[module]


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a statement gives a meaning; of an import, each with its own part."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name, statement
    elif isinstance(statement, ast.ImportFrom):
        for one in statement.names:
            yield one.asname or one.name, ast.ImportFrom(statement.module, [one], statement.level)
    elif isinstance(statement, ast.Import):
        for one in statement.names:
            yield one.asname or one.name.partition(".")[0], ast.Import([one])
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
        yield from ((node.id, statement) for node in names)


def _origin(module: str, node: ast.ImportFrom) -> str:
    """The full name of the module that is imported from; the importing one is no package."""
    if not node.level:
        return node.module or ""
    return ".".join([*module.split(".")[: -node.level], *([node.module] if node.module else [])])
