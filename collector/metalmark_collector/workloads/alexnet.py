"""AlexNet from torchvision."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import CONVERTED, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family
from .images import SHAPE, images

if TYPE_CHECKING:
    import torch


def _model(size: Size) -> torch.nn.Module:
    from torchvision.models.alexnet import alexnet

    return alexnet(weights=None) if size == "real" else _tiny()


def _tiny() -> torch.nn.Module:
    """The same kinds of layers with few channels, for images that are too small for the real ones."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(3, 16, kernel_size=5, stride=2, padding=2),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(16, 32, kernel_size=3, padding=1),
        nn.ReLU(inplace=True),
        nn.AdaptiveAvgPool2d(3),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(32 * 9, 64),
        nn.ReLU(inplace=True),
        nn.Linear(64, 10),
    )


NETWORK = Network(model=_model, inputs=images)


def _infer(job: Job, network: Network) -> Prepared:
    """AlexNet classifying images of 224 x 224 pixels.

    One of the models of Dmytro Mishkin's first comparison of PyTorch on the M1's CPU and GPU (May 2022). He
    published one time each and neither batch nor image size; both are ours. At a batch of 32 his time on the GPU
    would mean three times what that GPU can compute, so it was probably taken without waiting for it. The model is
    torchvision's `alexnet` with random weights and 1000 classes. Its few, large layers hold 61 million weights,
    which a batch of 1 has to read for little work.
    """
    from .building.steps import inference

    return inference(job, network)


_INFER = Family(
    name="alexnet-infer",
    title="AlexNet inference",
    source="Mishkin 2022",
    model="torchvision alexnet",
    builder=_infer,
    parameters=61_100_840,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(7e-4), half=Tolerance(0.009)),
)
ENTRIES = tuple(_INFER.variant(NETWORK, batch=batch, flops=1_428_376_960, input_shape=SHAPE) for batch in (1, 32))
