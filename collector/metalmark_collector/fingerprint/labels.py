"""The text output of system_profiler in any language.

Labels are translated and values are not: most fields are known by the shape of their value, and
only a bare count needs its label.
"""

import re
from collections.abc import Iterator

from .values import lines, narrow

# What system_profiler calls a field in English, and what it calls the same field in JSON.
_ENGLISH = {
    "Model Name": "machine_name",
    "Model Identifier": "machine_model",
    "Chip": "chip_type",
    "Processor Name": "cpu_type",
    "Total Number of Cores": "number_processors",
    "Memory": "physical_memory",
    "OS Loader Version": "os_loader_version",
}
# "Total Number of Cores", of a processor as of a GPU.
_CORES = (
    "Total Number of Cores",
    "Gesamtanzahl der Kerne",
    "Gesamtzahl der Kerne",
    "Nombre total de cœurs",
    "コアの総数",
    "Número total de núcleos",
    "Numero totale di core",
    "Numero totale di Core",
    "Totaal aantal cores",
    "Totaal aantal kernen",
    "Общее количество ядер",
    "Общее число ядер",
    "核总数",
    "核心總數",
    "총 코어 개수",
    "Całkowita liczba rdzeni",
    "Totalt antal kärnor",
)
_SHAPES = {
    "machine_name": r"MacBook(?: Air| Pro| Neo)?|iMac(?: Pro)?|Mac (?:mini|Pro|Studio)",
    "machine_model": r"(?:(?:Virtual)?Mac|MacBook(?:Air|Pro)?|Macmini|MacPro|iMac(?:Pro)?)[0-9]{1,3},[0-9]{1,3}",
    "chip_type": r"Apple [A-Z][0-9]{1,3}\b.{0,40}",
    "cpu_type": r".{0,40}\bIntel (?:Core|Xeon)\b.{0,40}",
    "number_processors": r"[0-9]{1,3} ?\([^()]{0,80}[0-9][^()]{0,80}\)",
    # Caches are told in KB and MB.
    "physical_memory": r"[0-9]{1,5}(?:[.,][0-9]{1,3})?\s?(?:GB|TB|Go|To|ГБ|ТБ)",
}


def entries(text: str | None) -> Iterator[tuple[str, str]]:
    """Label and value of every line; the value of a heading is empty."""
    for line in lines(text):
        label, colon, value = narrow(line[:400]).partition(":")
        if colon:
            yield label.strip(), value.strip()


def hardware(text: str | None) -> dict[str, str]:
    """The fields of SPHardwareDataType by their JSON names; labels in English come first."""
    told = list(_without_gpus(text))
    found: dict[str, str] = {}
    for label, value in told:
        if value and label in _ENGLISH:
            found.setdefault(_ENGLISH[label], value)
    for label, value in told:
        for name, shape in _SHAPES.items():
            if re.fullmatch(shape, value):
                found.setdefault(name, value)
        if value and label in _CORES:
            found.setdefault("number_processors", value)
    return found


def _without_gpus(text: str | None) -> Iterator[tuple[str, str]]:
    """All lines but those of GPUs: where one file holds both data types, a GPU has cores and memory too."""
    heading, inside = "", False
    for label, value in entries(text):
        inside = starts_gpu(label, value, heading) or (inside and label not in ("Hardware", "Model Name"))
        heading = heading if value else label
        if not inside:
            yield label, value


def starts_gpu(label: str, value: str, heading: str) -> bool:
    """Whether a line is the first one of a GPU: it repeats the heading, whatever its label is in this language."""
    return label == "Chipset Model" or (bool(value) and value == heading)


def gpu_field(label: str) -> str | None:
    """The field that a label of SPDisplaysDataType stands for."""
    if label in _CORES:
        return "cores"
    return "memory" if "VRAM" in label else "metal" if "Metal" in label else None
