"""Sequences of different lengths: padded to one length, or packed step by step without padding."""

import typing

import sconce as torch


class _Fields(typing.NamedTuple):
    data: torch.Tensor
    batch_sizes: torch.Tensor
    sorted_indices: typing.Optional[torch.Tensor]
    unsorted_indices: typing.Optional[torch.Tensor]


def invert_permutation(permutation):
    """Where each index went."""
    if permutation is None:
        return None
    result = torch.empty_like(permutation)
    result.scatter_(0, permutation, torch.arange(0, permutation.numel(), device=permutation.device))
    return result


class PackedSequence(_Fields):
    """The steps of all sequences one after the other; `batch_sizes` says how many sequences have each step."""

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            data, batch_sizes = data  # a tuple of both
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError("batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                             "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn.")
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The data in another dtype or on another device."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def double(self):
        """As float64."""
        return self.to(dtype=torch.float64)

    def float(self):
        """As float32."""
        return self.to(dtype=torch.float32)

    def half(self):
        """As float16."""
        return self.to(dtype=torch.float16)

    def cpu(self):
        """On the CPU."""
        return self.to("cpu")

    @property
    def is_cuda(self):
        """False: there is no CUDA here."""
        return self.data.is_cuda


def _lengths(lengths):
    return torch.as_tensor(lengths, dtype=torch.int64, device="cpu") if not isinstance(lengths, torch.Tensor) else lengths.to("cpu")


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """Packs a batch of padded sequences; without enforce_sorted they may stand in any order."""
    lengths, order = _lengths(lengths), None
    if not enforce_sorted:
        lengths, order = torch.sort(lengths, descending=True)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = torch._pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """A padded batch of a packed one, and the lengths of its sequences."""
    longest = sequence.batch_sizes.size(0)
    if total_length is not None:
        if total_length < longest:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {longest}")
        longest = total_length
    padded, lengths = torch._pad_packed_sequence(sequence.data, sequence.batch_sizes, batch_first, padding_value, longest)
    if sequence.unsorted_indices is None:
        return padded, lengths
    order = sequence.unsorted_indices
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences of different lengths in one tensor, filled up with a value."""
    if not isinstance(sequences, torch.Tensor) and not hasattr(sequences, "__iter__"):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    sequences = sequences.unbind(0) if isinstance(sequences, torch.Tensor) else sequences
    return torch._sconce._function("pad_sequence")(list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded batch, in a list."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:int(length)] for row, length in zip(rows.unbind(0), lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """Packs sequences of different lengths."""
    lengths = torch.as_tensor([len(sequence) for sequence in sequences])
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a packed batch, in a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
