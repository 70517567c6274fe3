"""LeNet-5, as Raschka trains it."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from metalmark_db.plausible import Kind
from metalmark_db.words import Task

from .base import AUTOCAST, FP32_TRAINING, Entry, Job, Network, Prepared, Size, Tolerance, described, tolerances

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


def _train(job: Job) -> Prepared:
    """LeNet-5 trained on 128 images of 32 x 32 pixels at a time, with Adam.

    The layers, the batch, the learning rate of 0.001 and the optimizer are those of Sebastian Raschka's
    *Running PyTorch on the M1 GPU* (2022, [code](https://github.com/rasbt/machine-learning-notes), folder
    `benchmark/pytorch-m1-gpu`). He timed a whole epoch over MNIST, loading included; here one training step on a
    resident random batch is timed, so that only the device counts. The model is tiny: what this measures is
    mostly how fast work can be launched, and a CPU may well win.
    """
    from .building.steps import adam, training

    return training(job, NETWORK, adam)


LENET5_TRAIN = Entry(
    facts=described(
        _train,
        id="lenet5-train-b128",
        version=1,
        title="LeNet-5 training",
        source="Raschka 2022",
        task=Task.TRAIN,
        batch=128,
        input_shape="1x32x32",
        item="image",
        items_per_iteration=128,
        flops_per_iteration=319_887_360,
        parameters=61_706,
    ),
    builder=_train,
    bound=Kind.CONVOLUTIONS,
    precisions=AUTOCAST,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(9e-4, loss=4e-5, gradient=1e-3),
        half=Tolerance(0.012, loss=5e-4, gradient=0.012),
    ),
    kept_bytes_per_sample=49_088,
    network=NETWORK,
    optimizer="adam",
)
