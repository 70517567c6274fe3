"""BERT base for classifying sequences, from transformers."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from metalmark_db.plausible import Kind
from metalmark_db.words import Task

from .base import AUTOCAST, CONVERTED, Entry, Job, Network, Prepared, Size, Tolerance, described, tolerances

if TYPE_CHECKING:
    import torch

TOKENS, VOCABULARY = 128, 30_522
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
    # Set before transformers is imported, which reads them once: nothing is downloaded, nothing is printed.
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
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


def _tokens(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    import torch

    vocabulary, length = (TINY_VOCABULARY, TINY_TOKENS) if size == "tiny" else (VOCABULARY, TOKENS)
    return torch.randint(vocabulary, (batch, length), generator=numbers, device="cpu")


NETWORK = Network(model=_model, inputs=_tokens)


def _train(job: Job) -> Prepared:
    """BERT base trained on 4 sequences of 128 tokens at a time.

    The training half of the "HuggingFace BERT" bars in Apple's and PyTorch's announcement of May 2022, which gives
    a batch of 64 and neither variant, length, loss nor optimizer. Those are ours: `BertForSequenceClassification`
    of the size of `bert-base-uncased` from its configuration, with random weights and two labels, sequences of 128
    random tokens without padding, cross-entropy, SGD with learning rate 0.001 and momentum 0.9, and a batch of 4.
    Attention is PyTorch's `scaled_dot_product_attention`; dropout is on.
    """
    from .building.steps import sgd, training

    return training(job, NETWORK, sgd)


def _infer(job: Job) -> Prepared:
    """BERT base classifying 4 sequences of 128 tokens at a time.

    The evaluation half of the "HuggingFace BERT" bars in Apple's and PyTorch's announcement of May 2022, which
    gives a batch of 64 and neither variant nor length. Those are ours: `BertForSequenceClassification` of the size
    of `bert-base-uncased` from its configuration, with random weights and two labels, and sequences of 128 random
    tokens without padding, 4 at a time. Attention is PyTorch's `scaled_dot_product_attention`.
    """
    from .building.steps import inference

    return inference(job, NETWORK)


BERT_BASE_TRAIN = Entry(
    facts=described(
        _train,
        id="bert-base-train-t128-b4",
        version=1,
        title="BERT base training, 128 tokens",
        source="Apple and PyTorch 2022",
        task=Task.TRAIN,
        batch=4,
        input_shape="128",
        item="sequence",
        items_per_iteration=4,
        flops_per_iteration=268_181_213_184,
        parameters=109_483_778,
    ),
    builder=_train,
    bound=Kind.MODEL,
    precisions=AUTOCAST,
    tolerances=tolerances(
        AUTOCAST,
        fp32=Tolerance(1e-4, loss=1e-4, gradient=1e-3),
        tf32=Tolerance(5e-4, loss=1e-3, gradient=2e-3),
        half=Tolerance(0.009, loss=0.02, gradient=0.02),
    ),
    kept_bytes_per_sample=114_461_712,
    network=NETWORK,
)
BERT_BASE_INFER = Entry(
    facts=described(
        _infer,
        id="bert-base-infer-t128-b4",
        version=1,
        title="BERT base inference, 128 tokens",
        source="Apple and PyTorch 2022",
        task=Task.INFERENCE,
        batch=4,
        input_shape="128",
        item="sequence",
        items_per_iteration=4,
        flops_per_iteration=89_393_737_728,
        parameters=109_483_778,
    ),
    builder=_infer,
    bound=Kind.MODEL,
    precisions=CONVERTED,
    tolerances=tolerances(CONVERTED, tf32=Tolerance(5e-4), half=Tolerance(0.016)),
    kept_bytes_per_sample=0,
    network=NETWORK,
)
