"""From a prepared model to work that can be measured: one iteration, and the output that is compared."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy

from metalmark_db.words import Mode

from ..base import Job, Network, Prepared
from ..family import Optimizer
from .formats import LOSS_SCALE, Autocast, autocast, converted
from .weights import drawn, first_weights, generator, layers, without_dropout


def inference(job: Job, network: Network) -> Prepared:
    """The forward pass in ``eval`` and ``inference_mode``."""
    model, inputs = _on_device(job, *drawn(job, network))
    return Inference(job, model.eval(), inputs).prepared()


def training(job: Job, network: Network, optimizer: Optimizer) -> Prepared:
    """One whole training step: zero_grad, forward, cross-entropy, backward, optimizer."""
    model, inputs = drawn(job, network)
    with torch.inference_mode():
        *places, classes = model.eval()(inputs[:1]).shape[1:]  # a language model has one place for each token
    # Another seed than the inputs': from one stream, the labels of a language model would be its own tokens.
    labels = torch.randint(classes, (job.batch, *places), generator=generator(job.seed + 2))[: job.samples]
    if not job.dropout:
        without_dropout(model)
    first = first_weights(job, network, model)
    model, inputs = _on_device(job, model.train(), inputs)
    return Training(job, model, inputs, labels.to(inputs.device), _made(optimizer, model), first).prepared()


class Held:
    """What a workload keeps alive until it is closed."""

    def step(self) -> torch.Tensor:
        """One iteration."""
        raise NotImplementedError

    def output(self) -> torch.Tensor:
        """What the iteration computes, whole; the same thing unless it trains."""
        return self.step()

    def weights(self) -> Sequence[torch.Tensor]:
        """Nothing, for work without a model."""
        return ()

    def prepared(self) -> Prepared:
        """The work as the engine takes it."""
        return Prepared(step=self.step, output=self.output, close=vars(self).clear, weights=self.weights)


class Modelled(Held):
    """A model, in the mode that was asked for, and its fixed input."""

    def __init__(self, job: Job, model: nn.Module, inputs: torch.Tensor) -> None:
        self.model, self.inputs = model, inputs
        self.forward: Callable[[torch.Tensor], Any] = (
            torch.compile(model, dynamic=False) if job.mode is Mode.COMPILE else model
        )

    def weights(self) -> Sequence[torch.Tensor]:
        """One weight tensor of each layer that has any."""
        return layers(self.model)


class Inference(Modelled):
    """A model in evaluation."""

    def step(self) -> torch.Tensor:
        """One forward pass."""
        with torch.inference_mode():
            output: torch.Tensor = self.forward(self.inputs)
        return output


class Training(Modelled):
    """A model in training with its one fixed batch."""

    def __init__(
        self,
        job: Job,
        model: nn.Module,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        optimizer: torch.optim.Optimizer,
        first: dict[str, torch.Tensor],
    ) -> None:
        super().__init__(job, model, inputs)
        self.labels, self.optimizer, self.first = labels, optimizer, first
        self.autocast: Autocast = autocast(job)
        self.scale = LOSS_SCALE.get(job.precision)
        self.wide = torch.float64 if job.double else torch.float32  # of the loss, whatever the logits are in

    def step(self) -> torch.Tensor:
        """One training step; gives the loss."""
        _, loss = self.learn()
        self.optimizer.step()
        return loss

    def learn(self) -> tuple[torch.Tensor, torch.Tensor]:
        """A step without the update of the weights; gives the logits and the loss."""
        self.optimizer.zero_grad()
        with self.autocast():
            output: torch.Tensor = self.forward(self.inputs)
            loss = cross_entropy(output.to(self.wide).flatten(0, -2), self.labels.flatten())
        if self.scale is None:
            loss.backward()  # type: ignore[no-untyped-call]
        else:
            (loss * self.scale).backward()  # type: ignore[no-untyped-call]
            torch._foreach_mul_(self._gradients(), 1 / self.scale)
        return output.detach(), loss.detach()

    def output(self) -> torch.Tensor:
        """The logits of the next step, which is the first one's to compare; only running averages move."""
        with self.autocast():
            output: torch.Tensor = self.forward(self.inputs)
        return output.detach()

    def gradient_norm(self) -> float:
        """Norm of all gradients that the last step left, summed on the CPU in double precision."""
        norms = [float(torch.linalg.vector_norm(one.cpu(), dtype=torch.float64)) for one in self._gradients()]
        return float(torch.tensor(norms, dtype=torch.float64).norm())

    def restart(self, samples: int | None) -> bool:
        """Go back to before the first step, with the first ``samples`` alone; without dropout, if there was any."""
        self.model.load_state_dict(self.first)
        self.optimizer.state.clear()
        self.optimizer.zero_grad()
        self.inputs, self.labels = self.inputs[:samples], self.labels[:samples]
        return without_dropout(self.model)

    def prepared(self) -> Prepared:
        """The work as the engine takes it."""
        return Prepared(
            step=self.step,
            output=self.output,
            close=vars(self).clear,
            gradient_norm=self.gradient_norm,
            learn=self.learn,
            restart=self.restart,
            weights=self.weights,
        )

    def _gradients(self) -> list[torch.Tensor]:
        return [one.grad for one in self.model.parameters() if one.grad is not None]


def _made(optimizer: Optimizer, model: nn.Module) -> torch.optim.Optimizer:
    made: torch.optim.Optimizer = getattr(torch.optim, optimizer.name)(model.parameters(), **optimizer.settings)
    return made


def _on_device(job: Job, model: nn.Module, inputs: torch.Tensor) -> tuple[nn.Module, torch.Tensor]:
    target, dtype = job.device.torch_device(), converted(job)
    model = model.to(device=target, dtype=dtype)
    return model, inputs.to(device=target, dtype=dtype if inputs.is_floating_point() else None)
