# Recurrent networks: a step, a layer, a network; sequences of different lengths.


def through_gates(mode: int, gates: Tensor, state: Tensor, h: Tensor, c: Tensor) -> Tuple[Tensor, Tensor]:
    # mode: 0 relu, 1 tanh, 2 lstm, 3 gru. `gates` is what comes from the input, `state` what comes from h.
    if mode == 0:
        return (gates + state).relu(), c
    if mode == 1:
        return (gates + state).tanh(), c
    size = gates.size(1) // (4 if mode == 2 else 3)
    if mode == 3:
        a = gates.split_with_sizes([size, size, size], 1)
        b = state.split_with_sizes([size, size, size], 1)
        r = (a[0] + b[0]).sigmoid()
        z = (a[1] + b[1]).sigmoid()
        n = (a[2] + r * b[2]).tanh()
        return (h - n) * z + n, c
    parts = (gates + state).split_with_sizes([size, size, size, size], 1)
    next_c = parts[1].sigmoid() * c + parts[0].sigmoid() * parts[2].tanh()
    return parts[3].sigmoid() * next_c.tanh(), next_c


def recurrent_step(mode: int, gates: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, b_hh: Optional[Tensor], w_hr: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    state = h.mm(w_hh.permute([1, 0]))
    if b_hh is not None:
        state = state + b_hh
    out, next_c = through_gates(mode, gates, state, h, c)
    if w_hr is not None:
        out = out.mm(w_hr.permute([1, 0]))
    return out, next_c


def with_first_rows(all: Tensor, first: Tensor) -> Tensor:
    # The first rows are replaced: the sequences that have this step.
    if first.size(0) == all.size(0):
        return first
    return torch.cat([first, all.slice(0, first.size(0), None)])


def wide_or_none(x: Optional[Tensor]) -> Optional[Tensor]:
    if x is None:
        return None
    return wide(x)


def recurrent_layer(x: Tensor, rows: List[int], h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor], w_hr: Optional[Tensor], mode: int, reverse: bool) -> Tuple[Tensor, Tensor, Tensor]:
    # x is [rows of all steps, width]; rows says how many each step has.
    gates = wide(x).mm(wide(w_ih).permute([1, 0]))
    if b_ih is not None:
        gates = gates + wide(b_ih)
    parts = gates.split_with_sizes(rows, 0)
    state_weight = wide(w_hh)
    state_bias = wide_or_none(b_hh)
    projection = wide_or_none(w_hr)
    next_h = wide(h)
    next_c = wide(c)
    outs: List[Tensor] = []
    for i in range(len(rows)):
        t = len(rows) - 1 - i if reverse else i
        out, cell = recurrent_step(mode, parts[t], next_h.slice(0, 0, rows[t]), next_c.slice(0, 0, rows[t]), state_weight, state_bias, projection)
        next_h = with_first_rows(next_h, out)
        next_c = with_first_rows(next_c, cell)
        outs.append(out)
    if reverse:
        outs = [outs[len(outs) - 1 - i] for i in range(len(outs))]
    joined = torch.cat(outs) if len(outs) > 0 else next_h.slice(0, 0, 0)
    return joined.to(x.dtype), next_h.to(x.dtype), next_c.to(x.dtype)


def recurrent_network(x: Tensor, rows: List[int], hx: Tensor, cx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, mode: int) -> Tuple[Tensor, Tensor, Tensor]:
    directions = 2 if bidirectional else 1
    projects = mode == 2 and hx.size(2) != cx.size(2)
    per = (4 if has_biases else 2) + (1 if projects else 0)
    assert len(params) == num_layers * directions * per, f"got an incorrect number of RNN parameters: {len(params)}, expected {num_layers * directions * per}"
    now = x
    h: List[Tensor] = []
    c: List[Tensor] = []
    for layer in range(num_layers):
        outs: List[Tensor] = []
        for d in range(directions):
            i = layer * directions + d
            b_ih: Optional[Tensor] = None
            b_hh: Optional[Tensor] = None
            w_hr: Optional[Tensor] = None
            if has_biases:
                b_ih = params[i * per + 2]
                b_hh = params[i * per + 3]
            if projects:
                w_hr = params[i * per + per - 1]
            out, last_h, last_c = recurrent_layer(now, rows, hx.select(0, i), cx.select(0, i), params[i * per], params[i * per + 1], b_ih, b_hh, w_hr, mode, d == 1)
            outs.append(out)
            h.append(last_h.unsqueeze(0))
            c.append(last_c.unsqueeze(0))
        now = torch.cat(outs, 1) if directions == 2 else outs[0]
        if dropout != 0 and train and layer + 1 < num_layers:
            now = torch.dropout(now, dropout, True)
    return now, torch.cat(h), torch.cat(c)


