# Quantised tensors as integers: what their operators compute, over int_repr, q_scale and q_zero_point. Sums of products
# of integers are float64, which holds each of them.


def least_integer(dtype: int) -> int:
    return 0 if dtype == torch.quint8 else (-128 if dtype == torch.qint8 else -2147483648)


def most_integer(dtype: int) -> int:
    return 255 if dtype == torch.quint8 else (127 if dtype == torch.qint8 else 2147483647)


def middle_integer(dtype: int) -> int:
    return 128 if dtype == torch.quint8 else 0


def plain_integer(dtype: int) -> int:
    return torch.uint8 if dtype == torch.quint8 else (torch.int8 if dtype == torch.qint8 else torch.int32)


def narrow_number(x: float) -> float:
    # As float32.
    return float(torch.full([], x, dtype=torch.float32).item())


def narrow_tensor(x: float, device: Device) -> Tensor:
    return torch.full([], x, dtype=torch.float32, device=device)


def converted(x: Tensor, dtype: int) -> Tensor:
    # Of tensors that have another dtype, or are small.
    return torch._to_copy(x, dtype=dtype)


def clamped_integers(scaled: Tensor, zero_point: Tensor, least: int, most: int, dtype: int) -> Tensor:
    # round(scaled) + zero_point, as integers; NaN is the least.
    whole = torch.round(scaled) + zero_point
    inside = torch.where(whole >= least, whole.clamp(None, most), torch.full([], least, dtype=whole.dtype, device=whole.device))
    return converted(inside, plain_integer(dtype))


def quantized_integers(x: Tensor, scale: float, zero_point: int, dtype: int, least: int) -> Tensor:
    # What x is in steps of `scale`, from `least` on.
    scaled = x * torch.reciprocal(narrow_tensor(scale, x.device))
    wide = converted(scaled, torch.float64) if dtype == torch.qint32 else scaled
    return clamped_integers(wide, torch.full([], zero_point, dtype=wide.dtype, device=x.device), least, most_integer(dtype), dtype)


def quantized_numbers(x: Tensor, scale: float, zero_point: int, dtype: int) -> Tensor:
    return torch._make_per_tensor_quantized_tensor(quantized_integers(x, scale, zero_point, dtype, least_integer(dtype)), scale, zero_point)


def numbers_to_quantize(x: Tensor) -> Tensor:
    assert x.dtype == torch.float32, "Quantize only works on Float Tensor"
    return x


def quantized_channels(x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: int) -> Tensor:
    assert axis >= 0 and axis < x.dim(), "Channel axis out of range in per channel affine quantization."
    sizes = [x.size(axis) if d == axis else 1 for d in range(x.dim())]
    scaled = x * torch.reciprocal(converted(scales, torch.float32)).view(sizes)
    zero = converted(zero_points, torch.float64).view(sizes)
    if zero_points.is_floating_point():
        whole = converted(torch.round(scaled + converted(zero_points, torch.float32).view(sizes)), torch.float64)
        integers = clamped_integers(whole, torch.full([], 0, dtype=torch.float64, device=x.device), least_integer(dtype), most_integer(dtype), dtype)
    else:
        integers = clamped_integers(converted(scaled, torch.float64), zero, least_integer(dtype), most_integer(dtype), dtype)
    return torch._make_per_channel_quantized_tensor(integers, scales, zero_points, axis)


def requantized(x: Tensor, like: Tensor) -> Tensor:
    return quantized_numbers(x, like.q_scale(), like.q_zero_point(), like.dtype)


def with_integers(integers: Tensor, like: Tensor) -> Tensor:
    return torch._make_per_tensor_quantized_tensor(integers, like.q_scale(), like.q_zero_point())


def centred(q: Tensor) -> Tensor:
    # The integers less their zero point, which float32 holds.
    return converted(converted(q.int_repr(), torch.float64) - q.q_zero_point(), torch.float32)


def from_centred(x: Tensor, like: Tensor) -> Tensor:
    return with_integers(quantized_integers(x, 1.0, like.q_zero_point(), like.dtype, least_integer(like.dtype)), like)


def in_steps_of(q: Tensor, scale: float, zero_point: int) -> Tensor:
    # The integers of q for another scale and zero point.
    if q.q_scale() == scale and q.q_zero_point() == zero_point:
        return q.int_repr()
    return quantized_integers(q.dequantize(), scale, zero_point, q.dtype, least_integer(q.dtype))


