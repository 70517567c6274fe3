"""The suite: every workload by its id. Looking one up imports no torch; building one does."""

from collections.abc import Mapping

from . import (
    alexnet,
    bert,
    convmixer,
    efficientnet,
    gpt,
    lenet,
    llama,
    matmul,
    mlp,
    overheads,
    resnet,
    transfers,
    vgg,
    vit,
)
from .base import Entry

_FAMILIES = (
    lenet,
    mlp,
    resnet,
    vgg,
    alexnet,
    vit,
    efficientnet,
    convmixer,
    bert,
    gpt,
    llama,
    matmul,
    transfers,
    overheads,
)

WORKLOADS: Mapping[str, Entry] = {entry.facts.id: entry for family in _FAMILIES for entry in family.ENTRIES}

# Each in the suite's order: what a page or a line about a model is made of.
FAMILIES: Mapping[str, tuple[Entry, ...]] = {
    name: tuple(entry for entry in WORKLOADS.values() if entry.facts.family == name)
    for name in dict.fromkeys(entry.facts.family or entry.facts.id for entry in WORKLOADS.values())
}
