# torch.nn: recurrent networks. The operator computes all layers and steps; what stands here checks and arranges.
import math
import warnings
from typing import List, Optional, Tuple

import torch
from torch import Tensor
from torch.nn import Module, Parameter, init
from torch.nn.utils.rnn import PackedSequence


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    __constants__ = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
                     "proj_size"]
    _flat_weights_names: List[str]
    _all_weights: List[List[str]]
    _flat_weights: List[Tensor]

    def __init__(self, mode, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__()
        if isinstance(dropout, bool) or dropout < 0 or dropout > 1:
            raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being "
                             "zeroed")
        if dropout > 0 and num_layers == 1:
            warnings.warn("dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                          "num_layers greater than 1, but got dropout={} and num_layers={}".format(dropout, num_layers))
        if not isinstance(hidden_size, int):
            raise TypeError("hidden_size should be of type int, got: {}".format(hidden_size))
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        gates = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
        if mode not in gates:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        directions = 2 if bidirectional else 1
        rows = gates[mode] * hidden_size
        output_size = proj_size if proj_size > 0 else hidden_size
        flat_names = []
        all_names = []
        for layer in range(num_layers):
            for direction in range(directions):
                suffix = "_l{}".format(layer) + ("_reverse" if direction == 1 else "")
                size = input_size if layer == 0 else output_size * directions
                names = ["weight_ih" + suffix, "weight_hh" + suffix]
                shapes = [(rows, size), (rows, output_size)]
                if bias:
                    names = names + ["bias_ih" + suffix, "bias_hh" + suffix]
                    shapes = shapes + [(rows,), (rows,)]
                if proj_size > 0:
                    names = names + ["weight_hr" + suffix]
                    shapes = shapes + [(proj_size, hidden_size)]
                for i in range(len(names)):
                    self.register_parameter(names[i], Parameter(torch.empty(shapes[i], device=device, dtype=dtype)))
                flat_names = flat_names + names
                all_names.append(names)
        self._flat_weights_names = flat_names
        self._all_weights = all_names
        self._flat_weights = [getattr(self, name) for name in flat_names]
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for name in self._flat_weights_names:
            init.uniform_(getattr(self, name), -bound, bound)

    def flatten_parameters(self):
        pass

    def check_input(self, input: Tensor, batch_sizes: Optional[Tensor]) -> None:
        dims = 2 if batch_sizes is not None else 3
        if input.dim() != dims:
            raise RuntimeError("input must have {} dimensions, got {}".format(dims, input.dim()))
        if self.input_size != input.size(-1):
            raise RuntimeError("input.size(-1) must be equal to input_size. Expected {}, got {}".format(
                self.input_size, input.size(-1)))

    # (layers * directions, batch, size)
    def _expected_size(self, input: Tensor, batch_sizes: Optional[Tensor], size: int) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        return self._expected_size(input, batch_sizes, self.proj_size if self.proj_size > 0 else self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: Tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, hx.size()))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Optional[Tensor]) -> Tensor:
        if permutation is None:
            return hx
        return _apply_permutation(hx, permutation)

    # Zeros to begin with.
    def _first_hidden(self, input: Tensor, batch: int, size: int) -> Tensor:
        return torch.zeros(self.num_layers * (2 if self.bidirectional else 1), batch, size, dtype=input.dtype,
                           device=input.device)

    # The hidden state that a plain input comes with, as the operator takes it: checked, with a batch dimension.
    def _hidden_of(self, input: Tensor, is_batched: bool, hx: Optional[Tensor]) -> Tensor:
        if hx is None:
            batch = input.size(0) if self.batch_first else input.size(1)
            hidden = self._first_hidden(input, batch, self.hidden_size)
        else:
            if is_batched:
                if hx.dim() != 3:
                    raise RuntimeError("For batched 3-D input, hx should also be 3-D but got {}-D tensor".format(hx.dim()))
                hidden = hx
            else:
                if hx.dim() != 2:
                    raise RuntimeError("For unbatched 2-D input, hx should also be 2-D but got {}-D tensor".format(
                        hx.dim()))
                hidden = hx.unsqueeze(1)
        self.check_forward_args(input, hidden, None)
        return hidden


