"""Layers of networks over reference.py: convolutions, pools, norms, resizing, attention, recurrent layers.

Arguments are spelled as in PyTorch; numbers for windows are tuples. Each is the definition, written down.
"""

import itertools
import math

import numpy as np

import real_sizes.reference as R


def _per_channel(v, ndim):
    return R.reshape(v, (1, v.shape[0]) + (1,) * (ndim - 2))


def conv(x, weight, bias, stride, padding, dilation, groups):
    y = R.conv(x, weight, stride, padding, dilation, groups)
    return y if bias is None else y + _per_channel(bias, y.ndim)


def conv_transpose(x, weight, bias, stride, padding, output_padding, dilation, groups):
    size = tuple((n - 1) * s - 2 * p + d * (k - 1) + o + 1
                 for n, s, p, d, k, o in zip(x.shape[2:], stride, padding, dilation, weight.shape[2:], output_padding))
    y = R.conv_input(x, weight, size, stride, padding, dilation, groups)
    return y if bias is None else y + _per_channel(bias, y.ndim)


# Pools.

def pool_size(size, kernel, stride, padding, dilation, ceil_mode):
    out = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        m = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil_mode else 0)) // s + 1
        out.append(m - 1 if ceil_mode and (m - 1) * s >= n + p else m)  # no window begins beyond the padding
    return tuple(out)


def _reach(size, kernel, stride, padding, dilation, out):
    """(before, after) of each axis that windows reach into."""
    return [(p, max(0, (m - 1) * s + d * (k - 1) + 1 - n - p))
            for n, k, s, p, d, m in zip(size, kernel, stride, padding, dilation, out)]


def max_pool(x, kernel, stride, padding, dilation, ceil_mode):
    """The result, and places in the flattened plane."""
    nd = len(kernel)
    size = x.shape[x.ndim - nd:]
    out = pool_size(size, kernel, stride, padding, dilation, ceil_mode)
    widths = [(0, 0)] * (x.ndim - nd) + _reach(size, kernel, stride, padding, dilation, out)
    padded = np.pad(x.value, widths, constant_values=-math.inf)
    places = np.pad(R.places_of(x.shape), widths).reshape(-1)[R.window_places(padded, kernel, stride, dilation, out)]
    return R.take(x, places), places % math.prod(size)


def avg_pool(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor):
    nd = len(kernel)
    size, one = x.shape[x.ndim - nd:], (1,) * nd
    out = pool_size(size, kernel, stride, padding, one, ceil_mode)
    widths = [(0, 0)] * (x.ndim - nd) + _reach(size, kernel, stride, padding, one, out)
    sums = R.window_sum(R.pad(x, widths), kernel, stride, one, out)
    if divisor:
        return sums * (1.0 / divisor)
    counts = np.ones(())
    for i, (n, k, s, p, m) in enumerate(zip(size, kernel, stride, padding, out)):
        begin = np.arange(m) * s - p
        end = np.minimum(begin + k, n + p)
        count = end - begin if count_include_pad else np.minimum(end, n) - np.maximum(begin, 0)
        counts = counts * count.reshape((m,) + (1,) * (nd - 1 - i)).astype(np.float64)
    return sums * (1.0 / counts)


def lp_pool(x, norm, kernel, stride, ceil_mode):
    """avg_pool of powers, as PyTorch has it: negative sums become 0."""
    zero = (0,) * len(kernel)
    mean = avg_pool(x ** norm, kernel, stride, zero, ceil_mode, True, None)
    return (R.where(mean.value > 0, mean, 0.0) * float(math.prod(kernel))) ** (1.0 / norm)


def adaptive_bounds(size, out):
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def adaptive_avg_pool(x, out):
    for axis, m in enumerate(out, x.ndim - len(out)):
        matrix = np.zeros((m, x.shape[axis]))
        for i, (b, e) in enumerate(adaptive_bounds(x.shape[axis], m)):
            matrix[i, b:e] = 1 / (e - b)
        x = R.apply_matrix(matrix, x, axis)
    return x


