"""The numbers written into the entries are those of the real models, recounted without memory or arithmetic."""

import re
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
    "lenet5": (0.000833, 61_706),
    "mlp": (0.000485, 242_314),
    "resnet18": (3.628, 11_689_512),
    "resnet50": (8.178, 25_557_032),
    "vgg16": (30.94, 138_357_544),
    "vgg16-bn": (30.93, 134_309_962),
    "alexnet": (1.428, 61_100_840),
    "vit-b16": (2 * 17.58, 86_567_656),  # with the products of attention, which timm's count of 16.87 GMAC leaves out
    "efficientnet-b0": (0.772, 5_288_548),
    "efficientnet-b4-s224": (3.007, 19_341_616),
    "efficientnet-b4-s320": (6.127, 19_341_616),
    "convmixer-768-32": (41.35, 21_110_248),
    "convmixer-1536-20": (102.2, 51_625_960),
    "bert-base-t128": (22.35, 109_483_778),
    "bert-base-t512": (96.64, 109_483_778),
}
# Of ours nobody has published counts: two operations for each weight that multiplies and each token, and attention's.
_GPT = 2 * 256 * (6 * 12 * 384**2 + 384 * 65) + 6 * 4 * 256**2 * 384
_LLAMA_WEIGHTS = 22 * (2 * 2048**2 + 2 * 2048 * 256 + 3 * 2048 * 5632)
OURS = {
    "gpt-baby": (_GPT / 1e9, 10_770_816),
    "llama-1b-prefill-t512": (
        (2 * 512 * _LLAMA_WEIGHTS + 22 * 4 * 512**2 * 2048 + 2 * 2048 * 32_000) / 1e9,
        1_100_048_384,  # TinyLlama's 1.1 billion
    ),
    "llama-1b-decode-t512": ((2 * _LLAMA_WEIGHTS + 22 * 4 * 513 * 2048 + 2 * 2048 * 32_000) / 1e9, 1_100_048_384),
}


def _counts(name: str) -> tuple[float, int]:
    """What others count of a workload's model at its input."""
    model = re.sub(r"-(train|infer)", "", re.sub(r"-b\d+$", "", name))
    return (PUBLISHED | OURS)[model]


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

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = forward()
        labels = torch.zeros(output.shape[:-1], dtype=torch.long, device="meta")
        loss = cross_entropy(output.flatten(0, -2), labels.flatten())
    assert loss.requires_grad
    sizes = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in held}
    return sum(size for storage, size in sizes.items() if storage not in own)


# One variant of each network: batches do not change what a sample takes.
DISTINCT = list({network: name for name, network in reversed(NETWORKS.items())}.values())


@pytest.mark.parametrize("name", DISTINCT)
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
    assert flops == pytest.approx(_counts(name)[0] * 1e9, rel=0.01)
    assert facts.parameters == _counts(name)[1]


@pytest.mark.parametrize("name", NETWORKS)
def test_the_work_of_a_variant_is_that_of_its_samples(name: str) -> None:
    facts = WORKLOADS[name].facts
    other = next(one.facts for one in WORKLOADS.values() if one.network is NETWORKS[name])
    assert facts.flops_per_iteration is not None
    assert other.flops_per_iteration is not None
    passes = {Task.TRAIN: 3, Task.INFERENCE: 1}
    work = facts.flops_per_iteration / facts.batch / passes[facts.task]
    assert work == other.flops_per_iteration / other.batch / passes[other.task]
    assert work == pytest.approx(_counts(name)[0] * 1e9, rel=0.01)


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
    if entry.facts.task is Task.TRAIN and name not in DISTINCT:
        other = next(one for one in WORKLOADS.values() if one.network is network and one.facts.task is Task.TRAIN)
        assert entry.kept_bytes_per_sample == other.kept_bytes_per_sample
        return
    if entry.facts.task is Task.TRAIN:
        assert (_kept(network, 4) - _kept(network, 2)) / 2 == pytest.approx(entry.kept_bytes_per_sample, rel=0.02)
    else:
        assert entry.kept_bytes_per_sample == 0


@pytest.mark.parametrize("side", [512, 1024, 2048, 4096, 8192])
def test_a_product_of_matrices_counts_two_operations_for_each_of_n_cubed(side: int) -> None:
    assert WORKLOADS[f"matmul-{side}"].facts.flops_per_iteration == 2 * side**3
