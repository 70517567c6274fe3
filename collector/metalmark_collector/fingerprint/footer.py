"""The last lines of a macOS crash report, which name the machine."""

import re

from msgspec import Struct

from .values import clean, search, whole


class Footer(Struct, frozen=True, kw_only=True):
    """The "Model:" line of a crash report and the GPUs of its "Graphics:" lines."""

    model: str | None = None
    processors: str | int | None = None
    cpu: str | None = None
    memory: str | None = None
    graphics: tuple[tuple[str, str | None], ...] = ()


def parse(text: str | None) -> Footer:
    """The parts of a footer; everything is None if the text is none."""
    parts = (search(r"^Model: (.*)$", text and text.replace("\r", ""), re.MULTILINE) or "").split(", ")
    processors = next((part for part in parts if part.endswith("processors")), None)
    count = search(r"^([0-9]{1,6}) processors$", processors)
    return Footer(
        model=clean(parts[0]),
        processors=whole(count) if count else processors,
        # On Intel the name of the processor follows the count: "4 processors, Quad-Core Intel Core i7, 2.7 GHz".
        cpu=clean(parts[parts.index(processors) + 1]) if count and processors and processors != parts[-1] else None,
        memory=next((part for part in parts if search(r"^([0-9.,]+ [MGT]B)$", part)), None),
        graphics=tuple(_gpu(line) for line in (text or "").splitlines() if line.startswith("Graphics: ")),
    )


def _gpu(line: str) -> tuple[str, str | None]:
    """Model and size of memory; the first field may be a raw key, the second one is the model."""
    fields = line.removeprefix("Graphics: ").split(", ")
    memory = next((field for field in fields[2:] if search(r"^([0-9]+ [MG]B)$", field)), None)
    return (fields[1] if len(fields) > 1 else fields[0], memory)
