"""ConvMixer from timm, in two sizes."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import CONVERTED, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family
from .images import SHAPE, images

if TYPE_CHECKING:
    import torch


def _768_32(size: Size) -> torch.nn.Module:
    from timm.models.convmixer import convmixer_768_32

    return _conditioned(convmixer_768_32(pretrained=False) if size == "real" else _tiny())


def _1536_20(size: Size) -> torch.nn.Module:
    from timm.models.convmixer import convmixer_1536_20

    return _conditioned(convmixer_1536_20(pretrained=False) if size == "real" else _tiny())


def _tiny() -> torch.nn.Module:
    """The library's model with two narrow blocks."""
    from timm.models.convmixer import ConvMixer

    return ConvMixer(dim=32, depth=2, kernel_size=5, patch_size=4, num_classes=10)


def _conditioned(model: torch.nn.Module) -> torch.nn.Module:
    """Biases with which few numbers fall where the activation bends, and an output that is not zero on average.

    The activations double small errors block by block; and what the last batch norm gives has a mean of
    zero, of which the average over all places would leave nothing but errors.
    """
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            nn.init.constant_(module.bias, 2.0)
    *_, last = (module for module in model.modules() if isinstance(module, nn.BatchNorm2d))
    nn.init.constant_(last.bias, 0.2)
    return model


SMALL = Network(model=_768_32, inputs=images)
LARGE = Network(model=_1536_20, inputs=images)


def _small_infer(job: Job, network: Network) -> Prepared:
    """ConvMixer-768/32 classifying images of 224 x 224 pixels.

    Dmytro Mishkin timed a ConvMixer on the M1's CPU and GPU (May 2022) and did not say which: this is a
    smaller one, timm's `convmixer_768_32` with random weights and 1000 classes. Its depthwise
    convolutions of 7 x 7 keep the whole resolution through all 32 blocks.
    """
    from .building.steps import inference

    return inference(job, network)


def _large_infer(job: Job, network: Network) -> Prepared:
    """ConvMixer-1536/20 classifying images of 224 x 224 pixels.

    Dmytro Mishkin timed a ConvMixer on the M1's CPU and GPU (May 2022) and did not say which: this is the larger
    one, which his time is nearer to: timm's `convmixer_1536_20` with random weights and 1000 classes. An image takes
    twelve times as much work as in ResNet-50.
    """
    from .building.steps import inference

    return inference(job, network)


_SMALL_INFER = Family(
    name="convmixer-768-32-infer",
    title="ConvMixer-768/32 inference",
    source="Mishkin 2022",
    model="timm convmixer_768_32",
    builder=_small_infer,
    parameters=21_110_248,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(9e-4), half=Tolerance(0.022)),
)
_LARGE_INFER = Family(
    name="convmixer-1536-20-infer",
    title="ConvMixer-1536/20 inference",
    source="Mishkin 2022",
    model="timm convmixer_1536_20",
    builder=_large_infer,
    parameters=51_625_960,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(9e-4), half=Tolerance(0.031)),
)
ENTRIES = (
    *(_SMALL_INFER.variant(SMALL, batch=batch, flops=41_353_703_424, input_shape=SHAPE) for batch in (1, 32)),
    *(_LARGE_INFER.variant(LARGE, batch=batch, flops=102_198_337_536, input_shape=SHAPE) for batch in (1, 32)),
)
