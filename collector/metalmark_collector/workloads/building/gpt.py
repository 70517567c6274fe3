"""GPT2LMHeadModel with one way through its parts in every version of transformers."""

from typing import Any

import torch
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel


class Predictor(nn.Module):
    """The library's model, its parts called in its own order.

    The library's ``forward`` may read the tokens back from the device to look for padding, and makes a
    mask; without one its attention is causal by itself.
    """

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.whole: Any = GPT2LMHeadModel(config)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of the next token, for each token of each sequence."""
        gpt = self.whole.transformer
        places = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = gpt.drop(gpt.wte(tokens) + gpt.wpe(places))
        for block in gpt.h:
            hidden = block(hidden)
        logits: torch.Tensor = self.whole.lm_head(gpt.ln_f(hidden))
        return logits
