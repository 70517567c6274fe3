"""BertForSequenceClassification with one way through its parts in every version of transformers."""

from typing import Any

import torch
from torch import nn
from transformers import BertConfig, BertForSequenceClassification


class Classifier(nn.Module):
    """The library's model, its parts called in its own order.

    The library's ``forward`` builds a mask although nothing is padded, and before transformers 5 it
    reads that mask back from the device, which a timed iteration must not do. Without a mask, every
    version computes the same.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.whole: Any = BertForSequenceClassification(config)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of each sequence."""
        bert = self.whole.bert
        hidden = bert.encoder(bert.embeddings(input_ids=tokens))[0]
        logits: torch.Tensor = self.whole.classifier(self.whole.dropout(bert.pooler(hidden)))
        return logits
