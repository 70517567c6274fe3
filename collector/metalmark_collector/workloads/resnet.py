"""ResNet-18 and ResNet-50 from torchvision."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import AUTOCAST, CONVERTED, FP32_TRAINING, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import SGD, Family
from .images import SHAPE, images

if TYPE_CHECKING:
    import torch
    from torchvision.models.resnet import BasicBlock, Bottleneck


def _resnet18(size: Size) -> torch.nn.Module:
    from torchvision.models.resnet import BasicBlock, resnet18

    return _steadied(resnet18(weights=None) if size == "real" else _tiny(BasicBlock))


def _resnet50(size: Size) -> torch.nn.Module:
    from torchvision.models.resnet import Bottleneck, resnet50

    return _steadied(resnet50(weights=None) if size == "real" else _tiny(Bottleneck))


def _tiny(block: type[BasicBlock | Bottleneck]) -> torch.nn.Module:
    """The library's stem, two of its blocks and its head."""
    from torch import nn

    stem = [nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    blocks = [block(64, 64 // block.expansion) for _ in range(2)]
    return nn.Sequential(
        *stem, nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)
    )


def _steadied(model: torch.nn.Module) -> torch.nn.Module:
    """Biases with which few numbers fall below zero, where each ReLU would cut half of them.

    Cutting doubles what little two signals differ by, at every block, until a rounding error fills
    half of the output and a block that computes nothing is not noticed.
    """
    from torch import nn
    from torchvision.models.resnet import BasicBlock, Bottleneck

    for block in model.modules():
        if isinstance(block, BasicBlock | Bottleneck):
            nn.init.constant_(block.bn1.bias, 2.0)
            if isinstance(block, Bottleneck):
                nn.init.constant_(block.bn2.bias, 2.0)
            if block.downsample is not None:
                nn.init.constant_(block.downsample[1].bias, 1.5)
    return model


RESNET18 = Network(model=_resnet18, inputs=images)
RESNET50 = Network(model=_resnet50, inputs=images)


def _resnet18_infer(job: Job, network: Network) -> Prepared:
    """ResNet-18 classifying images of 224 x 224 pixels.

    One of the models of Dmytro Mishkin's first comparison of PyTorch on the M1's CPU and GPU (May 2022). He published
    one time each and neither batch nor image size; both are ours, the batch of 32 near what his CPU times imply. The
    model is torchvision's `resnet18` with random weights and 1000 classes, the input standard normal and resident on
    the device, the iteration a forward pass in evaluation mode.
    """
    from .building.steps import inference

    return inference(job, network)


def _resnet50_infer(job: Job, network: Network) -> Prepared:
    """ResNet-50 classifying images of 224 x 224 pixels.

    The evaluation half of the ResNet-50 bars in Apple's and PyTorch's announcement of May 2022, which gives a
    batch of 128 and speed-ups over the CPU only. Image size, random weights, 1000 classes and single precision are
    ours, and so are the smaller batches, which fit every Mac. Mishkin timed the same model in the same month and
    found the GPU slower than the CPU.
    """
    from .building.steps import inference

    return inference(job, network)


def _resnet50_train(job: Job, network: Network) -> Prepared:
    """ResNet-50 trained on images of 224 x 224 pixels.

    The training half of the ResNet-50 bars in Apple's and PyTorch's announcement of May 2022, which gives a batch
    of 128 and neither image size, loss nor optimizer. Those are ours: cross-entropy over 1000 classes and SGD with
    learning rate 0.001 and momentum 0.9, on one resident batch of random images; the smaller batches fit every
    Mac. An iteration is a whole step: gradients cleared, forward, loss, backward, weights updated.
    """
    from .building.steps import training

    return training(job, network, SGD)


_RESNET18_INFER = Family(
    name="resnet18-infer",
    title="ResNet-18 inference",
    source="Mishkin 2022",
    model="torchvision resnet18",
    builder=_resnet18_infer,
    parameters=11_689_512,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(7e-4), half=Tolerance(0.009)),
)
_RESNET50_INFER = Family(
    name="resnet50-infer",
    title="ResNet-50 inference",
    source="Apple and PyTorch 2022; Mishkin 2022",
    model="torchvision resnet50",
    builder=_resnet50_infer,
    parameters=25_557_032,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(1.1e-3), half=Tolerance(0.014)),
)
_RESNET50_TRAIN = Family(
    name="resnet50-train",
    title="ResNet-50 training",
    source="Apple and PyTorch 2022",
    model="torchvision resnet50",
    builder=_resnet50_train,
    optimizer=SGD,
    parameters=25_557_032,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(1.1e-3, loss=4e-4, gradient=1.1e-3),
        half=Tolerance(0.013, loss=4e-3, gradient=0.013),
    ),
)
ENTRIES = (
    *(_RESNET18_INFER.variant(RESNET18, batch=batch, flops=3_628_146_688, input_shape=SHAPE) for batch in (1, 32)),
    *(
        _RESNET50_INFER.variant(RESNET50, batch=batch, flops=8_178_368_512, input_shape=SHAPE)
        for batch in (1, 8, 32, 128)
    ),
    *(
        _RESNET50_TRAIN.variant(RESNET50, batch=batch, flops=8_178_368_512, input_shape=SHAPE, kept=85_913_512)
        for batch in (8, 32, 128)
    ),
)
