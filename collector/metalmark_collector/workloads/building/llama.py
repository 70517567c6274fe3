"""LlamaForCausalLM for the two halves of generating text, with weights that are drawn in no time."""

from typing import Any

import torch
from torch import nn
from transformers import LlamaConfig, LlamaForCausalLM

_POOL = 2**24 + 1  # random numbers, of which every weight takes a part; odd, so that no two rows are alike
_SHARPER = 1.4  # of queries and keys: scores get a standard deviation of about 2
# What a branch adds is a third of what the model began with: attention averages values, and its gate lets half pass.
_FACTORS = {"q_proj": _SHARPER, "k_proj": _SHARPER, "down_proj": 0.6}


class Reader(nn.Module):
    """The library's model reading a prompt, its parts called in its own order.

    The library's ``forward`` makes a mask in every call; without one its attention is causal by itself.
    """

    def __init__(self, config: LlamaConfig) -> None:
        super().__init__()
        with torch.device("meta"):  # drawing each number anew would take longer than measuring
            self.whole: Any = LlamaForCausalLM(config)
        _fill(self.whole, config)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of the token after each prompt."""
        return self._logits(tokens, 0)

    def _logits(self, tokens: torch.Tensor, before: int, cache: "Cache | None" = None) -> torch.Tensor:
        llama = self.whole.model
        hidden = llama.embed_tokens(tokens)
        places = torch.arange(before, before + tokens.shape[1], device=tokens.device)
        turned = llama.rotary_emb(hidden, position_ids=places.unsqueeze(0))
        for layer in llama.layers:
            hidden = layer(hidden, position_embeddings=turned, cache=cache)
        logits: torch.Tensor = self.whole.lm_head(llama.norm(hidden[:, -1:])).squeeze(1)
        return logits


class Writer(Reader):
    """The same model writing one token, with the keys and values of those before it kept."""

    def __init__(self, config: LlamaConfig, before: int, batch: int) -> None:
        super().__init__(config)
        self.before = before
        self.cache = Cache(config, before, batch)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of the token after the given one."""
        return self._logits(tokens, self.before, self.cache)


class Cache(nn.Module):
    """Keys and values of all layers, with room for the one token that is written, over and over."""

    def __init__(self, config: Any, before: int, batch: int) -> None:
        super().__init__()
        shape = (config.num_hidden_layers, 2, batch, config.num_key_value_heads, before + 1, config.head_dim)
        self.kept: torch.Tensor
        self.register_buffer("kept", torch.randn(shape))
        self.kept[:, 0] *= _SHARPER

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer: int, *_: object, **__: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values of a layer with those of the new token, as the library's own caches give them."""
        kept_keys, kept_values = self.kept[layer, 0, : len(keys)], self.kept[layer, 1, : len(keys)]
        kept_keys[:, :, -1:] = keys
        kept_values[:, :, -1:] = values
        return kept_keys, kept_values


def _fill(model: Any, config: LlamaConfig) -> None:
    """Weights from one pool of random numbers, each from another place of it, so that every layer counts.

    The library would draw them so small that every token attends to all alike, and a block adds next to nothing.
    """
    device = torch.empty(0).device  # the default one, which older versions of torch name in no other way
    model.to_empty(device=device)
    if device.type == "meta":  # somebody only counts what there would be
        return
    # Its frequencies are not drawn. Like weights they are rounded later, so that converting them loses nothing:
    # positions turn by other angles than Llama's, at the same cost.
    model.model.rotary_emb = type(model.model.rotary_emb)(config)
    pool, place = torch.randn(_POOL), 0
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() == 1:
                nn.init.ones_(weights)
            else:
                place = _take(pool, place, weights.view(-1), _scale(name, weights.shape[1]))


def _scale(name: str, inputs: int) -> float:
    scale = 1.0 if "embed_tokens" in name else float(inputs**-0.5)
    return scale * next((factor for part, factor in _FACTORS.items() if part in name), 1.0)


def _take(pool: torch.Tensor, place: int, target: torch.Tensor, scale: float) -> int:
    """Fill ``target`` from ``place`` on, beginning anew at the pool's end; gives the next place."""
    done = 0
    while done < len(target):
        count = min(len(target) - done, len(pool) - place)
        torch.mul(pool[place : place + count], scale, out=target[done : done + count])
        done, place = done + count, (place + count) % len(pool)
    return place
