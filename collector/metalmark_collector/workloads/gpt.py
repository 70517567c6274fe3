"""A small GPT, as people train it on their own machines."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metalmark_db.plausible import Kind

from .base import AUTOCAST, FP32_TRAINING, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family, Optimizer
from .offline import offline

if TYPE_CHECKING:
    import torch

_ADAMW = Optimizer(name="AdamW", settings={"lr": 0.0001, "betas": (0.9, 0.99), "weight_decay": 0.1}, copies=4)
VOCABULARY, CONTEXT = 65, 256
TINY_CONTEXT = 16
SHAPE: dict[str, Any] = {"n_layer": 6, "n_head": 6, "n_embd": 384, "vocab_size": VOCABULARY, "n_positions": CONTEXT}
SDPA: dict[str, Any] = {"attn_implementation": "sdpa"}
TINY: dict[str, Any] = SHAPE | {"n_layer": 2, "n_head": 2, "n_embd": 32, "initializer_range": 0.1}
DROPOUT: dict[str, Any] = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.2)


def _model(size: Size) -> torch.nn.Module:
    offline()
    from transformers import GPT2Config

    from .building.gpt import Predictor

    shape = SHAPE if size == "real" else TINY
    return Predictor(GPT2Config(**shape, **DROPOUT, **SDPA))


def _characters(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    import torch

    return torch.randint(VOCABULARY, (batch, CONTEXT if size == "real" else TINY_CONTEXT), generator=numbers)


NETWORK = Network(model=_model, inputs=_characters)


def _train(job: Job, network: Network) -> Prepared:
    """A GPT of 10.8 million parameters trained on texts of 256 characters, with AdamW.

    The size of Andrej Karpathy's [nanoGPT](https://github.com/karpathy/nanoGPT) trained on Shakespeare, which many
    people try first: 6 layers of width 384 with 6 heads, 65 characters, dropout of 0.2, 64 texts at a time; the batch
    of 16 is ours and fits every Mac, and so is the learning rate of 0.0001, since nanoGPT reaches its 0.001 after a
    warm-up. The model is transformers' `GPT2LMHeadModel` of that shape with random weights, its text random and its
    attention PyTorch's `scaled_dot_product_attention`. For every token a label is predicted, and throughput is in
    tokens a second.
    """
    from .building.steps import training

    return training(job, network, _ADAMW)


_TRAIN = Family(
    name="gpt-baby-train",
    title="Baby GPT training",
    source="nanoGPT",
    model="transformers GPT2LMHeadModel",
    builder=_train,
    optimizer=_ADAMW,
    item="token",
    bound=Kind.MODEL,
    parameters=10_770_816,
    tolerances=tolerances(
        AUTOCAST,
        fp32=FP32_TRAINING,
        tf32=Tolerance(1.4e-3, loss=2e-4, gradient=1.4e-3),
        half=Tolerance(0.016, loss=2e-3, gradient=0.016),
    ),
)
ENTRIES = tuple(
    _TRAIN.variant(NETWORK, batch=batch, flops=6_052_577_280, input_shape=str(CONTEXT), items=CONTEXT, kept=100_367_360)
    for batch in (16, 64)
)
