"""Checks of what a worker said of its device: whether it computes, whether it is waited for, what compiling needs."""

from collections.abc import Callable

from metalmark_db.terminal import gibibytes, seconds, significant

from ..devices import reasons
from ..explain import explain
from ..messages import Hello
from ..preflight import NATIVE
from ..process import Death
from ..scrub import scrub
from .finding import Verdict, fine, problem, warning
from .sight import Sight

_OF_A_GUEST = (
    "A virtual machine's GPU is never measured: run Metalmark on the Mac itself. The CPU can be measured here."
)
_CPU_ALONE = "Until then the CPU can be measured: metalmark run --device cpu"
_REMEDIES = {
    reasons.WITHOUT_MPS: "Install the build of PyPI: pip install --force-reinstall torch",
    reasons.WITHOUT_CUDA: "Install the build of PyPI: pip install --force-reinstall torch",
    reasons.NO_METAL: "See the line on macOS. If that is ok, start this from Terminal on the Mac itself, not from "
    "within another program, a container or a remote session.",
    reasons.NO_CUDA_GPU: "See whether nvidia-smi lists the GPU, and update its driver.",
}
_PROBE_FLOPS = 2 * 4096**3  # of the matmul whose enqueuing and end the worker times
_IMPOSSIBLE = 1e15  # FLOP/s in single precision, which no device reaches
_WAITED = 2.0  # finished this much later than enqueued: the time passed in waiting


def device(kind: str) -> Callable[[Sight], Verdict | None]:
    """The check that a device computes; None where a run would not measure it."""

    def computes(sight: Sight) -> Verdict | None:
        answer = _answer(sight, kind)
        match answer:
            case None:
                return None
            case Death():
                return _died(kind, answer)
            case Hello(unusable=None) if kind == "mps" and sight.machine.virtual:
                return problem("It answers, but it is a virtual machine's GPU and not the chip's.", _OF_A_GUEST)
            case Hello(unusable=None):
                return fine(_works(answer))
            case Hello():
                return problem(
                    f"{kind} cannot be used: {_sentence(answer.unusable or '')}",
                    _remedy(sight, kind, answer.unusable or ""),
                )

    return computes


def gpu(sight: Sight) -> Verdict | None:
    """Says so where there is no GPU to measure."""
    if not sight.greetings or any(greeting.device != "cpu" for greeting in sight.greetings):
        return None
    return fine("No GPU that torch could use was found; a run measures the CPU alone.")


def synchronization(sight: Sight) -> Verdict | None:
    """Waiting for the GPU takes the time that its work takes: otherwise every time would be too short."""
    for greeting in sight.greetings:
        answer = greeting.answer
        if isinstance(answer, Hello) and answer.probe_synchronized_ns and answer.probe_enqueue_ns is not None:
            return _waited(greeting.device, answer.probe_enqueue_ns, answer.probe_synchronized_ns)
    return None


def _waited(kind: str, enqueue_ns: int, synchronized_ns: int) -> Verdict:
    times = (
        f"a large product was enqueued in {seconds(enqueue_ns / 1e9)} and done after {seconds(synchronized_ns / 1e9)}"
    )
    if _PROBE_FLOPS / synchronized_ns * 1e9 > _IMPOSSIBLE:
        return problem(
            f"{kind} says that it is done when it is not: {times}, faster than any device.",
            "Do not trust times of this torch on this system; take another release of torch, and report it with: "
            "metalmark doctor --bundle DIR",
        )
    if synchronized_ns < _WAITED * enqueue_ns:
        return warning(
            f"It is not proven that {kind} is waited for: {times}.",
            "Quit other programs and call metalmark doctor again; the run itself checks every block.",
        )
    return fine(f"{kind} is waited for: {times}.")


def compiling(sight: Sight) -> Verdict | None:
    """torch.compile has a compiler."""
    if sight.software.torch_version is None:
        return None
    if sight.no_compile is None:
        return fine("torch.compile has the C++ compiler that it needs.")
    what, _, remedy = sight.no_compile.partition(". ")
    return warning(f"{what}. Cases in compile mode would not be run.", remedy or "Install a C++ compiler.")


def _answer(sight: Sight, kind: str) -> Hello | Death | None:
    return next((greeting.answer for greeting in sight.greetings if greeting.device == kind), None)


def _works(answer: Hello) -> str:
    rate = f", {significant(answer.flops_per_s / 1e12)} TFLOP/s in a small product" if answer.flops_per_s else ""
    memory = f", {gibibytes(answer.limit_bytes)} of memory for its work" if answer.limit_bytes else ""
    name = f" ({answer.chip_name})" if answer.chip_name else ""
    return f"It{name} computes and agrees with the CPU's double precision{rate}{memory}."


def _remedy(sight: Sight, kind: str, why: str) -> str:
    if sight.software.rosetta:
        return NATIVE
    if sight.machine.virtual and kind == "mps":
        return _OF_A_GUEST
    known = _REMEDIES.get(
        why, "Restart the machine and try again; if it stays, report it with: metalmark doctor --bundle DIR."
    )
    return known if kind == "cpu" else f"{known} {_CPU_ALONE}"


def _died(kind: str, death: Death) -> Verdict:
    """A worker that ended before it could say anything: what it said last, and what helps against that."""
    found = explain(death.stderr, exit=death.exit_code, timed_out=death.timed_out)
    last = next((line.strip() for line in reversed(death.stderr.splitlines()) if line.strip()), "")
    how = "did not answer in time" if death.timed_out else f"ended with exit status {death.exit_code}"
    told = f"The worker for {kind} {how}" + (f": {scrub(last)}" if last else "")
    return problem(_sentence(told), found.advice)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
