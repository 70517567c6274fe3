"""How much each effort measures, and for how long: membership and budgets are data in one table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalmark_db.errors import UsageProblem
from metalmark_db.words import Effort, Mode, Precision


@dataclass(frozen=True)
class Scope:
    """What a run of one effort does."""

    rounds: int
    aimed_s: int  # what a run should take on an M1
    limit_s: int  # what no run may exceed
    workloads: tuple[str, ...]  # ids, each on the CPU and on the GPU
    beside_fp32: Mapping[str, tuple[Precision, ...]] = field(default_factory=dict)  # by workload, on a GPU
    compiled: tuple[str, ...] = ()  # workloads that a GPU measures in compile mode as well
    sustained: tuple[str, ...] = ()  # workloads that work back to back once more after the last round
    sustain_s: float = 0.0  # for how long

    def precisions(self, workload: str, device: str) -> tuple[Precision, ...]:
        """The precisions of a workload on a device; the CPU has fp32 alone, since half is slow without units for it.

        A device may lack some of them: the workload's entry says which it has.
        """
        return (Precision.FP32,) if device == "cpu" else (Precision.FP32, *self.beside_fp32.get(workload, ()))

    def modes(self, workload: str, device: str) -> tuple[Mode, ...]:
        """The modes of a workload on a device."""
        return (Mode.EAGER, Mode.COMPILE) if device != "cpu" and workload in self.compiled else (Mode.EAGER,)


_TABLE = {
    Effort.QUICK: Scope(
        rounds=1,
        aimed_s=90,
        limit_s=240,
        workloads=(
            "lenet5-train-b128",
            "resnet18-infer-b32",
            "resnet50-train-b8",
            "resnet50-infer-b8",
            "vgg16-train-b4",
            "bert-base-train-t128-b4",
            "bert-base-infer-t128-b4",
            "matmul-2048",
            "copy-bandwidth",
        ),
        beside_fp32={"matmul-2048": (Precision.FP16,)},
    ),
}


class _Efforts(dict[Effort, Scope]):
    def __missing__(self, effort: Effort) -> Scope:
        raise UsageProblem(
            f"The effort {effort.value!r} comes with a later version of Metalmark. "
            f"This one knows: {', '.join(known.value for known in self)}."
        )


EFFORTS: Mapping[Effort, Scope] = _Efforts(_TABLE)  # an effort that is not in the table yet raises UsageProblem
