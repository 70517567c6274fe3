"""Seeded weights and inputs, prepared on the CPU so that a wrong device cannot look right."""

import copy
from collections.abc import Sequence

import torch
from torch import nn

from ..base import Job, Network

# As many samples as give steady statistics; more would only lengthen the building.
STATISTICS_SAMPLES = 8
_KEPT_BYTES = 2**30
_LAST: dict[tuple[Network, str, int, int], tuple[nn.Module, torch.Tensor]] = {}
_LAST_NUMBERS: dict[tuple[tuple[int, ...], int], torch.Tensor] = {}
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)


def generator(seed: int) -> torch.Generator:
    """Random numbers from the CPU, so that every device gets the same."""
    return torch.Generator(device="cpu").manual_seed(seed)


def normal(shape: tuple[int, ...], numbers: torch.Generator) -> torch.Tensor:
    """Standard normal input."""
    return torch.randn(shape, generator=numbers, device="cpu")


def drawn_once(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Standard normal numbers, not to be changed: the last are kept, for the CPU's result of what was measured."""
    numbers = _LAST_NUMBERS.get((shape, seed))
    if numbers is None:
        numbers = normal(shape, generator(seed))
    forget()
    if numbers.nbytes <= _KEPT_BYTES:
        _LAST_NUMBERS[shape, seed] = numbers
    return numbers


def forget() -> None:
    """Keep nothing of what was drawn last."""
    _LAST.clear()
    _LAST_NUMBERS.clear()


def drawn(job: Job, network: Network) -> tuple[nn.Module, torch.Tensor]:
    """The prepared model and its input, both on the CPU in single precision.

    The last one is kept, up to a gibibyte: what was measured is drawn again for the CPU's result of it.
    """
    wanted = _wanted(job, network)
    model, inputs = _LAST.get(wanted) or _draw(job, network)
    forget()
    # Nobody draws it after the CPU's double precision, the last to want it, which converts and so copies it.
    if not job.double and sum(tensor.nbytes for tensor in model.state_dict().values()) <= _KEPT_BYTES:
        _LAST[wanted] = model, inputs
        model = copy.deepcopy(model)
    torch.manual_seed(job.seed)  # the stream of dropout, on every device
    return model, inputs[: job.samples]


def first_weights(job: Job, network: Network, model: nn.Module) -> dict[str, torch.Tensor]:
    """The weights of ``model``, just drawn, as training can go back to them: on the CPU, and not copied if kept."""
    kept = _LAST.get(_wanted(job, network))
    state: dict[str, torch.Tensor] = (kept[0] if kept else model).state_dict()
    on_cpu = job.device.torch_device().type == "cpu"  # where the model trains in the tensors that were drawn
    return {name: tensor.clone() for name, tensor in state.items()} if on_cpu and not kept else state


def _wanted(job: Job, network: Network) -> tuple[Network, str, int, int]:
    return network, job.size, job.seed, job.batch


def _draw(job: Job, network: Network) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(job.seed)
    model = network.model(job.size)
    # Another seed than the weights': the same stream would repeat itself in the first layer.
    inputs = network.inputs(job.size, job.batch, generator(job.seed + 1))
    take_statistics(model, inputs[:STATISTICS_SAMPLES])
    shorten(model)
    return model, _short(inputs) if inputs.is_floating_point() else inputs


def take_statistics(model: nn.Module, sample: torch.Tensor) -> None:
    """Give every batch-norm the statistics of ``sample``; fresh ones shrink the signal until it is lost."""
    norms = [module for module in model.modules() if isinstance(module, NORMS)]
    if not norms:
        return
    model.eval()
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = None  # the plain average of what it sees, here one batch
        norm.train()
    with torch.inference_mode():
        model(sample)
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum


def shorten(model: nn.Module) -> None:
    """Round all numbers of a model to those that bfloat16 has, so that converting them loses nothing.

    The rounding of weights would be the largest error of half precision, and the same in every
    sample; without it errors are those of the device's arithmetic, and tolerances three times as tight.
    """
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if tensor.is_floating_point():
                tensor.copy_(_short(tensor))


def without_dropout(model: nn.Module) -> bool:
    """Switch dropout off for good, also where a model keeps its rate as a plain number; whether there was any."""
    rates: list[float] = []
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            rates.append(module.p)
            module.p = 0.0
        if isinstance(getattr(module, "dropout_prob", None), float):  # BERT's attention in transformers 4
            rates.append(vars(module)["dropout_prob"])
            vars(module)["dropout_prob"] = 0.0
    return any(rates)


def layers(model: nn.Module) -> Sequence[torch.Tensor]:
    """The weight tensor of each layer that has one of its own, in the model's order."""
    own = (
        [one for name, one in module.named_parameters(recurse=False) if name.endswith("weight")]
        for module in model.modules()
    )
    return [weights[0] for weights in own if weights]


def _short(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.bfloat16).to(tensor.dtype)