class RNN(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
                 dropout=0.0, bidirectional=False, device=None, dtype=None):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError("Unknown nonlinearity '{}'. Select from 'tanh' or 'relu'.".format(nonlinearity))
        super().__init__("RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU", input_size, hidden_size, num_layers, bias,
                         batch_first, dropout, bidirectional, 0, device, dtype)
        self.nonlinearity = nonlinearity

    def _run(self, input: Tensor, hidden: Tensor) -> Tuple[Tensor, Tensor]:
        if self.mode == "RNN_TANH":
            return torch.rnn_tanh(input, hidden, self._flat_weights, self.bias, self.num_layers, self.dropout,
                                  self.training, self.bidirectional, self.batch_first)
        return torch.rnn_relu(input, hidden, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
                              self.bidirectional, self.batch_first)

    def _run_packed(self, data: Tensor, batch_sizes: Tensor, hidden: Tensor) -> Tuple[Tensor, Tensor]:
        if self.mode == "RNN_TANH":
            return torch.rnn_tanh(data, batch_sizes, hidden, self._flat_weights, self.bias, self.num_layers, self.dropout,
                                  self.training, self.bidirectional)
        return torch.rnn_relu(data, batch_sizes, hidden, self._flat_weights, self.bias, self.num_layers, self.dropout,
                              self.training, self.bidirectional)

    @torch._jit_internal._overload_method
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        pass

    @torch._jit_internal._overload_method
    def forward(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
        pass

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                first = self._first_hidden(data, int(batch_sizes[0]), self.hidden_size)
            else:
                first = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, first, batch_sizes)
            result, last = self._run_packed(data, batch_sizes, first)
            return (PackedSequence(result, batch_sizes, sorted_indices, unsorted_indices),
                    self.permute_hidden(last, unsorted_indices))
        else:
            if input.dim() not in (2, 3):
                raise ValueError("RNN: Expected input to be 2D or 3D, got {}D tensor instead".format(input.dim()))
            is_batched = input.dim() == 3
            batch_dim = 0 if self.batch_first else 1
            if not is_batched:
                input = input.unsqueeze(batch_dim)
            hidden = self._hidden_of(input, is_batched, hx)
            output, last_hidden = self._run(input, hidden)
            if not is_batched:
                output = output.squeeze(batch_dim)
                last_hidden = last_hidden.squeeze(1)
            return output, last_hidden