def adaptive_max_pool(x, out):
    lead = x.ndim - len(out)
    size = x.shape[lead:]
    at = np.empty((*x.shape[:lead], *out), np.int64)
    bounds = [adaptive_bounds(n, m) for n, m in zip(size, out)]
    for cell in itertools.product(*map(range, out)):
        part = tuple(slice(*bounds[d][i]) for d, i in enumerate(cell))
        values = x.value[(Ellipsis, *part)].reshape(*x.shape[:lead], -1)
        places = R.places_of(x.shape)[(Ellipsis, *part)].reshape(values.shape)
        first = np.argmax(values, -1)[..., None]  # NaN counts as the largest here, too
        at[(Ellipsis, *cell)] = np.take_along_axis(places, first, -1)[..., 0]
    return R.take(x, at), at % math.prod(size)


# Norms.

def layer_norm(x, axes_count, weight, bias, eps):
    axes = tuple(range(x.ndim - axes_count, x.ndim))
    centred = x - R.mean(x, axes, keepdims=True)
    y = centred / R.sqrt(R.mean(centred * centred, axes, keepdims=True) + eps)
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def rms_norm(x, axes_count, weight, eps):
    axes = tuple(range(x.ndim - axes_count, x.ndim))
    y = x / R.sqrt(R.mean(x * x, axes, keepdims=True) + eps)
    return y if weight is None else y * weight


def group_norm(x, groups, weight, bias, eps):
    rows = R.reshape(x, (x.shape[0], groups, -1))
    y = R.reshape(layer_norm(rows, 1, None, None, eps), x.shape)
    if weight is not None:
        y = y * _per_channel(weight, x.ndim)
    return y if bias is None else y + _per_channel(bias, x.ndim)


def batch_norm(x, weight, bias, eps, mean=None, variance=None):
    """With running statistics given: those; else those of the batch. Also gives the mean and the unbiased variance."""
    axes = (0, *range(2, x.ndim))
    m = R.mean(x, axes, keepdims=True) if mean is None else _per_channel(mean, x.ndim)
    centred = x - m
    v = R.mean(centred * centred, axes, keepdims=True) if variance is None else _per_channel(variance, x.ndim)
    y = centred / R.sqrt(v + eps)
    if weight is not None:
        y = y * _per_channel(weight, x.ndim)
    if bias is not None:
        y = y + _per_channel(bias, x.ndim)
    count = x.size // max(1, x.shape[1])
    return y, m.value.reshape(-1), v.value.reshape(-1) * count / max(1, count - 1)


# Resizing: a matrix for each axis.

def resize_matrix(size, out, mode, align_corners, scale=None, antialias=False):
    """Row i holds the weights of the input's elements in element i of the result. `scale`: what was asked for instead of a size."""
    if align_corners:
        step = (size - 1) / (out - 1) if out > 1 else 0.0
        centre = np.arange(out) * step
    else:
        step = 1 / scale if scale else size / out
        centre = (np.arange(out) + 0.5) * step - 0.5
    matrix = np.zeros((out, size))
    if antialias:
        centre = (np.arange(out) + 0.5) * step - 0.5  # with aligned corners, too, as in PyTorch
        def cubic(t, a=-0.5):
            t = np.abs(t)
            return np.where(t < 1, ((a + 2) * t - (a + 3)) * t * t + 1, np.where(t < 2, (((t - 5) * t + 8) * t - 4) * a, 0))
        taps, shape = (4, cubic) if mode == "cubic" else (2, lambda t: np.maximum(0, 1 - np.abs(t)))
        wide = max(step, 1.0)
        for i, c in enumerate(centre + 0.5):
            begin = max(int(c - taps * wide / 2 + 0.5), 0)
            end = min(int(c + taps * wide / 2 + 0.5), size)
            w = shape((np.arange(begin, end) - c + 0.5) / wide)
            matrix[i, begin:end] = w / w.sum()
        return matrix
    if mode == "linear":
        centre = np.maximum(centre, 0)
        low = np.minimum(np.floor(centre).astype(int), size - 1)
        t = np.minimum(centre - low, 1.0)
        np.add.at(matrix, (np.arange(out), low), 1 - t)
        np.add.at(matrix, (np.arange(out), np.minimum(low + 1, size - 1)), t)
        return matrix
    a = -0.75
    low = np.floor(centre).astype(int)
    t = centre - low
    for k in range(-1, 3):
        d = np.abs(t - k)
        w = np.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, (((d - 5) * d + 8) * d - 4) * a)
        np.add.at(matrix, (np.arange(out), np.clip(low + k, 0, size - 1)), w)
    return matrix


