"""BERT base for classifying sequences, from transformers."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from metalmark_db.plausible import Kind

from .base import AUTOCAST, CONVERTED, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import SGD, Family
from .offline import offline

if TYPE_CHECKING:
    import torch

VOCABULARY = 30_522
TINY_TOKENS, TINY_VOCABULARY = 16, 100
ATTENTION: dict[str, Any] = {"num_labels": 2, "attn_implementation": "sdpa"}  # all else is as in bert-base-uncased
TINY: dict[str, Any] = {
    "hidden_size": 32,
    "initializer_range": 0.1,  # with fewer inputs each, layers keep the size of their outputs
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "vocab_size": TINY_VOCABULARY,
}


def _model(size: Size) -> torch.nn.Module:
    offline()
    from transformers import BertConfig

    from .building.bert import Classifier

    return _conditioned(Classifier(BertConfig(**ATTENTION, **(TINY if size == "tiny" else {}))))


def _conditioned(model: torch.nn.Module) -> torch.nn.Module:
    """Weights whose output depends on the tokens and on attention, and is never near zero as a whole.

    As drawn, two thirds of every first vector are the same in all sequences, and every token attends to all
    alike, so that wrong attention looks right. And two logits are near zero for some seeds, so that
    the same rounding looks large.
    """
    import torch

    with torch.no_grad():
        for name, module in model.named_modules():
            if name.endswith("word_embeddings"):
                module.weight *= 3
            if name.endswith((".self.query", ".self.key")):
                module.weight *= 2.4  # scores get a standard deviation of 1.8
            if name == "whole.classifier":
                module.bias.copy_(torch.tensor([0.8, -0.8]))
    return model


def _tokens(size: Size, batch: int, numbers: torch.Generator, *, length: int) -> torch.Tensor:
    import torch

    vocabulary, tokens = (TINY_VOCABULARY, TINY_TOKENS) if size == "tiny" else (VOCABULARY, length)
    return torch.randint(vocabulary, (batch, tokens), generator=numbers, device="cpu")


NETWORK = Network(model=_model, inputs=functools.partial(_tokens, length=128))
LONG = Network(model=_model, inputs=functools.partial(_tokens, length=512))


def _train(job: Job, network: Network) -> Prepared:
    """BERT base trained to classify sequences of 128 or 512 tokens.

    The training half of the "HuggingFace BERT" bars in Apple's and PyTorch's announcement of May 2022, which gives a
    batch of 64 and neither variant, length, loss nor optimizer. Those are ours: `BertForSequenceClassification` of
    the size of `bert-base-uncased` from its configuration, with random weights and two labels, sequences of random
    tokens without padding, cross-entropy, SGD with learning rate 0.001 and momentum 0.9, and the batches of 4 and 16
    for Macs with little memory. Attention is PyTorch's `scaled_dot_product_attention`; dropout is on.
    """
    from .building.steps import training

    return training(job, network, SGD)


def _infer(job: Job, network: Network) -> Prepared:
    """BERT base classifying sequences of 128 or 512 tokens.

    The evaluation half of the "HuggingFace BERT" bars in Apple's and PyTorch's announcement of May 2022, which
    gives a batch of 64 and neither variant nor length. Those are ours: `BertForSequenceClassification` of the size
    of `bert-base-uncased` from its configuration, with random weights and two labels, sequences of random tokens
    without padding, and the smaller batches, which fit every Mac. Attention is PyTorch's
    `scaled_dot_product_attention`.
    """
    from .building.steps import inference

    return inference(job, network)


_TRAIN = Family(
    name="bert-base-train",
    title="BERT base training",
    source="Apple and PyTorch 2022",
    model="transformers BertForSequenceClassification",
    builder=_train,
    optimizer=SGD,
    item="sequence",
    bound=Kind.MODEL,
    parameters=109_483_778,
    tolerances=tolerances(
        AUTOCAST,
        fp32=Tolerance(1e-4, loss=1e-4, gradient=1e-3),
        tf32=Tolerance(5e-4, loss=1e-3, gradient=2e-3),
        half=Tolerance(0.009, loss=0.02, gradient=0.02),
    ),
)
_INFER = Family(
    name="bert-base-infer",
    title="BERT base inference",
    source="Apple and PyTorch 2022",
    model="transformers BertForSequenceClassification",
    builder=_infer,
    item="sequence",
    bound=Kind.MODEL,
    parameters=109_483_778,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(5e-4), half=Tolerance(0.017)),
)
_SHORT_FLOPS, _LONG_FLOPS = 22_348_434_432, 96_637_946_880
ENTRIES = (
    *(
        _TRAIN.variant(
            NETWORK,
            batch=batch,
            flops=_SHORT_FLOPS,
            input_shape="128",
            part="t128",
            shape="128 tokens",
            kept=114_461_712,
        )
        for batch in (4, 16, 64)
    ),
    _TRAIN.variant(
        LONG, batch=8, flops=_LONG_FLOPS, input_shape="512", part="t512", shape="512 tokens", kept=797_557_776
    ),
    *(
        _INFER.variant(NETWORK, batch=batch, flops=_SHORT_FLOPS, input_shape="128", part="t128", shape="128 tokens")
        for batch in (4, 16, 64)
    ),
    _INFER.variant(LONG, batch=8, flops=_LONG_FLOPS, input_shape="512", part="t512", shape="512 tokens"),
)
