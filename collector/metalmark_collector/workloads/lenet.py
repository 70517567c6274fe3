"""LeNet-5, as Raschka trains it."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import AUTOCAST, FP32_TRAINING, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family
from .mlp import ADAM

if TYPE_CHECKING:
    import torch


def _model(size: Size) -> torch.nn.Module:
    del size  # small enough for tests as it is
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 6, kernel_size=5),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, kernel_size=5),
        nn.Tanh(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.Tanh(),
        nn.Linear(120, 84),
        nn.Tanh(),
        nn.Linear(84, 10),
    )


def _images(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    del size
    from .building.weights import normal

    return normal((batch, 1, 32, 32), numbers)


NETWORK = Network(model=_model, inputs=_images)


def _train(job: Job, network: Network) -> Prepared:
    """LeNet-5 trained on images of 32 x 32 pixels, with Adam.

    The layers, the batch, the learning rate of 0.001 and the optimizer are those of Sebastian Raschka's
    *Running PyTorch on the M1 GPU* (2022, [code](https://github.com/rasbt/machine-learning-notes), folder
    `benchmark/pytorch-m1-gpu`). He timed a whole epoch over MNIST, loading included; here one training step on a
    resident random batch is timed, so that only the device counts. The model is tiny: what this measures is
    mostly how fast work can be launched, and a CPU may well win.
    """
    from .building.steps import training

    return training(job, network, ADAM)


_TRAIN = Family(
    name="lenet5-train",
    title="LeNet-5 training",
    source="Raschka 2022",
    model="torch.nn",
    builder=_train,
    optimizer=ADAM,
    parameters=61_706,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(9e-4, loss=4e-5, gradient=1e-3),
        half=Tolerance(0.012, loss=5e-4, gradient=0.012),
    ),
)
ENTRIES = (_TRAIN.variant(NETWORK, batch=128, flops=833_040, input_shape="1x32x32", kept=49_088),)