def integer_for(number: float, like: Tensor) -> Tensor:
    # A tensor of one integer, which stands for the number.
    return quantized_integers(narrow_tensor(number, like.device), like.q_scale(), like.q_zero_point(), like.dtype, least_integer(like.dtype))


def quantized_between(q: Tensor, least: Optional[float], most: Optional[float]) -> Tensor:
    # Bounds are rounded to steps first.
    x = q.dequantize()
    if least is not None:
        if abs(least) != float("inf"):
            x = torch.maximum(x, with_integers(integer_for(least, q), q).dequantize())
    if most is not None:
        if abs(most) != float("inf"):
            x = torch.minimum(x, with_integers(integer_for(most, q), q).dequantize())
    return requantized(x, q)


def quantized_sum(a: Tensor, b: Tensor, scale: float, zero_point: int, relu: bool) -> Tensor:
    assert a.dtype == b.dtype, "both tensors must be quantised and have the same dtype"
    x = a.dequantize() + b.dequantize()
    return quantized_numbers(x.relu() if relu else x, scale, zero_point, a.dtype)


def quantized_product(a: Tensor, b: Tensor, scale: float, zero_point: int, relu: bool) -> Tensor:
    assert a.dtype == b.dtype, "both tensors must be quantised and have the same dtype"
    if a.dtype == torch.qint32:
        x = a.dequantize() * b.dequantize()
        return quantized_numbers(x.relu() if relu else x, scale, zero_point, a.dtype)
    x = centred(a) * centred(b) * narrow_tensor(a.q_scale() * b.q_scale() / scale, a.device)
    least = max(least_integer(a.dtype), zero_point) if relu else least_integer(a.dtype)
    zero = torch.full([], zero_point, dtype=torch.float32, device=a.device)
    return torch._make_per_tensor_quantized_tensor(clamped_integers(x, zero, least, most_integer(a.dtype), a.dtype), scale, zero_point)


def positive_part(q: Tensor, relu: bool) -> Tensor:
    if relu:
        return requantized(q.dequantize().relu(), q)
    return q


def quantized_plus_number(q: Tensor, number: float, relu: bool) -> Tensor:
    # A constant moves the zero point as far as that goes; beyond it the scale grows.
    least = least_integer(q.dtype)
    most = most_integer(q.dtype)
    steps = round(number / q.q_scale())
    moved = q.q_zero_point() - int(steps)
    if moved >= least and moved <= most:
        return positive_part(torch._make_per_tensor_quantized_tensor(q.int_repr(), q.q_scale(), moved), relu)
    grown = float(most - moved if moved < least else moved - least) / float(most - least) * q.q_scale()
    x = centred(q) + steps
    return quantized_numbers((x.relu() if relu else x) * q.q_scale(), grown, least if moved < least else most, q.dtype)


def quantized_times_number(q: Tensor, number: float, relu: bool) -> Tensor:
    least = least_integer(q.dtype)
    most = most_integer(q.dtype)
    if number > 0:
        return positive_part(torch._make_per_tensor_quantized_tensor(q.int_repr(), number * q.q_scale(), q.q_zero_point()), relu)
    if number == 0:
        return torch._make_per_tensor_quantized_tensor(torch.zeros_like(q.int_repr()), 1.0, 0)
    # Mirrored: the largest integer becomes the least.
    mirrored = converted(least + most - converted(q.int_repr(), torch.int64), plain_integer(q.dtype))
    return positive_part(torch._make_per_tensor_quantized_tensor(mirrored, -number * q.q_scale(), least + most - q.q_zero_point()), relu)


def quantized_joined(tensors: List[Tensor], dim: int, scale: float, zero_point: int, relu: bool) -> Tensor:
    parts: List[Tensor] = []
    for t in tensors:
        parts.append(in_steps_of(t, scale, zero_point))
    return positive_part(torch._make_per_tensor_quantized_tensor(torch.cat(parts, dim), scale, zero_point), relu)


