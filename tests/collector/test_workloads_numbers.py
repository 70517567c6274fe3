"""The numbers written into the entries are those of the real models, recounted without memory or arithmetic."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from metalmark_collector.workloads import WORKLOADS
from metalmark_collector.workloads.base import Network
from metalmark_collector.workloads.building.weights import generator
from metalmark_db.words import Task

NETWORKS = {name: entry.network for name, entry in WORKLOADS.items() if entry.network is not None}
# Forward GFLOP of one sample and parameters, as other people count them.
PUBLISHED = {
    "lenet5-train-b128": (0.000833, 61_706),
    "resnet18-infer-b32": (3.628, 11_689_512),
    "resnet50-train-b8": (8.178, 25_557_032),
    "resnet50-infer-b8": (8.178, 25_557_032),
    "vgg16-train-b4": (30.94, 138_357_544),
    "vgg16-infer-b4": (30.94, 138_357_544),
    "bert-base-train-t128-b4": (22.35, 109_483_778),
    "bert-base-infer-t128-b4": (22.35, 109_483_778),
}


def _forward(network: Network, batch: int) -> tuple[torch.nn.Module, Callable[[], Tensor]]:
    with torch.device("meta"):
        model = network.model("real")
    inputs = network.inputs("real", batch, generator(1)).to("meta")
    return model, lambda: model(inputs)


def _kept(network: Network, batch: int) -> int:
    """Bytes that autograd keeps for the backward pass, the model's own tensors left out."""
    model, forward = _forward(network, batch)
    own = {tensor.untyped_storage()._cdata for tensor in [*model.parameters(), *model.buffers()]}
    held: list[Tensor] = []

    def pack(tensor: Tensor) -> Tensor:
        held.append(tensor)
        return tensor

    labels = torch.zeros(batch, dtype=torch.long, device="meta")
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = cross_entropy(forward(), labels)
    assert loss.requires_grad
    sizes = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in held}
    return sum(size for storage, size in sizes.items() if storage not in own)


def test_every_network_is_held_against_published_counts() -> None:
    assert set(NETWORKS) == set(PUBLISHED)


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_and_operations_are_recounted(name: str) -> None:
    """The written FLOPs are the counter's, training taken as three forward passes."""
    facts, network = WORKLOADS[name].facts, NETWORKS[name]
    model, forward = _forward(network, batch=1)
    model.eval()
    with FlopCounterMode(display=False) as counter:
        forward()
    flops = counter.get_total_flops()
    passes = 3 if facts.task is Task.TRAIN else 1
    assert facts.flops_per_iteration == passes * facts.batch * flops
    assert facts.parameters == sum(parameter.numel() for parameter in model.parameters())
    assert flops == pytest.approx(PUBLISHED[name][0] * 1e9, rel=0.01)
    assert facts.parameters == PUBLISHED[name][1]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_input_has_the_shape_that_is_written(name: str) -> None:
    facts, network = WORKLOADS[name].facts, NETWORKS[name]
    inputs = network.inputs("real", facts.batch, generator(1))
    assert "x".join(map(str, inputs.shape[1:])) == facts.input_shape
    assert len(inputs) == facts.batch


@pytest.mark.parametrize("name", NETWORKS)
def test_what_a_training_keeps_of_a_sample_is_remeasured(name: str) -> None:
    """The slope over the batch, so that what is kept once does not count; inference keeps nothing."""
    entry, network = WORKLOADS[name], NETWORKS[name]
    if entry.facts.task is Task.TRAIN:
        assert (_kept(network, 4) - _kept(network, 2)) / 2 == pytest.approx(entry.kept_bytes_per_sample, rel=0.02)
    else:
        assert entry.kept_bytes_per_sample == 0


def test_a_product_of_matrices_counts_two_operations_for_each_of_n_cubed() -> None:
    assert WORKLOADS["matmul-2048"].facts.flops_per_iteration == 2 * 2048**3
