"""What this Python process says of itself: versions, architecture, niceness, variables that change results."""

import json
import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from .. import qos
from ..scrub import cover

_PLAIN = ("python_version", "python_arch", "niceness", "qos")
PACKAGES = ("torch", "torchvision", "timm", "transformers", "metalmark")

# Variables whose values are numbers or options. Values with any other character (a path, say) or with an address
# are not kept.
_NAMED = (
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_VISIBLE_DEVICES",
    "GOMP_CPU_AFFINITY",
    "KMP_AFFINITY",
    "KMP_BLOCKTIME",
    "MALLOC_ARENA_MAX",
    "MTL_DEBUG_LAYER",
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_CUDNN_V8_API_DISABLED",
    "TORCHDYNAMO_DISABLE",
    "VECLIB_MAXIMUM_THREADS",
)
_FAMILIES = re.compile(r"(?:PYTORCH|OMP|MKL|DNNL|ONEDNN|KMP|TORCHINDUCTOR)_[A-Z0-9_]{1,60}|[A-Z0-9_]{1,60}_NUM_THREADS")
_OPTION = re.compile(
    r"(?:[\d.,:;{}+\-\s]|true|false|on|off|yes|no|none|auto|close|spread|master|primary|active|passive|all|verbose"
    r"|granularity|fine|core|compact|scatter|expandable_segments|max_split_size_mb|garbage_collection_threshold"
    r"|backend|native|cudaMallocAsync|static|dynamic|guided|intel|sequential|gnu|tbb|=)+",
    re.IGNORECASE,
)
WITHHELD = "(set)"
_LONGEST = 200


def result_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that can change a result; a value that is no plain number or option becomes "(set)"."""
    kept = sorted(name for name in environment if name in _NAMED or _FAMILIES.fullmatch(name))
    return {name: _value(environment[name]) for name in kept}


def _value(text: str) -> str:
    plain = len(text) <= _LONGEST and _OPTION.fullmatch(text) and cover(text) == text
    return text if plain or not text else WITHHELD


def installed(package: str) -> str | None:
    """The version of an installed package, read from its metadata: nothing is imported."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def own_words(told: Mapping[str, object]) -> dict[str, object]:
    """Of what a process said of itself, all that ``describe_process`` may have said."""
    packages, environment = told.get("packages"), told.get("environment")
    known: dict[str, object] = {
        "packages": {name: text for name, text in packages.items() if name in PACKAGES}
        if isinstance(packages, dict)
        else None,
        "environment": result_variables({str(name): str(text) for name, text in environment.items()})
        if isinstance(environment, dict)
        else None,
    }
    plain = {name: told[name] for name in _PLAIN if name in told}
    return plain | {name: value for name, value in known.items() if value is not None}


def describe_process() -> str:
    """This process as JSON, in the form in which a recorded machine keeps it."""
    return json.dumps(
        {
            "python_version": platform.python_version(),
            "python_arch": platform.machine(),
            "niceness": os.getpriority(os.PRIO_PROCESS, 0),
            "qos": qos.current(),
            "packages": {package: installed(package) for package in PACKAGES},
            "environment": result_variables(dict(os.environ)),
        }
    )
