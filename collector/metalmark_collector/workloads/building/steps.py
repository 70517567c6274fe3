"""From a network to work that can be measured: seeded weights and inputs, one iteration, the output."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metalmark_db.words import Precision

from ..base import Job, Network, Prepared

Optimizer = Callable[[nn.Module], torch.optim.Optimizer]

# As many samples as give steady statistics; more would only lengthen the building.
STATISTICS_SAMPLES = 8
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
CONVERTED = {Precision.FP16: torch.float16, Precision.BF16: torch.bfloat16}


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    """Plain SGD with momentum; the learning rate is one at which every model's loss falls."""
    return torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)


def adam(model: nn.Module) -> torch.optim.Optimizer:
    """Adam as Raschka's scripts set it."""
    return torch.optim.Adam(model.parameters(), lr=0.001)


def inference(job: Job, network: Network) -> Prepared:
    """The forward pass in ``eval`` and ``inference_mode``."""
    model, inputs = _on_device(job, *drawn(job, network))
    return Inference(model.eval(), inputs).prepared()


def training(job: Job, network: Network, optimizer: Optimizer) -> Prepared:
    """One whole training step: zero_grad, forward, cross-entropy, backward, optimizer."""
    model, inputs = drawn(job, network)
    with torch.inference_mode():
        classes = model.eval()(inputs[:1]).shape[-1]
    labels = torch.randint(classes, (job.batch,), generator=generator(job.seed + 1))
    model, inputs = _on_device(job, model.train(), inputs)
    return Training(model, inputs, labels.to(inputs.device), optimizer(model)).prepared()


class Held:
    """What a workload keeps alive until it is closed."""

    def step(self) -> torch.Tensor:
        """One iteration."""
        raise NotImplementedError

    def output(self) -> torch.Tensor:
        """What the iteration computes, whole; the same thing unless it trains."""
        return self.step()

    def prepared(self) -> Prepared:
        """The work as the engine takes it."""
        return Prepared(step=self.step, output=self.output, close=vars(self).clear)


class Inference(Held):
    """A model and its fixed input."""

    def __init__(self, model: nn.Module, inputs: torch.Tensor) -> None:
        self.model, self.inputs = model, inputs

    def step(self) -> torch.Tensor:
        """One forward pass."""
        with torch.inference_mode():
            output: torch.Tensor = self.model(self.inputs)
        return output


class Training(Held):
    """A model in training with its one fixed batch."""

    def __init__(
        self, model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, optimizer: torch.optim.Optimizer
    ) -> None:
        self.model, self.inputs, self.labels, self.optimizer = model, inputs, labels, optimizer

    def step(self) -> torch.Tensor:
        """One training step; gives the loss."""
        self.optimizer.zero_grad()
        loss = cross_entropy(self.model(self.inputs), self.labels)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    def output(self) -> torch.Tensor:
        """Dropout off; batch-norm by its stored statistics, which stay as they are."""
        self.model.eval()
        with torch.inference_mode():
            output: torch.Tensor = self.model(self.inputs)
        self.model.train()
        return output


def generator(seed: int) -> torch.Generator:
    """Random numbers from the CPU, so that every device gets the same."""
    return torch.Generator(device="cpu").manual_seed(seed)


def normal(shape: tuple[int, ...], numbers: torch.Generator) -> torch.Tensor:
    """Standard normal input."""
    return torch.randn(shape, generator=numbers, device="cpu")


def drawn(job: Job, network: Network) -> tuple[nn.Module, torch.Tensor]:
    """The prepared model and its input, both on the CPU in single precision."""
    torch.manual_seed(job.seed)  # also the stream of dropout, on every device
    model = network.model(job.size)
    # Another seed than the weights': the same stream would repeat itself in the first layer.
    inputs = network.inputs(job.size, job.batch, generator(job.seed + 1))
    take_statistics(model, inputs[:STATISTICS_SAMPLES])
    return model, inputs


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


def _on_device(job: Job, model: nn.Module, inputs: torch.Tensor) -> tuple[nn.Module, torch.Tensor]:
    target = job.device.torch_device()
    dtype = CONVERTED.get(job.precision)
    model = model.to(device=target, dtype=dtype)
    return model, inputs.to(device=target, dtype=dtype if inputs.is_floating_point() else None)
