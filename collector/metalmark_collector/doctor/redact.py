"""Recorded outputs without what tells one person or computer from another.

Each source has a rule of its own, by allow-list: what its rule does not name is left out. The shape
of the text stays (its order, its faults, where it breaks off), since that is what a parser stumbles over.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping

from ..fingerprint.lenient import loads
from ..fingerprint.process import own_words
from ..fingerprint.torch_process import NAMES
from ..fingerprint.values import lines
from ..scrub import cover

Rule = Callable[[str], str]

_REMOVED = "removed"
_TOKEN = re.compile(r'\s+|[{}\[\],:]|"(?:[^"\\]|\\.)*"|"|-?[0-9][0-9.eE+-]*|true|false|null', re.DOTALL)


def whole(text: str) -> str:
    """Everything: these outputs name nobody."""
    return text


def matching(pattern: str) -> Rule:
    """The lines that begin as ``pattern`` says."""
    known = re.compile(pattern)
    return lambda text: "".join(f"{line}\n" for line in text.splitlines() if known.match(line))


def keys(*allowed: str) -> Rule:
    """JSON with all its brackets and names of keys, but only with the values of these keys."""
    known = frozenset(allowed)
    return lambda text: "".join(_json("\n".join(lines(text)), known))


def _json(text: str, known: frozenset[str]) -> Iterator[str]:
    """The tokens of a JSON text, which may break off anywhere; what is no JSON at all is left out."""
    above: list[tuple[str, str | None]] = []  # the brackets that are open, each with the key that it belongs to
    key: str | None = None
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        piece = match[0] if match else ""
        position += len(piece) or 1
        if piece in ("{", "["):
            above.append((piece, key))
        elif piece in ("}", "]") and above:
            key = above.pop()[1]
        elif piece == '"':
            yield piece  # a string without its end: the text breaks off in it
            return
        elif piece.startswith('"'):
            named = above and above[-1][0] == "{" and re.match(r"\s*:", text[position:])
            key = piece[1:-1] if named else key
            piece = piece if named or key in known else f'"{_REMOVED}"'
        elif piece[:1] in "-0123456789" and piece and key not in known:
            piece = "0"
        yield piece


def labels(*allowed: str) -> Rule:
    """The "Label: value" lines with these labels; other headings lose their words and keep their place."""
    known = frozenset(allowed)

    def labelled(text: str) -> str:
        kept = (_labelled(line, known) for line in lines(text))
        return "".join(f"{line}\n" for line in kept if line is not None)

    return labelled


def _labelled(line: str, known: frozenset[str]) -> str | None:
    label, colon, value = line.strip().partition(":")
    if label in known:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return f"{indent}{_REMOVED}:" if colon and not value else None


def own(text: str) -> str:
    """What Python said of itself, held against its allow-lists once more: the text may come from elsewhere."""
    told = loads(text)
    return json.dumps(own_words(told)) if isinstance(told, dict) else ""


def either(of_json: Rule, of_text: Rule) -> Rule:
    """The one rule or the other: recorded JSON may lie in a file of text."""
    return lambda text: (of_json if text.lstrip().startswith("{") else of_text)(text)


def replacing(pattern: str, replacement: str) -> Rule:
    """Everything, with what ``pattern`` finds replaced."""
    found = re.compile(pattern)
    return lambda text: found.sub(replacement, text)


_HARDWARE = keys(
    "boot_rom_version",
    "chip_type",
    "cpu_type",
    "current_processor_speed",
    "machine_model",
    "machine_name",
    "number_processors",
    "os_loader_version",
    "packages",
    "physical_memory",
)
_DISPLAYS = keys(
    "spdisplays_connection_type",
    "spdisplays_metal",
    "spdisplays_metalfamily",
    "spdisplays_mtlgpufamilysupport",
    "spdisplays_vram",
    "sppci_bus",
    "sppci_cores",
    "sppci_model",
)
_POWER = keys("Current Power Source", "HighPowerMode", "LowPowerMode", "sppower_battery_state_of_charge")
_TEXT = labels(
    "Chip",
    "Chipset Model",
    "Displays",
    "Kernel Version",
    "Memory",
    "Metal",
    "Metal Family",
    "Metal Support",
    "Model Identifier",
    "Model Name",
    "OS Loader Version",
    "Processor Name",
    "System Version",
    "Total Number of Cores",
    "VRAM (Dynamic, Max)",
    "VRAM (Total)",
)
_SYSCTL = matching(
    r"(?!.*(?:serial|uuid|udid))(?:hw\.|machdep\.cpu\.|kern\.(?:osproductversion|osversion|osrelease|hv_vmm_present)\b"
    r"|vm\.(?:swapusage|loadavg)\b|iogpu\.wired_limit_mb\b|sysctl\.proc_translated\b)"
)
_IOREG = matching(
    r"\W*(?:\+-o |[{}]\W*$|(?:[pem]-core-count|gpu-core-count|model|PerformanceStatistics|IOClass|IONameMatched"
    r"|IOSourceVersion|MetalPluginName|MetalPluginClassName)\"? = )"
)
_SYSFS = matching(r"[\w.-]+: ")

RULES: Mapping[str, Rule] = {
    "process": own,
    "torch": keys("torch_version", "torch_git", "torch_debug", "threads", *NAMES),
    "uname": whole,
    "sysctl": _SYSCTL,
    "sysctl_brand": whole,
    "hardware_json": _HARDWARE,
    "hardware_text": either(_HARDWARE, _TEXT),
    "displays_json": _DISPLAYS,
    "displays_text": either(_DISPLAYS, _TEXT),
    "power_json": _POWER,
    "software_text": _TEXT,
    "sw_vers": matching(r"Product|Build"),
    # The programs that keep a Mac awake are nobody's business, and neither is the number of its battery.
    "pmset_g": replacing(r"\(sleep prevented by [^)\n]*\)?", "(sleep prevented by some)"),
    "pmset_custom": replacing(r"\(sleep prevented by [^)\n]*\)?", "(sleep prevented by some)"),
    "pmset_batt": replacing(r"\(id=[0-9]+\)", "(id=0)"),
    "pmset_therm": whole,
    "thermal_pressure": whole,
    "powermetrics": matching(r"(?!Boot arguments)"),
    "ioreg_gpu": _IOREG,
    "ioreg_cores": _IOREG,
    "memory_pressure": whole,
    "vm_stat": whole,
    "crash_footer": matching(r"Model: |Graphics: "),
    "notes": whole,
    "collect_env": whole,
    "os_release": matching(r"(?:PRETTY_NAME|NAME|VERSION|VERSION_ID|ID|ID_LIKE)="),
    "cpuinfo": matching(r"(?i)(?!\s*(?:serial|uuid)\b)"),
    "meminfo": whole,
    "loadavg": whole,
    "lscpu": keys("field", "data"),
    "lscpu_topology": keys("cpu", "core", "socket"),
    "hybrid_cpus": _SYSFS,
    "cpu_capacity": _SYSFS,
    "dmi": matching(r"(?:sys_vendor|product_name): "),
    "dmi_memory": matching(r"E:MEMORY_(?:DEVICE_[0-9]+_(?:SIZE|TYPE|SPEED_MTS|FORM_FACTOR)|ARRAY_NUM_DEVICES)="),
    "device_tree": matching(r"(?:model|compatible): "),
    "detect_virt": whole,
    "power_supply": _SYSFS,  # a Bluetooth mouse is called by its address, which has colons and is no such line
    "battery_status": _SYSFS,
    "platform_profile": whole,
    "display_ports": _SYSFS,
    "gpu_devices": _SYSFS,
    "nvidia_smi": whole,
    "nvidia_state": matching(
        r"Driver Version|\s*(?:FB Memory Usage|Utilization|Total|Reserved|Used|Free|G[Pp][Uu]|[HS]W Thermal Slowdown)\b"
    ),
    "nvidia_apps": matching(r"\d{1,9} MiB$|\[?N/A\]?$"),
    "cuda_driver": keys("name", "multiprocessors", "memory_bytes"),
}


def redact(source: str, text: str) -> str:
    """The output of a source, by its rule; names, paths, addresses and numbers of devices are covered in any case."""
    return cover(RULES[source](text))
