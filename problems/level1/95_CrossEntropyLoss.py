"""Cross entropy of class scores against integer labels, averaged over the batch to one number."""

import torch
from torch import nn


class Model(nn.Module):
    """Maps scores (batch_size, num_classes) and labels (batch_size,) to a 0-d loss."""

    def forward(self, predictions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(predictions, targets)


batch_size = 32768
num_classes = 4096
input_shape = (num_classes,)
dim = 1


def get_inputs():
    scores = torch.rand(batch_size, *input_shape)
    return [scores, torch.randint(0, num_classes, (batch_size,))]


def get_init_inputs():
    return []
