"""A language model of 1.1 billion parameters: reading a prompt, and writing token by token."""

# ruff: noqa: PLC0415 - torch is imported when a workload is built, not when it is listed

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from metalmark_db.plausible import Kind

from .base import HALF, TINY_BATCH, Job, Network, Prepared, Size, Tolerance, tolerances
from .family import Family
from .offline import offline

if TYPE_CHECKING:
    import torch

PROMPT = 512
TINY_PROMPT = 16
SHAPE: dict[str, Any] = {
    "attn_implementation": "sdpa",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "max_position_embeddings": 2048,
    "num_attention_heads": 32,
    "num_hidden_layers": 22,
    "num_key_value_heads": 4,
    "vocab_size": 32_000,
}
TINY: dict[str, Any] = SHAPE | {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "num_key_value_heads": 2,
    "vocab_size": 100,
}


def _reader(size: Size) -> torch.nn.Module:
    from .building.llama import Reader

    return Reader(_config(size))


def _writer(size: Size) -> torch.nn.Module:
    from .building.llama import Writer

    return Writer(_config(size), *((PROMPT, 1) if size == "real" else (TINY_PROMPT, TINY_BATCH)))


def _config(size: Size) -> Any:
    offline()
    from transformers import LlamaConfig

    return LlamaConfig(**(SHAPE if size == "real" else TINY))


def _prompt(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    return _tokens(size, batch, PROMPT if size == "real" else TINY_PROMPT, numbers)


def _last_token(size: Size, batch: int, numbers: torch.Generator) -> torch.Tensor:
    return _tokens(size, batch, 1, numbers)


def _tokens(size: Size, batch: int, count: int, numbers: torch.Generator) -> torch.Tensor:
    import torch

    vocabulary = (SHAPE if size == "real" else TINY)["vocab_size"]
    return torch.randint(vocabulary, (batch, count), generator=numbers)


READING = Network(model=_reader, inputs=_prompt)
WRITING = Network(model=_writer, inputs=_last_token)


def _prefill(job: Job, network: Network) -> Prepared:
    """A language model of 1.1 billion parameters reading a prompt of 512 tokens.

    The first half of every answer: all tokens go through the model at once, so that arithmetic is the limit. The
    model is transformers' `LlamaForCausalLM` with the shape of TinyLlama 1.1B (22 layers of width 2048, 32 heads,
    4 of keys and values) and random weights; only the logits of the last token are computed, as in generating
    text. Throughput is in tokens a second. Efforts measure it in half precision on a GPU, as people run it.
    """
    from .building.steps import inference

    return inference(job, network)


def _decode(job: Job, network: Network) -> Prepared:
    """A language model of 1.1 billion parameters writing one token after 512.

    The second half of every answer: for each token nearly all weights are read once, so that the bandwidth of the
    memory is the limit. The model is transformers' `LlamaForCausalLM` with the shape of TinyLlama 1.1B and random
    weights, its cache of keys and values filled with random numbers; every iteration writes the 513th token of the
    same sequence, so that shapes stay fixed. Throughput is in tokens a second. Efforts measure it in half precision
    on a GPU, as people run it.
    """
    from .building.steps import inference

    return inference(job, network)


_PREFILL = Family(
    name="llama-1b-prefill",
    title="1.1B language model, prefill",
    source="metalmark",
    model="transformers LlamaForCausalLM",
    builder=_prefill,
    item="token",
    bound=Kind.MODEL,
    parameters=1_100_048_384,
    converted=HALF,
    tolerances=tolerances(HALF, tf32=Tolerance(2.7e-3), half=Tolerance(0.013)),
)
_DECODE = Family(
    name="llama-1b-decode",
    title="1.1B language model, decode",
    source="metalmark",
    model="transformers LlamaForCausalLM",
    builder=_decode,
    item="token",
    bound=Kind.MODEL,
    parameters=1_100_048_384,
    converted=HALF,
    tolerances=tolerances(HALF, tf32=Tolerance(2e-3), half=Tolerance(0.018)),
)
ENTRIES = (
    _PREFILL.variant(
        READING,
        batch=1,
        flops=1_039_513_157_632,
        input_shape=str(PROMPT),
        items=PROMPT,
        part=f"t{PROMPT}",
        shape=f"{PROMPT} tokens",
    ),
    _DECODE.variant(
        WRITING, batch=1, flops=2_161_295_360, input_shape="1", part=f"t{PROMPT}", shape=f"after {PROMPT} tokens"
    ),
)