def resize(x, out, mode, align_corners, scales=None, antialias=False):
    for i, (axis, m) in enumerate(zip(range(2, x.ndim), out)):
        scale = scales[i] if scales else None
        if x.shape[axis] != m or scale:
            x = R.apply_matrix(resize_matrix(x.shape[axis], m, mode, align_corners, scale, antialias), x, axis)
    return x


def nearest(x, out, exact, scales=None):
    """float32 decides the places, as in PyTorch."""
    for i, (axis, m) in enumerate(zip(range(2, x.ndim), out)):
        n = x.shape[axis]
        step = np.float32(1 / scales[i]) if scales else np.float32(n) / np.float32(m)
        at = (np.arange(m).astype(np.float32) + np.float32(0.5 if exact else 0)) * step
        x = R.take_rows(x, np.minimum(np.floor(at).astype(np.int64), n - 1), axis)
    return x


# Attention.

def attention(q, k, v, mask=None, causal=False, scale=None, grouped=False):
    """mask: bools (True takes part), or a Node that is added."""
    if grouped:
        repeat = np.arange(q.shape[-3]) // (q.shape[-3] // k.shape[-3])
        k, v = R.take_rows(k, repeat, k.ndim - 3), R.take_rows(v, repeat, v.ndim - 3)
    scores = R.matmul(q, R.swap(k, -1, -2)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if causal:
        mask = np.tril(np.ones(scores.shape[-2:], bool))
    if isinstance(mask, R.Node):
        scores = scores + mask
    elif mask is not None:
        scores = R.where(mask, scores, -math.inf)
    if mask is None:
        return R.matmul(R.softmax(scores, -1), v)
    # A row that may look at nothing gives 0.
    nothing = np.all(scores.value == -math.inf, -1, keepdims=True)
    weights = R.softmax(R.where(nothing, 0.0, scores), -1)
    return R.matmul(R.where(nothing, 0.0, weights), v)


# Recurrent layers. A cell maps (gates of the input, state) to a state, which is a tuple.

def rnn_cell(kind, gi, state, w_hh, b_hh, nonlinearity="tanh"):
    h = state[0]
    gh = R.linear(h, w_hh, b_hh)
    if kind == "RNN":
        return (R.tanh(gi + gh) if nonlinearity == "tanh" else R.relu(gi + gh),)
    if kind == "LSTM":
        n = state[1].shape[-1]
        g = gi + gh
        i, f, c, o = (g[..., j * n:(j + 1) * n] for j in range(4))
        cell = R.sigmoid(f) * state[1] + R.sigmoid(i) * R.tanh(c)
        return R.sigmoid(o) * R.tanh(cell), cell
    n = h.shape[-1]
    ri, zi, ni = (gi[..., j * n:(j + 1) * n] for j in range(3))
    rh, zh, nh = (gh[..., j * n:(j + 1) * n] for j in range(3))
    z = R.sigmoid(zi + zh)
    new = R.tanh(ni + R.sigmoid(ri + rh) * nh)
    return (new + z * (h - new),)


def rnn(kind, x, states, weights, nonlinearity="tanh", lengths=None):
    """x [T, N, C]; states[layer * directions + direction]: a tuple of [N, H]; weights likewise: (w_ih, w_hh, b_ih, b_hh, w_hr), the
    last three None where absent. weights[layer][direction]. lengths: of each row of the batch. Gives the output and last states."""
    last = []
    t_size = x.shape[0]
    for layer, directions in enumerate(weights):
        outputs = []
        for direction, (w_ih, w_hh, b_ih, b_hh, w_hr) in enumerate(directions):
            state = states[layer * len(directions) + direction]
            gates = R.linear(x, w_ih, b_ih)
            steps = [None] * t_size
            for t in range(t_size) if direction == 0 else reversed(range(t_size)):
                new = rnn_cell(kind, gates[t], state, w_hh, b_hh, nonlinearity)
                if w_hr is not None:
                    new = (R.linear(new[0], w_hr), *new[1:])
                if lengths is not None:
                    live = (t < lengths)[:, None]
                    new = tuple(R.where(live, n, s) for n, s in zip(new, state))
                    steps[t] = R.where(live, new[0], 0.0)
                else:
                    steps[t] = new[0]
                state = new
            last.append(state)
            outputs.append(R.stack(steps))
        x = outputs[0] if len(outputs) == 1 else R.concatenate(outputs, -1)
    return x, last
