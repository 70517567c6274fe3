"""The outputs of one machine, parsed once and on demand: what the readers of fields read from."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from . import labels, notes
from .lenient import loads
from .probe import Probe, Remembered
from .values import pairs, search


class Evidence:
    """Parsed views of the outputs; a source that is missing gives an empty view."""

    def __init__(self, probe: Probe) -> None:
        self._probe = Remembered(probe)
        self._pairs: dict[str, dict[str, str]] = {}
        self._items: dict[str, list[Mapping[str, object]]] = {}

    def text(self, source: str) -> str | None:
        """The text of a source."""
        return self._probe.text(source)

    def pairs(self, source: str) -> dict[str, str]:
        """The "key: value" lines of a source."""
        if source not in self._pairs:
            self._pairs[source] = pairs(self.text(source))
        return self._pairs[source]

    def items(self, source: str) -> list[Mapping[str, object]]:
        """Every object of a JSON source, outer ones first."""
        if source not in self._items:
            self._items[source] = list(_objects(loads(self.text(source))))
        return self._items[source]

    @cached_property
    def sysctl(self) -> dict[str, str]:
        """Values of sysctl by name; what notes quote of them comes last."""
        brand = search(r"\A\s*(\w[\w()@., /+-]{2,100})\s*$", self.text("sysctl_brand"), re.MULTILINE)
        return {
            **notes.sysctl(self.text("notes")),
            **({"machdep.cpu.brand_string": brand} if brand else {}),
            **self.pairs("sysctl"),
        }

    @cached_property
    def hardware(self) -> Mapping[str, object]:
        """The fields of SPHardwareDataType by their JSON names, whatever form they came in."""
        found: dict[str, object] = {}
        for source in ("hardware_json", "hardware_text"):
            for item in self.items(source):
                _add(found, item)
        _add(found, labels.hardware(self.text("hardware_text")))
        return found

    @cached_property
    def process(self) -> Mapping[str, object]:
        """What the Python process said of itself."""
        return next(iter(self.items("process")), {})

    @cached_property
    def torch(self) -> Mapping[str, object]:
        """What a running torch said of itself."""
        return next(iter(self.items("torch")), {})

    @cached_property
    def packages(self) -> Mapping[str, object]:
        """Versions of installed packages by name."""
        packages = self.process.get("packages")
        return packages if isinstance(packages, dict) else {}

    @cached_property
    def ioreg(self) -> str:
        """Both outputs of ioreg."""
        return "\n".join(self.text(source) or "" for source in ("ioreg_gpu", "ioreg_cores"))

    @cached_property
    def uname(self) -> str:
        """What uname says."""
        return self.text("uname") or ""


def _add(found: dict[str, object], item: Mapping[str, object]) -> None:
    for key, value in item.items():
        if isinstance(value, str | int):
            found.setdefault(key, value)


def _objects(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    if depth > 20:  # noqa: PLR2004  real outputs nest five deep
        return
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _objects(inner, depth + 1)
