"""The multilayer perceptron that Raschka trains."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from metalmark_db.plausible import Kind

from .base import AUTOCAST, FP32_TRAINING, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family, Optimizer

if TYPE_CHECKING:
    import torch

ADAM = Optimizer(name="Adam", settings={"lr": 0.001}, copies=4)
_PIXELS = 28 * 28


def _model(size: Size) -> torch.nn.Module:
    del size  # small enough for tests as it is
    from torch import nn

    return nn.Sequential(
        nn.Linear(_PIXELS, 256, bias=False),
        nn.ReLU(),
        nn.Linear(256, 128, bias=False),
        nn.ReLU(),
        nn.Linear(128, 64, bias=False),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def _pixels(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    del size
    from .building.weights import normal

    return normal((batch, _PIXELS), numbers)


NETWORK = Network(model=_model, inputs=_pixels)


def _train(job: Job, network: Network) -> Prepared:
    """A perceptron of four layers trained on flattened images of 28 x 28 pixels, with Adam.

    The smallest of Sebastian Raschka's three models in *Running PyTorch on the M1 GPU* (2022,
    [code](https://github.com/rasbt/machine-learning-notes), folder `benchmark/pytorch-m1-gpu`): layers, batch,
    learning rate of 0.001 and optimizer are his. He timed a whole epoch over MNIST, loading included; here one
    training step on a resident random batch is timed. A step is 1.5 million operations for each image: what this
    measures is how fast work can be launched, and a CPU may well win.
    """
    from .building.steps import training

    return training(job, network, ADAM)


_TRAIN = Family(
    name="mlp-train",
    title="Perceptron training",
    source="Raschka 2022",
    model="torch.nn",
    builder=_train,
    optimizer=ADAM,
    bound=Kind.MODEL,
    parameters=242_314,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(9e-4, loss=2e-4, gradient=2e-3),
        half=Tolerance(0.012, loss=1.5e-3, gradient=0.02),
    ),
)
ENTRIES = (_TRAIN.variant(NETWORK, batch=128, flops=484_608, input_shape=str(_PIXELS), kept=4_976),)