class LSTM(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, proj_size=0, device=None, dtype=None):
        super().__init__("LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size,
                         device, dtype)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[int, int, int]:
        return self._expected_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Tuple[Tensor, Tensor], batch_sizes: Optional[Tensor]) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden[0], self.get_expected_hidden_size(input, batch_sizes),
                               "Expected hidden[0] size {}, got {}")
        self.check_hidden_size(hidden[1], self.get_expected_cell_size(input, batch_sizes),
                               "Expected hidden[1] size {}, got {}")

    def permute_hidden(self, hx: Tuple[Tensor, Tensor], permutation: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def _first_states(self, input: Tensor, batch: int) -> Tuple[Tensor, Tensor]:
        size = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self._first_hidden(input, batch, size), self._first_hidden(input, batch, self.hidden_size)

    @torch._jit_internal._overload_method
    def forward(self, input: Tensor,
                hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        pass

    @torch._jit_internal._overload_method
    def forward(self, input: PackedSequence,
                hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[PackedSequence, Tuple[Tensor, Tensor]]:
        pass

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                first = self._first_states(data, int(batch_sizes[0]))
            else:
                first = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, first, batch_sizes)
            result, last_h, last_c = torch.lstm(data, batch_sizes, [first[0], first[1]], self._flat_weights, self.bias,
                                                self.num_layers, self.dropout, self.training, self.bidirectional)
            return (PackedSequence(result, batch_sizes, sorted_indices, unsorted_indices),
                    self.permute_hidden((last_h, last_c), unsorted_indices))
        else:
            if input.dim() not in (2, 3):
                raise ValueError("LSTM: Expected input to be 2D or 3D, got {}D instead".format(input.dim()))
            is_batched = input.dim() == 3
            batch_dim = 0 if self.batch_first else 1
            if not is_batched:
                input = input.unsqueeze(batch_dim)
            if hx is None:
                states = self._first_states(input, input.size(batch_dim))
            else:
                if is_batched:
                    if hx[0].dim() != 3 or hx[1].dim() != 3:
                        raise RuntimeError("For batched 3-D input, hx and cx should also be 3-D but got ({}-D, {}-D) "
                                           "tensors".format(hx[0].dim(), hx[1].dim()))
                    states = hx
                else:
                    if hx[0].dim() != 2 or hx[1].dim() != 2:
                        raise RuntimeError("For unbatched 2-D input, hx and cx should also be 2-D but got ({}-D, {}-D) "
                                           "tensors".format(hx[0].dim(), hx[1].dim()))
                    states = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
            self.check_forward_args(input, states, None)
            output, h, c = torch.lstm(input, [states[0], states[1]], self._flat_weights, self.bias, self.num_layers,
                                      self.dropout, self.training, self.bidirectional, self.batch_first)
            if not is_batched:
                return output.squeeze(batch_dim), (h.squeeze(1), c.squeeze(1))
            return output, (h, c)


class GRU(RNNBase):
    def __init__(self, input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
                 bidirectional=False, device=None, dtype=None):
        super().__init__("GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device,
                         dtype)

    @torch._jit_internal._overload_method
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        pass

    @torch._jit_internal._overload_method
    def forward(self, input: PackedSequence, hx: Optional[Tensor] = None) -> Tuple[PackedSequence, Tensor]:
        pass

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            if hx is None:
                first = self._first_hidden(data, int(batch_sizes[0]), self.hidden_size)
            else:
                first = self.permute_hidden(hx, sorted_indices)
            self.check_forward_args(data, first, batch_sizes)
            result, last = torch.gru(data, batch_sizes, first, self._flat_weights, self.bias, self.num_layers,
                                     self.dropout, self.training, self.bidirectional)
            return (PackedSequence(result, batch_sizes, sorted_indices, unsorted_indices),
                    self.permute_hidden(last, unsorted_indices))
        else:
            if input.dim() not in (2, 3):
                raise ValueError("GRU: Expected input to be 2D or 3D, got {}D instead".format(input.dim()))
            is_batched = input.dim() == 3
            batch_dim = 0 if self.batch_first else 1
            if not is_batched:
                input = input.unsqueeze(batch_dim)
            hidden = self._hidden_of(input, is_batched, hx)
            output, last_hidden = torch.gru(input, hidden, self._flat_weights, self.bias, self.num_layers, self.dropout,
                                            self.training, self.bidirectional, self.batch_first)
            if not is_batched:
                output = output.squeeze(batch_dim)
                last_hidden = last_hidden.squeeze(1)
            return output, last_hidden


class RNNCellBase(Module):
    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(torch.empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(torch.empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        init.uniform_(self.weight_ih, -bound, bound)
        init.uniform_(self.weight_hh, -bound, bound)
        if self.bias:
            init.uniform_(self.bias_ih, -bound, bound)
            init.uniform_(self.bias_hh, -bound, bound)

    # The hidden state with a batch dimension; zeros when there is none.
    def _hidden_of(self, input: Tensor, is_batched: bool, hx: Optional[Tensor]) -> Tensor:
        if hx is None:
            return torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        if is_batched:
            return hx
        return hx.unsqueeze(0)


class RNNCell(RNNCellBase):
    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(self, input_size, hidden_size, bias=True, nonlinearity="tanh", device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError("RNNCell: Expected input to be 1D or 2D, got {}D instead".format(input.dim()))
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError("RNNCell: Expected hidden to be 1D or 2D, got {}D instead".format(hx.dim()))
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        hidden = self._hidden_of(input, is_batched, hx)
        if self.nonlinearity == "tanh":
            result = torch.rnn_tanh_cell(input, hidden, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        elif self.nonlinearity == "relu":
            result = torch.rnn_relu_cell(input, hidden, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        else:
            raise RuntimeError("Unknown nonlinearity: {}".format(self.nonlinearity))
        return result if is_batched else result.squeeze(0)


class LSTMCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError("LSTMCell: Expected input to be 1D or 2D, got {}D instead".format(input.dim()))
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        if hx is not None:
            if hx[0].dim() not in (1, 2) or hx[1].dim() not in (1, 2):
                raise ValueError("LSTMCell: Expected hx[0] and hx[1] to be 1D or 2D, got {}D and {}D instead".format(
                    hx[0].dim(), hx[1].dim()))
            hidden = self._hidden_of(input, is_batched, hx[0])
            cell = self._hidden_of(input, is_batched, hx[1])
        else:
            hidden = self._hidden_of(input, is_batched, None)
            cell = hidden
        h, c = torch.lstm_cell(input, [hidden, cell], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not is_batched:
            return h.squeeze(0), c.squeeze(0)
        return h, c


class GRUCell(RNNCellBase):
    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError("GRUCell: Expected input to be 1D or 2D, got {}D instead".format(input.dim()))
        if hx is not None and hx.dim() not in (1, 2):
            raise ValueError("GRUCell: Expected hidden to be 1D or 2D, got {}D instead".format(hx.dim()))
        is_batched = input.dim() == 2
        if not is_batched:
            input = input.unsqueeze(0)
        hidden = self._hidden_of(input, is_batched, hx)
        result = torch.gru_cell(input, hidden, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result if is_batched else result.squeeze(0)
