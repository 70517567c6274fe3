"""The vision transformer ViT-B/16 from timm."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING

from metalmark_db.plausible import Kind

from .base import CONVERTED, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family
from .images import SHAPE, TINY_SIDE, images

if TYPE_CHECKING:
    import torch

_SHARPER = 1.5  # the variance of queries and keys, so that the scores of attention differ
_NARROWER = 0.5  # what the second half of each block adds, so that the first has a say


def _model(size: Size) -> torch.nn.Module:
    from timm.models.vision_transformer import VisionTransformer, vit_base_patch16_224

    if size == "real":
        return _conditioned(vit_base_patch16_224(pretrained=False))
    return _conditioned(
        VisionTransformer(img_size=TINY_SIDE, patch_size=8, embed_dim=64, depth=2, num_heads=2, num_classes=10)
    )


def _conditioned(model: torch.nn.Module) -> torch.nn.Module:
    """Weights with which attention and every block matter.

    As drawn, every token attends to all alike, and the blocks add a thousandth to what they are given,
    so that wrong attention looks right.
    """
    import torch
    from torch import nn

    with torch.no_grad():
        for name, module in model.named_modules():
            if isinstance(module, nn.Linear):
                module.weight.normal_(std=module.in_features**-0.5)
                if name.endswith(".qkv"):
                    module.weight[: 2 * module.in_features] *= _SHARPER**0.5
                if name.endswith(".fc2"):
                    module.weight *= _NARROWER
    return model


NETWORK = Network(model=_model, inputs=images)


def _infer(job: Job, network: Network) -> Prepared:
    """ViT-B/16 classifying images of 224 x 224 pixels.

    The vision transformer of Dmytro Mishkin's first comparison of PyTorch on the M1's CPU and GPU (May 2022),
    which crashed on the GPU; he gave neither batch nor the exact variant. Here it is timm's `vit_base_patch16_224`
    with random weights and 1000 classes, its attention PyTorch's `scaled_dot_product_attention`. A device on which
    it still crashes has that as its result.
    """
    from .building.steps import inference

    return inference(job, network)


_INFER = Family(
    name="vit-b16-infer",
    title="ViT-B/16 inference",
    source="Mishkin 2022",
    model="timm vit_base_patch16_224",
    builder=_infer,
    bound=Kind.MODEL,
    parameters=86_567_656,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(1.2e-3), half=Tolerance(0.025)),
)
ENTRIES = tuple(_INFER.variant(NETWORK, batch=batch, flops=35_127_656_448, input_shape=SHAPE) for batch in (1, 16, 32))
