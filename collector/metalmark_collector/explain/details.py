"""What a message is about: operation, number format and bytes, in torch's own words."""

import re

from ..fingerprint.values import size

_DTYPES = {
    "bfloat16": "bfloat16",
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "complexfloat": "complex64",
    "complexdouble": "complex128",
    "complexhalf": "complex32",
    "byte": "uint8",
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "bool": "bool",
}
_REQUESTED = re.compile(
    r"(?:[Tt]ried\s+to\s+allocate|Invalid\s+buffer\s+size:|Unable\s+to\s+allocate|[Aa]ttempting\s+to\s+allocate"
    r"|MTLBuffer\s+for\s+size)\s+([0-9][0-9.,]*\s*(?:[KMGT]i?B|bytes)?)"
)
# What Metal's graph library calls an operation, and what torch calls it.
_GRAPH_NAMES = {"multiply": "mul", "subtract": "sub", "divide": "div", "addition": "add", "convolution": "conv2d"}
_GRAPH_OP = re.compile(r"""loc\("mps_(\w+)"|'mps\.(\w+)' op""")
_CALL = re.compile(r"^(?![ \t]*(?:raise|File)\b).*?\b(?:torch(?:\.nn\.functional)?|F)\.([a-z]\w*)\(", re.MULTILINE)
_NO_OPS = {"compile", "device", "load", "save", "manual_seed", "no_grad", "inference_mode", "autocast"}
_FALLBACK = re.compile(
    r"The operator '(?P<named>\S{1,200})' is not currently supported on the MPS backend and will".replace(" ", r"\s+")
    + r"|(?P<short>\w{1,60}) op is supported natively starting from macOS [\d.]+ Falling back".replace(" ", r"\s+")
)
_MODULE = re.compile(
    r"\b(Linear|Bilinear|Conv(?:Transpose)?[123]d|(?:Batch|Instance)Norm[123]d|LayerNorm|GroupNorm|RMSNorm|Embedding"
    r"|LSTM|GRU|RNN|MultiheadAttention|(?:Adaptive)?(?:Max|Avg)Pool[123]d|Softmax|GELU|ReLU|SiLU|Dropout)\("
)
_GRADIENT = re.compile(r"(\[{0,9}).*grad_fn=<([A-Z]\w{0,60}?)Backward[0-9]*>", re.DOTALL)
_MESSAGE = 600  # characters after the start of a message that may belong to it


def dtype(name: str | None) -> str | None:
    """A number format by the name that torch has in Python."""
    return _DTYPES.get(name.lower(), name.lower()) if name else None


def torch_name(op: str) -> str:
    """An operation that a message names in words, as torch names it."""
    return re.sub(r"convtranspose\s?", "conv_transpose", op.lower())


def bytes_requested(text: str, start: int) -> int | None:
    """How much memory a message says was asked for."""
    match = _REQUESTED.search(text, start, start + _MESSAGE)
    return size(match[1].rstrip(".,")) if match else None


def fallback_ops(text: str) -> tuple[str, ...]:
    """The operations that ran on the CPU instead of the GPU, in the order of their warnings."""
    return tuple(dict.fromkeys(match["named"] or match["short"] for match in _FALLBACK.finditer(text)))


def op_before(text: str, end: int) -> str | None:
    """The operation of a crash or a lack of memory: in Metal's graph, or the last call of the traceback."""
    graph = [match[1] or match[2] for match in _GRAPH_OP.finditer(text, 0, end + _MESSAGE)]
    if graph:
        return _GRAPH_NAMES.get(graph[-1], graph[-1])
    calls = [name for name in _CALL.findall(text[:end]) if name not in _NO_OPS]
    return calls[-1] if calls else None


def op_of_result(text: str, start: int) -> str | None:
    """The operation whose result is wrong: the module named on that line, or the last gradient's."""
    line = text[text.rfind("\n", 0, start) + 1 : (text + "\n").index("\n", start)]
    if module := _MODULE.search(line):
        return _functional(module[1])
    printed = text.split("tensor(")
    gradient = _GRADIENT.match(printed[-1])
    if gradient is None:
        return None
    # A batch of n-dimensional convolutions has n + 2 dimensions.
    name, dimensions = gradient[2], len(gradient[1])
    if name == "Convolution" and dimensions in (3, 4, 5):
        return f"conv{dimensions - 2}d"
    return _functional(name)


def _functional(module: str) -> str:
    """``nn.LayerNorm`` is ``layer_norm``, ``nn.Conv2d`` is ``conv2d``."""
    if module.isupper():
        return module.lower()
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", module).lower()
