"""The suite: every workload by its id. Looking one up imports no torch; building one does."""

from collections.abc import Mapping

from metalmark_db.errors import UsageProblem

from .base import Entry
from .bert import BERT_BASE_INFER, BERT_BASE_TRAIN
from .lenet import LENET5_TRAIN
from .operations import COPY_BANDWIDTH, MATMUL_2048
from .resnet import RESNET18_INFER, RESNET50_INFER, RESNET50_TRAIN
from .vgg import VGG16_INFER, VGG16_TRAIN

WORKLOADS: Mapping[str, Entry] = {
    "lenet5-train-b128": LENET5_TRAIN,
    "resnet18-infer-b32": RESNET18_INFER,
    "resnet50-train-b8": RESNET50_TRAIN,
    "resnet50-infer-b8": RESNET50_INFER,
    "vgg16-train-b4": VGG16_TRAIN,
    "vgg16-infer-b4": VGG16_INFER,
    "bert-base-train-t128-b4": BERT_BASE_TRAIN,
    "bert-base-infer-t128-b4": BERT_BASE_INFER,
    "matmul-2048": MATMUL_2048,
    "copy-bandwidth": COPY_BANDWIDTH,
}


def entry(workload: str) -> Entry:
    """The entry of that id."""
    if workload not in WORKLOADS:
        raise UsageProblem(
            f"There is no workload {workload!r}. `metalmark workloads` lists them all: {', '.join(WORKLOADS)}."
        )
    return WORKLOADS[workload]
