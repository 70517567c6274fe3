"""EfficientNet-B0 and -B4 from timm."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from .base import CONVERTED, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family
from .images import SHAPE, images

if TYPE_CHECKING:
    import torch

_LARGE = 320  # pixels, at which timm's own weights of B4 were trained


def _b0(size: Size) -> torch.nn.Module:
    from timm.models.efficientnet import efficientnet_b0

    return _conditioned(efficientnet_b0(pretrained=False) if size == "real" else _tiny())


def _b4(size: Size) -> torch.nn.Module:
    from timm.models.efficientnet import efficientnet_b4

    return _conditioned(efficientnet_b4(pretrained=False) if size == "real" else _tiny())


def _tiny() -> torch.nn.Module:
    """The library's stem and head with three of its blocks."""
    from timm.models._efficientnet_builder import decode_arch_def
    from timm.models.efficientnet import EfficientNet

    decode: Any = decode_arch_def  # has no types
    blocks = decode([["ds_r1_k3_s1_e1_c16_se0.25"], ["ir_r2_k5_s2_e6_c24_se0.25"]])
    return EfficientNet(blocks, num_features=64, stem_size=16, num_classes=10)


def _conditioned(model: torch.nn.Module) -> torch.nn.Module:
    """Biases with which few numbers fall where the activation bends, which doubles small errors block by block."""
    from torch import nn

    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d) and isinstance(getattr(module, "act", None), nn.SiLU):
            nn.init.constant_(module.bias, 1.0)
    return model


B0 = Network(model=_b0, inputs=images)
B4 = Network(model=_b4, inputs=images)
B4_LARGE = Network(model=_b4, inputs=functools.partial(images, side=_LARGE))


def _b0_infer(job: Job, network: Network) -> Prepared:
    """EfficientNet-B0 classifying images of 224 x 224 pixels.

    Dmytro Mishkin found it 2.5 times as fast on the M1's GPU as on its CPU (May 2022), at a batch and an image
    size that he did not give. The model is timm's `efficientnet_b0` with random weights and 1000 classes. Its
    depthwise convolutions do little arithmetic for each number that they move, so that devices do worse on it than
    their peaks promise.
    """
    from .building.steps import inference

    return inference(job, network)


def _b4_infer(job: Job, network: Network) -> Prepared:
    """EfficientNet-B4 classifying images of 224 x 224 or 320 x 320 pixels.

    Dmytro Mishkin found it 3.5 times as fast on the M1's GPU as on its CPU (May 2022), at a batch and an image
    size that he did not give: 224 is what his other models take, 320 what timm's weights were trained at. The
    model is timm's `efficientnet_b4` with random weights and 1000 classes.
    """
    from .building.steps import inference

    return inference(job, network)


_B0_INFER = Family(
    name="efficientnet-b0-infer",
    title="EfficientNet-B0 inference",
    source="Mishkin 2022",
    model="timm efficientnet_b0",
    builder=_b0_infer,
    parameters=5_288_548,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(1.2e-3), half=Tolerance(0.022)),
)
_B4_INFER = Family(
    name="efficientnet-b4-infer",
    title="EfficientNet-B4 inference",
    source="Mishkin 2022",
    model="timm efficientnet_b4",
    builder=_b4_infer,
    parameters=19_341_616,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(1.6e-3), half=Tolerance(0.029)),
)
ENTRIES = (
    *(_B0_INFER.variant(B0, batch=batch, flops=771_629_504, input_shape=SHAPE) for batch in (1, 16, 32)),
    *(
        _B4_INFER.variant(B4, batch=batch, flops=3_007_420_864, input_shape=SHAPE, part="s224", shape="224 pixels")
        for batch in (1, 32)
    ),
    *(
        _B4_INFER.variant(
            B4_LARGE,
            batch=batch,
            flops=6_127_374_016,
            input_shape=f"3x{_LARGE}x{_LARGE}",
            part="s320",
            shape="320 pixels",
        )
        for batch in (1, 32)
    ),
)