def recurrent_sequences(input: Tensor, hx: Tensor, cx: Tensor, params: List[Tensor], has_biases: bool, num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, mode: int) -> Tuple[Tensor, Tensor, Tensor]:
    # [steps, batch, width], or batch first.
    by_step = input.permute([1, 0, 2]) if batch_first else input
    steps = by_step.size(0)
    batch = by_step.size(1)
    out, h, c = recurrent_network(contiguous_reshape(by_step, [steps * batch, by_step.size(2)]), [batch for t in range(steps)], hx, cx, params, has_biases, num_layers, dropout, train, bidirectional, mode)
    shaped = out.view([steps, batch, out.size(1)])
    return shaped.permute([1, 0, 2]) if batch_first else shaped, h, c


def recurrent_cell(input: Tensor, h: Tensor, c: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Optional[Tensor], b_hh: Optional[Tensor], mode: int) -> Tuple[Tensor, Tensor]:
    out, next_h, next_c = recurrent_layer(input, [input.size(0)], h, c, w_ih, w_hh, b_ih, b_hh, None, mode, False)
    return next_h, next_c


def row_places(batch_sizes: List[int], batch: int, device: Device) -> Tensor:
    # Where the rows of packed sequences stand in [steps * batch, ...].
    parts: List[Tensor] = []
    for t in range(len(batch_sizes)):
        parts.append(torch.arange(t * batch, t * batch + batch_sizes[t], 1, dtype=torch.int64, device=device))
    return torch.cat(parts) if len(parts) > 0 else torch.empty([0], dtype=torch.int64, device=device)


def packed_sequences(input: Tensor, lengths: List[int], batch_first: bool) -> Tuple[Tensor, Tensor]:
    by_step = input.permute(swapped_dims(input.dim(), 0, 1)) if batch_first else input
    batch = by_step.size(1)
    batch_sizes: List[int] = []
    for t in range(lengths[0]):
        count = 0
        for length in lengths:
            count = count + (1 if length > t else 0)
        batch_sizes.append(count)
    rows = contiguous_reshape(by_step, [by_step.size(0) * batch] + by_step.shape[2:])
    return rows.index_select(0, row_places(batch_sizes, batch, input.device)), integers(batch_sizes, torch.int64, None)


def unpacked_gradient(grad: Tensor, input_size: List[int], batch_sizes: List[int], batch_first: bool) -> Tensor:
    steps = input_size[1] if batch_first else input_size[0]
    batch = input_size[0] if batch_first else input_size[1]
    base = torch.full([steps * batch] + input_size[2:], 0, dtype=grad.dtype, device=grad.device)
    out = put_along(base, 0, row_places(batch_sizes, batch, grad.device), grad, False).view([steps, batch] + input_size[2:])
    return out.permute(swapped_dims(out.dim(), 0, 1)) if batch_first else out


def padded_sequences(data: Tensor, batch_sizes: List[int], batch_first: bool, padding_value: number, total_length: int) -> Tuple[Tensor, Tensor]:
    steps = max(len(batch_sizes), total_length)
    batch = batch_sizes[0]
    base = torch.full([steps * batch] + data.shape[1:], padding_value, dtype=data.dtype, device=data.device)
    out = put_along(base, 0, row_places(batch_sizes, batch, data.device), data, False).view([steps, batch] + data.shape[1:])
    lengths: List[int] = []
    for b in range(batch):
        length = 0
        for size in batch_sizes:
            length = length + (1 if size > b else 0)
        lengths.append(length)
    padded = out.permute(swapped_dims(out.dim(), 0, 1)) if batch_first else out
    return padded, integers(lengths, torch.int64, None)


def stacked_sequences(sequences: List[Tensor], batch_first: bool, padding_value: float, padding_side: str) -> Tensor:
    longest = 0
    for s in sequences:
        longest = max(longest, s.size(0))
    parts: List[Tensor] = []
    for s in sequences:
        pad = [0 for i in range(2 * s.dim())]
        pad[2 * s.dim() - (2 if padding_side == "left" else 1)] = longest - s.size(0)
        parts.append(torch.constant_pad_nd(s, pad, padding_value).unsqueeze(0 if batch_first else 1))
    return torch.cat(parts, 0 if batch_first else 1)
