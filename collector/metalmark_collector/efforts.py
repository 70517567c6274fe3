"""How much each effort measures, and for how long: membership and budgets are data in one table."""

from collections.abc import Mapping
from dataclasses import dataclass

from metalmark_db.errors import UsageProblem
from metalmark_db.words import Effort


@dataclass(frozen=True)
class Scope:
    """What a run of one effort does."""

    rounds: int
    aimed_s: int  # what a run should take on an M1
    limit_s: int  # what no run may exceed
    workloads: tuple[str, ...]  # ids, each on the CPU and on the GPU


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
    ),
}


class _Efforts(dict[Effort, Scope]):
    def __missing__(self, effort: Effort) -> Scope:
        raise UsageProblem(
            f"The effort {effort.value!r} comes with a later version of Metalmark. "
            f"This one knows: {', '.join(known.value for known in self)}."
        )


EFFORTS: Mapping[Effort, Scope] = _Efforts(_TABLE)  # an effort that is not in the table yet raises UsageProblem
