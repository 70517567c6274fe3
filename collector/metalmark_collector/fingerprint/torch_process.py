"""What only a running torch knows of itself, as JSON from a short process of its own.

A worker imports torch anyway and says the same of itself; this process serves ``fingerprint --torch``.
"""

import json
import re
from types import ModuleType

# Settings that change results or speed. Flags of compilers hold paths of whoever built torch, and stay out.
_SETTINGS = (
    *("BLAS_INFO", "LAPACK_INFO", "BUILD_TYPE", "CUDA_VERSION", "CUDNN_VERSION"),
    *("PERF_WITH_AVX", "PERF_WITH_AVX2", "PERF_WITH_AVX512"),
    *("USE_CUDA", "USE_CUDNN", "USE_CUSPARSELT", "USE_EIGEN_FOR_BLAS", "USE_FBGEMM", "USE_KLEIDIAI", "USE_MKL"),
    *("USE_MKLDNN", "USE_MKLDNN_ACL", "USE_MPS", "USE_NCCL", "USE_NNPACK", "USE_OPENMP", "USE_PYTORCH_QNNPACK"),
    *("USE_ROCM", "USE_XNNPACK", "USE_XPU"),
)
_NAMED = re.compile(rf"\b({'|'.join(_SETTINGS)})=([\w.+-]{{1,60}})(?=,|\s|$)")
# What the first lines tell in words, by the name that it gets here.
_WORDS = {
    "COMPILER": re.compile(r"^ *- ((?:GCC|clang|MSVC|Intel)[\w .-]{0,40})$", re.MULTILINE | re.IGNORECASE),
    "CPU_CAPABILITY": re.compile(r"^ *- CPU capability usage: ([\w -]{2,40})$", re.MULTILINE),
    "MKL": re.compile(r"Math Kernel Library Version ([\w. -]{2,60}?)(?: for |$)", re.MULTILINE),
    "MKLDNN": re.compile(r"MKL-DNN v([0-9.]{1,20})"),
    "OPENMP": re.compile(r"OpenMP ([0-9]{6})\b"),
}


NAMES = frozenset((*_SETTINGS, *_WORDS))


def build_settings(shown: str) -> dict[str, str]:
    """Settings by name out of what ``torch.__config__.show()`` gives; other settings and flags are left out."""
    words = {name: found[1].strip() for name, pattern in _WORDS.items() if (found := pattern.search(shown))}
    return words | dict(_NAMED.findall(shown))


def build(torch: ModuleType) -> dict[str, str] | None:
    """The build settings of an imported torch, or None where it does not show them."""
    try:
        return build_settings(torch.__config__.show()) or None
    except (AttributeError, RuntimeError, TypeError):
        return None


def main() -> None:
    """Print what torch says of itself, or nothing where there is none."""
    try:
        import torch  # noqa: PLC0415 - reading a machine never imports torch; this process alone does
    except (ImportError, OSError):
        return
    told = {
        "torch_version": str(torch.__version__),
        "torch_git": getattr(torch.version, "git_version", None),
        "torch_debug": getattr(torch.version, "debug", None),
        "torch_build": build(torch),
        "threads": torch.get_num_threads(),
    }
    print(json.dumps(told))  # noqa: T201 - the reader takes it from stdout


if __name__ == "__main__":
    main()
