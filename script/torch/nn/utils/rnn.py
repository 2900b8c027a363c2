# torch.nn.utils.rnn: sequences of different lengths in one tensor, step by step.
from typing import NamedTuple, Optional

from torch import Tensor


class PackedSequence(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Optional[Tensor]
    unsorted_indices: Optional[Tensor]
