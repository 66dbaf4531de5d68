"""PyTorch's own cross entropy."""

import torch
from torch import nn


class ModelNew(nn.Module):
    """Log-softmax and the mean negative log likelihood, left to the library."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Average over the batch of `logsumexp(scores) - scores[label]`, a 0-d tensor."""
        return nn.functional.cross_entropy(predictions, targets)