def quantized_elu(x: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    return torch.where(x >= 0, x * scale, torch.expm1(x * input_scale) * alpha * scale)


# Layers with packed weights. A weight has a scale and a zero point for each row.


def centred_rows(w: Tensor, zero_points: Tensor, axis: int) -> Tensor:
    sizes = [w.size(axis) if d == axis else 1 for d in range(w.dim())]
    return converted(w, torch.float64) - converted(zero_points, torch.float64).view(sizes)


def int8_products(x: Tensor, w: Tensor) -> Tensor:
    # x [..., k] and w [n, k], both centred.
    rows = contiguous_reshape(x, [-1, x.size(x.dim() - 1)]) if x.numel() > 0 else x.view([count_rows(x), x.size(x.dim() - 1)])
    sums = rows.mm(w.permute([1, 0]))
    sizes = [x.size(d) for d in range(x.dim() - 1)]
    sizes.append(w.size(0))
    return sums.view(sizes)


def count_rows(x: Tensor) -> int:
    rows = 1
    for d in range(x.dim() - 1):
        rows = rows * x.size(d)
    return rows


def requantized_sums(sums: Tensor, bias: Optional[Tensor], scales: Tensor, in_scale: float, sizes: List[int], scale: float, zero_point: int, relu: bool) -> Tensor:
    # clamp(round((sum + bias / (in * w)) * (in * w / out)) + zero_point), in float32, as the int8 kernels do it.
    both = converted(scales, torch.float32) * narrow_tensor(in_scale, sums.device)
    total = converted(sums, torch.float32)
    if bias is not None:
        total = total + (bias / both).view(sizes)
    scaled = total * (both / narrow_tensor(scale, sums.device)).view(sizes)
    zero = torch.full([], zero_point, dtype=torch.float32, device=sums.device)
    return torch._make_per_tensor_quantized_tensor(clamped_integers(scaled, zero, zero_point if relu else 0, 255, torch.quint8), scale, zero_point)


def scaled_sums(sums: Tensor, bias: Optional[Tensor], scales: Tensor, in_scale: float, sizes: List[int], relu: bool) -> Tensor:
    both = converted(scales, torch.float32) * narrow_tensor(in_scale, sums.device)
    out = converted(sums, torch.float32) * both.view(sizes)
    if bias is not None:
        out = out + bias.view(sizes)
    return out.relu() if relu else out


def int8_linear(x: Tensor, w: Tensor, scales: Tensor, zero_points: Tensor, bias: Optional[Tensor], scale: float, zero_point: int, relu: bool) -> Tensor:
    assert x.dtype == torch.quint8, "quantized::linear: expected input of dtype quint8"
    sums = int8_products(converted(x.int_repr(), torch.float64) - x.q_zero_point(), centred_rows(w, zero_points, 0))
    return requantized_sums(sums, bias, scales, x.q_scale(), [w.size(0)], scale, zero_point, relu)


def half_linear(x: Tensor, w: Tensor, bias: Optional[Tensor], relu: bool) -> Tensor:
    y = torch.linear(x, w, bias)
    return y.relu() if relu else y


def chosen_params(x: Tensor, least_integer: int, most_integer: int, reduce_range: bool) -> Tuple[float, int]:
    # The scale and zero point by which the range of x, widened to hold 0, becomes all integers (or half of them).
    least = 0.0
    most = 0.0
    if x.numel() > 0:
        least = float(x.amin().item())
        most = float(x.amax().item())
    assert least <= most, f"In ChooseQuantizationParams, min should be less than or equal to max, got {least} and {most}"
    assert abs(least) != float("inf") and abs(most) != float("inf"), f"numbers between {least} and {most} have no scale: they must be finite"
    qmin = least_integer
    qmax = most_integer
    if reduce_range:
        qmin = -(-qmin // 2)
        qmax = qmax // 2
    least = min(least, 0.0)
    most = max(most, 0.0)
    steps = float(qmax - qmin)
    scale = (most - least) / steps
    narrow = narrow_number(scale)
    # Below the least normal number that has an inverse, nothing can be said.
    if narrow < 2.938736052218037e-39:
        scale = 0.1
    smallest = narrow_number(6.1e-5)
    if scale < smallest:
        grown = narrow_number(smallest / narrow_number(scale))
        scale = smallest
        if least == 0:
            most = narrow_number(smallest * steps)
        elif most == 0:
            least = -narrow_number(smallest * steps)
        else:
            least = narrow_number(least * grown)
            most = narrow_number(most * grown)
    from_least = qmin - least / scale
    from_most = qmax - most / scale
    # Either end could be met exactly: the one where less is lost is.
    zero = from_least if abs(float(qmin)) - abs(least / scale) < abs(float(qmax)) - abs(most / scale) else from_most
    return narrow_number(scale), int(round(min(max(zero, float(qmin)), float(qmax))))


def dynamically_centred(x: Tensor, reduce_range: bool) -> Tuple[Tensor, float]:
    # x in steps of the scale that it asks for.
    assert x.dtype == torch.float32, "a dynamically quantised layer expects an input of float32"
    scale, zero_point = chosen_params(x, 0, 255, reduce_range)
    return converted(quantized_integers(x, scale, zero_point, torch.quint8, 0), torch.float64) - zero_point, scale


def dynamic_linear(x: Tensor, w: Tensor, scales: Tensor, zero_points: Tensor, bias: Optional[Tensor], reduce_range: bool, relu: bool) -> Tensor:
    integers, scale = dynamically_centred(x, reduce_range)
    return scaled_sums(int8_products(integers, centred_rows(w, zero_points, 0)), bias, scales, scale, [w.size(0)], relu)


def int8_convolution(x: Tensor, w: Tensor, scales: Tensor, zero_points: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], groups: int, transpose: bool, scale: float, zero_point: int, relu: bool) -> Tensor:
    assert x.dtype == torch.quint8, "quantized::conv: Expected activation data type QUInt8"
    assert scale != 0, "quantized::conv: the scale of the result is 0"
    centre = converted(x.int_repr(), torch.float64) - x.q_zero_point()
    sums = torch.convolution(centre, centred_rows(w, zero_points, 1 if transpose else 0), None, stride, padding, dilation, transpose, output_padding, groups)
    if transpose:
        return quantized_numbers(transposed_numbers(sums, bias, scales, x.q_scale(), relu), scale, zero_point, torch.quint8)
    return requantized_sums(sums, bias, scales, x.q_scale(), channel_sizes(sums), scale, zero_point, relu)


def channel_sizes(x: Tensor) -> List[int]:
    return [x.size(1) if d == 1 else 1 for d in range(x.dim())]


def transposed_numbers(sums: Tensor, bias: Optional[Tensor], scales: Tensor, in_scale: float, relu: bool) -> Tensor:
    scaled = sums * converted(scales, torch.float64).view(channel_sizes(sums)) * in_scale
    if bias is not None:
        scaled = scaled + converted(bias, torch.float64).view(channel_sizes(sums))
    out = converted(scaled, torch.float32)
    return out.relu() if relu else out


def dynamic_convolution(x: Tensor, w: Tensor, scales: Tensor, zero_points: Tensor, bias: Optional[Tensor], stride: List[int], padding: List[int], output_padding: List[int], dilation: List[int], groups: int, transpose: bool, reduce_range: bool) -> Tensor:
    integers, scale = dynamically_centred(x, reduce_range)
    sums = torch.convolution(integers, centred_rows(w, zero_points, 1 if transpose else 0), None, stride, padding, dilation, transpose, output_padding, groups)
    if transpose:
        return transposed_numbers(sums, bias, scales, scale, False)
    return scaled_sums(sums, bias, scales, scale, channel_sizes(sums), False)


# Recurrent layers: `cells` has 8 tensors for each cell, see sconce::cell_tensors.


def cell_product(x: Tensor, cells: List[Tensor], at: int, reduce_range: bool) -> Tensor:
    w = cells[at]
    if w.is_floating_point():
        return half_linear(x, w, cells[at + 3], False)
    return dynamic_linear(x, w, cells[at + 1], cells[at + 2], cells[at + 3], reduce_range, False)


def quantized_step(mode: int, gates: Tensor, h: Tensor, c: Tensor, cells: List[Tensor], at: int, reduce_range: bool) -> Tuple[Tensor, Tensor]:
    return through_gates(mode, gates, cell_product(h, cells, at + 4, reduce_range), h, c)


def quantized_layer(x: Tensor, rows: List[int], h: Tensor, c: Tensor, cells: List[Tensor], at: int, reduce_range: bool, mode: int, reverse: bool) -> Tuple[Tensor, Tensor, Tensor]:
    # x is [rows of all steps, width]; rows says how many each step has.
    parts = cell_product(x, cells, at, reduce_range).split_with_sizes(rows, 0)
    next_h = h
    next_c = c
    outs: List[Tensor] = []
    for i in range(len(rows)):
        t = len(rows) - 1 - i if reverse else i
        out, cell = quantized_step(mode, parts[t], next_h.slice(0, 0, rows[t]), next_c.slice(0, 0, rows[t]), cells, at, reduce_range)
        next_h = with_first_rows(next_h, out)
        next_c = with_first_rows(next_c, cell)
        outs.append(out)
    if reverse:
        outs = [outs[len(outs) - 1 - i] for i in range(len(outs))]
    return torch.cat(outs), next_h, next_c


def quantized_network(x: Tensor, rows: List[int], hx: Tensor, cx: Tensor, cells: List[Tensor], reduce_range: List[bool], num_layers: int, dropout: float, train: bool, bidirectional: bool, mode: int) -> Tuple[Tensor, Tensor, Tensor]:
    directions = 2 if bidirectional else 1
    assert num_layers >= 1 and len(reduce_range) == num_layers * directions, "a quantised recurrent layer needs parameters for each layer and direction"
    now = x
    h: List[Tensor] = []
    c: List[Tensor] = []
    for layer in range(num_layers):
        outs: List[Tensor] = []
        for d in range(directions):
            i = layer * directions + d
            out, last_h, last_c = quantized_layer(now, rows, hx.select(0, i), cx.select(0, i), cells, i * 8, reduce_range[i], mode, d == 1)
            outs.append(out)
            h.append(last_h.unsqueeze(0))
            c.append(last_c.unsqueeze(0))
        now = torch.cat(outs, 1) if directions == 2 else outs[0]
        if dropout != 0 and train and layer + 1 < num_layers:
            now = torch.dropout(now, dropout, True)
    return now, torch.cat(h), torch.cat(c)


def quantized_sequences(input: Tensor, hx: Tensor, cx: Tensor, cells: List[Tensor], reduce_range: List[bool], num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool, mode: int) -> Tuple[Tensor, Tensor, Tensor]:
    # [steps, batch, width], or batch first.
    by_step = input.permute([1, 0, 2]) if batch_first else input
    steps = by_step.size(0)
    batch = by_step.size(1)
    out, h, c = quantized_network(contiguous_reshape(by_step, [steps * batch, by_step.size(2)]), [batch for t in range(steps)], hx, cx, cells, reduce_range, num_layers, dropout, train, bidirectional, mode)
    shaped = out.view([steps, batch, out.size(1)])
    return shaped.permute([1, 0, 2]) if batch_first else shaped, h, c


# Others.


def all_in_steps(tensors: List[Tensor]) -> List[Tensor]:
    # Their integers with the scale and zero point of the first.
    scale = tensors[0].q_scale()
    zero_point = tensors[0].q_zero_point()
    parts: List[Tensor] = []
    for t in tensors:
        parts.append(in_steps_of(t, scale, zero_point))
    return parts


def threshold_of(x: Tensor, threshold: float, value: float) -> Tensor:
    return torch.where(x > threshold, x, narrow_tensor(value, x.device))


def bias_or_zeros(bias: Optional[Tensor], size: int) -> Tensor:
    if bias is None:
        return torch.zeros([size], dtype=torch.float32)
    return bias


def quantized_rows(w: Tensor, scales: Tensor, zero_points: Tensor) -> Tensor:
    # byte * scale + bias, a row each.
    scale = converted(scales, torch.float32)
    return converted(w, torch.float32) * scale.unsqueeze(1) + (torch.neg(scale) * converted(zero_points, torch.float32)).unsqueeze(1)


def quantized_bags(table: Tensor, indices: Tensor, offsets: Optional[Tensor], weights: Optional[Tensor], include_last_offset: bool) -> Tensor:
    if offsets is None:
        assert indices.dim() == 2, "embedding_bag expects offsets to be set for 1D indices."
        begins = torch.arange(0, indices.size(0) * indices.size(1), indices.size(1), dtype=torch.int64) if indices.size(1) > 0 else torch.zeros([indices.size(0)], dtype=torch.int64)
        flat = contiguous_reshape(indices, [indices.size(0) * indices.size(1)])
        if weights is not None:
            weights = contiguous_reshape(weights, [indices.size(0) * indices.size(1)])
        return torch.embedding_bag(table, flat.to(torch.int64), begins, False, 0, False, weights, False)[0]
    assert indices.dim() == 1, "embedding_bag operator: input is 2D, then offsets has to be None"
    return torch.embedding_bag(table, indices.to(torch.int64), offsets.to(torch.int64), False, 0, False, weights, include_last_offset)[0]
