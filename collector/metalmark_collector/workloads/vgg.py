"""VGG16 from torchvision."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from metalmark_db.plausible import Kind
from metalmark_db.words import Task

from .base import (
    AUTOCAST,
    CONVERTED,
    FP32_TRAINING,
    Entry,
    Job,
    Network,
    Prepared,
    Size,
    Tolerance,
    described,
    tolerances,
)

if TYPE_CHECKING:
    import torch


def _model(size: Size) -> torch.nn.Module:
    from torchvision.models.vgg import vgg16

    return vgg16(weights=None) if size == "real" else _tiny()


def _tiny() -> torch.nn.Module:
    """The same kinds of layers with few channels: VGG16's own first linear layer alone has 103 million weights."""
    from torch import nn
    from torchvision.models.vgg import make_layers

    features = make_layers([8, "M", 16, "M", 32, 32, "M"], batch_norm=False)
    for layer in features:
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    linear = [nn.Linear(32 * 4, 32), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(32, 10)]
    return nn.Sequential(features, nn.AdaptiveAvgPool2d(2), nn.Flatten(), *linear)


def _images(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    from .building.weights import normal

    side = 224 if size == "real" else 32
    return normal((batch, 3, side, side), numbers)


NETWORK = Network(model=_model, inputs=_images)


def _train(job: Job) -> Prepared:
    """VGG16 trained on 4 images of 224 x 224 pixels at a time.

    The training half of the VGG16 bars in Apple's and PyTorch's announcement of May 2022, which gives a batch of
    64 and neither image size, loss nor optimizer. The plain VGG16 of torchvision, 1000 classes, cross-entropy and
    SGD with learning rate 0.001 and momentum 0.9 are ours, and so is the batch of 4, which fits every Mac.
    Dropout is on, as published. With 138 million weights, updating them is a visible share of each step.
    """
    from .building.steps import sgd, training

    return training(job, NETWORK, sgd)


def _infer(job: Job) -> Prepared:
    """VGG16 classifying 4 images of 224 x 224 pixels at a time.

    The evaluation half of the VGG16 bars in Apple's and PyTorch's announcement of May 2022, which gives a batch of
    64 and no image size. The plain VGG16 of torchvision with 1000 classes is ours, and so is the batch of 4, which
    fits every Mac.
    """
    from .building.steps import inference

    return inference(job, NETWORK)


VGG16_TRAIN = Entry(
    facts=described(
        _train,
        id="vgg16-train-b4",
        version=1,
        title="VGG16 training",
        source="Apple and PyTorch 2022",
        task=Task.TRAIN,
        batch=4,
        input_shape="3x224x224",
        item="image",
        items_per_iteration=4,
        flops_per_iteration=371_286_343_680,
        parameters=138_357_544,
    ),
    builder=_train,
    bound=Kind.CONVOLUTIONS,
    precisions=AUTOCAST,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(2.4e-3, loss=2e-4, gradient=3e-3),
        half=Tolerance(0.018, loss=1.5e-3, gradient=0.018),
    ),
    kept_bytes_per_sample=73_359_272,
    network=NETWORK,
)
VGG16_INFER = Entry(
    facts=described(
        _infer,
        id="vgg16-infer-b4",
        version=1,
        title="VGG16 inference",
        source="Apple and PyTorch 2022",
        task=Task.INFERENCE,
        batch=4,
        input_shape="3x224x224",
        item="image",
        items_per_iteration=4,
        flops_per_iteration=123_762_114_560,
        parameters=138_357_544,
    ),
    builder=_infer,
    bound=Kind.CONVOLUTIONS,
    precisions=CONVERTED,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(2.4e-3), half=Tolerance(0.018)),
    kept_bytes_per_sample=0,
    network=NETWORK,
)
