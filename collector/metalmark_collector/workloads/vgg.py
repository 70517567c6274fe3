"""VGG16 from torchvision, plain and with batch norm."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import AUTOCAST, CONVERTED, FP32_TRAINING, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import SGD, Family, Optimizer
from .images import SHAPE, images

if TYPE_CHECKING:
    import torch

_ADAM = Optimizer(name="Adam", settings={"lr": 0.00001}, copies=4)
_TINY_ADAM = Optimizer(name="Adam", settings={"lr": 0.0005}, copies=4)  # few weights have to move further to be noticed


def _vgg16(size: Size) -> torch.nn.Module:
    from torchvision.models.vgg import vgg16

    return vgg16(weights=None) if size == "real" else _tiny(batch_norm=False)


def _vgg16_bn(size: Size) -> torch.nn.Module:
    from torchvision.models.vgg import vgg16_bn

    if size == "real":
        return _steadied(vgg16_bn(weights=None, num_classes=10), 2.0)
    return _steadied(_tiny(batch_norm=True), 0.5)  # with few channels a larger bias would drown the signal


def _steadied(model: torch.nn.Module, bias: float) -> torch.nn.Module:
    """Biases with which few numbers fall below zero, where a ReLU would cut half of them and double small errors."""
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.constant_(module.bias, bias)
    return model


def _tiny(*, batch_norm: bool) -> torch.nn.Module:
    """The same kinds of layers with few channels: VGG16's own first linear layer alone has 103 million weights."""
    from torch import nn
    from torchvision.models.vgg import make_layers

    features = make_layers([8, "M", 16, "M", 32, 32, "M"], batch_norm=batch_norm)
    for layer in features:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    linear = [nn.Linear(32 * 4, 32), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(32, 10)]
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(2), nn.Flatten(), *linear)


VGG16 = Network(model=_vgg16, inputs=images)
VGG16_BN = Network(model=_vgg16_bn, inputs=images)


def _train(job: Job, network: Network) -> Prepared:
    """VGG16 trained on images of 224 x 224 pixels.

    The training half of the VGG16 bars in Apple's and PyTorch's announcement of May 2022, which gives a batch of
    64 and neither image size, loss nor optimizer. The plain VGG16 of torchvision, 1000 classes, cross-entropy and
    SGD with learning rate 0.001 and momentum 0.9 are ours, and so is the batch of 4, which fits every Mac.
    Dropout is on, as published. With 138 million weights, updating them is a visible share of each step.
    """
    from .building.steps import training

    return training(job, network, SGD)


def _infer(job: Job, network: Network) -> Prepared:
    """VGG16 classifying images of 224 x 224 pixels.

    The evaluation half of the VGG16 bars in Apple's and PyTorch's announcement of May 2022, which gives a batch of
    64 and no image size, and one of the models that Dmytro Mishkin timed in the same month. The plain VGG16 of
    torchvision with 1000 classes is ours, and so are the smaller batches, which fit every Mac.
    """
    from .building.steps import inference

    return inference(job, network)


def _bn_train(job: Job, network: Network) -> Prepared:
    """VGG16 with batch norm trained on images of 224 x 224 pixels, ten classes, with Adam.

    The largest of Sebastian Raschka's three models in *Running PyTorch on the M1 GPU* (2022,
    [code](https://github.com/rasbt/machine-learning-notes), folder `benchmark/pytorch-m1-gpu`), whose text says
    VGG16 and whose code takes `vgg16_bn`. Batch and optimizer are his; with his learning rate of 0.0005 the first
    losses rise on correct devices too, so ours is far lower, which costs the same. He timed an epoch over CIFAR-10,
    scaling and loading included; here one training step on a resident random batch is timed, so that only the
    device counts.
    """
    from .building.steps import training

    return training(job, network, _ADAM if job.size == "real" else _TINY_ADAM)


_TRAIN = Family(
    name="vgg16-train",
    title="VGG16 training",
    source="Apple and PyTorch 2022",
    model="torchvision vgg16",
    builder=_train,
    optimizer=SGD,
    parameters=138_357_544,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(2.4e-3, loss=2e-4, gradient=3e-3),
        half=Tolerance(0.018, loss=1.5e-3, gradient=0.018),
    ),
)
_INFER = Family(
    name="vgg16-infer",
    title="VGG16 inference",
    source="Apple and PyTorch 2022; Mishkin 2022",
    model="torchvision vgg16",
    builder=_infer,
    parameters=138_357_544,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(2.4e-3), half=Tolerance(0.018)),
)
_BN_TRAIN = Family(
    name="vgg16-bn-train",
    title="VGG16 with batch norm, training",
    source="Raschka 2022",
    model="torchvision vgg16_bn",
    builder=_bn_train,
    optimizer=_ADAM,
    parameters=134_309_962,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(2.6e-3, loss=6e-4, gradient=2.6e-3),
        half=Tolerance(0.03, loss=7e-3, gradient=0.03),
    ),
)
_FLOPS = 30_940_528_640
ENTRIES = (
    *(_TRAIN.variant(VGG16, batch=batch, flops=_FLOPS, input_shape=SHAPE, kept=73_359_272) for batch in (4, 64)),
    *(_INFER.variant(VGG16, batch=batch, flops=_FLOPS, input_shape=SHAPE) for batch in (1, 4, 16, 32, 64)),
    _BN_TRAIN.variant(VGG16_BN, batch=32, flops=30_932_418_560, input_shape=SHAPE, kept=127_545_392),
)
