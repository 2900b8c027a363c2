# Normalisations: over channels, over the last dims, of weights.


def along_channels(x: Tensor, rank: int) -> Tensor:
    # One number a channel, beside [N, C, ...].
    return contiguous_reshape(wide(x), [1, x.numel()] + [1 for d in range(rank - 2)])


def batch_norm_by_state(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor]:
    # By the operators of Core ATen for each case; the statistics that are there are written afterwards.
    if not training:
        assert running_mean is not None and running_var is not None, "Expected running_mean and running_var to be defined when training=False"
        return torch._native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps)
    out, mean, invstd = torch._native_batch_norm_legit(input, weight, bias, True, momentum, eps)
    dims = other_dims(input.dim(), 1)
    if running_mean is not None:
        running_mean.copy_(running_mean * (1 - momentum) + wide(input).mean(dims) * momentum)
    if running_var is not None:
        running_var.copy_(running_var * (1 - momentum) + wide(input).var(dims, correction=1) * momentum)
    return out, mean, invstd


def updated_statistics(input: Tensor, running_mean: Tensor, running_var: Tensor, momentum: float) -> Tuple[Tensor, Tensor]:
    dims = other_dims(input.dim(), 1)
    x = wide(input)
    mean = running_mean * (1 - momentum) + x.mean(dims) * momentum
    var = running_var * (1 - momentum) + x.var(dims, correction=1) * momentum
    return mean.to(running_mean.dtype), var.to(running_var.dtype)


def batch_norm_gradients(grad_out: Tensor, input: Tensor, weight: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], save_mean: Optional[Tensor], save_invstd: Optional[Tensor], train: bool, eps: float, output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    rank = input.dim()
    dims = other_dims(rank, 1)
    g = wide(grad_out)
    x = wide(input)
    if train:
        assert save_mean is not None and save_invstd is not None, "save_mean and save_invstd are needed when train=True"
        mean = along_channels(save_mean, rank)
        scale = along_channels(save_invstd, rank)
    else:
        assert running_mean is not None and running_var is not None, "running_mean and running_var are needed when train=False"
        mean = along_channels(running_mean, rank)
        scale = (along_channels(running_var, rank) + eps).rsqrt()
    centred = x - mean
    total = g.sum(dims, True)
    along = (g * centred).sum(dims, True)
    kept = input.dtype
    factor = scale
    if weight is not None:
        factor = scale * along_channels(weight, rank)
        kept = weight.dtype
    for_input: Optional[Tensor] = None
    for_weight: Optional[Tensor] = None
    for_bias: Optional[Tensor] = None
    if output_mask[0]:
        part = g
        if train:
            count = max(input.numel() // max(input.size(1), 1), 1)
            part = g - total / count - centred * (along * scale * scale / count)
        for_input = (part * factor).to(input.dtype)
    if output_mask[1]:
        for_weight = flat(along * scale).to(kept)
    if output_mask[2]:
        for_bias = flat(total).to(kept)
    return for_input, for_weight, for_bias


def instance_norm_as_batch(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Optional[Tensor], running_var: Optional[Tensor], use_input_stats: bool, momentum: float, eps: float) -> Tensor:
    # The samples become channels of one batch: [N, C, ...] is normalised as [1, N * C, ...].
    samples = input.size(0)
    channels = input.size(1)
    images = contiguous_reshape(input, [1, samples * channels] + input.shape[2:])
    scale: Optional[Tensor] = None
    if weight is not None:
        scale = weight.repeat([samples])
    shift: Optional[Tensor] = None
    if bias is not None:
        shift = bias.repeat([samples])
    if not use_input_stats:
        assert running_mean is not None and running_var is not None, "Expected running_mean and running_var to be defined when use_input_stats is false"
        out, mean, invstd = torch._native_batch_norm_legit_no_training(images, scale, shift, running_mean.repeat([samples]), running_var.repeat([samples]), momentum, eps)
        return contiguous_reshape(out, input.shape)
    out, mean, invstd = torch._native_batch_norm_legit(images, scale, shift, True, momentum, eps)
    dims = [0] + [d for d in range(2, input.dim())]
    if running_mean is not None:
        running_mean.copy_(running_mean * (1 - momentum) + wide(input).mean(dims) * momentum)
    if running_var is not None:
        each = wide(input).var([d for d in range(2, input.dim())], correction=1)
        running_var.copy_(running_var * (1 - momentum) + each.mean([0]) * momentum)
    return contiguous_reshape(out, input.shape)


def last_dims(count: int) -> List[int]:
    return [-1 - d for d in range(count)]


def root_mean_square(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor], eps: Optional[float]) -> Tuple[Tensor, Tensor]:
    x = wide(input)
    little = 2.220446049250313e-16 if x.dtype == torch.float64 else 1.1920928955078125e-07
    if eps is not None:
        little = eps
    scale = ((x * x).mean(last_dims(len(normalized_shape)), True) + little).rsqrt()
    out = x * scale
    if weight is not None:
        out = out * wide(weight)
    return out.to(input.dtype), scale


def root_mean_square_gradients(grad_out: Tensor, input: Tensor, normalized_shape: List[int], rstd: Tensor, weight: Optional[Tensor], output_mask: List[bool]) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    g = wide(grad_out)
    scale = wide(rstd)
    x = wide(input) * scale
    for_input: Optional[Tensor] = None
    for_weight: Optional[Tensor] = None
    if output_mask[0]:
        h = g
        if weight is not None:
            h = g * wide(weight)
        for_input = ((h - x * (h * x).mean(last_dims(len(normalized_shape)), True)) * scale).to(input.dtype)
    if output_mask[1]:
        lead = all_dims(input.dim() - len(normalized_shape))
        each = g * x
        if len(lead) > 0:
            each = each.sum(lead)
        kept = input.dtype
        if weight is not None:
            kept = weight.dtype
        for_weight = each.to(kept)
    return for_input, for_weight


def weight_norms(v: Tensor, dim: int) -> Tensor:
    return torch.linalg_vector_norm(v, 2, other_dims(v.dim(), dim), True)


def normed_weight(v: Tensor, g: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    norms = weight_norms(wide(v) if g.dtype == torch.float16 or g.dtype == torch.bfloat16 else v.to(g.dtype), dim)
    return (v * (g / norms)).to(v.dtype), norms


def normed_weight_gradients(grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int) -> Tuple[Tensor, Tensor]:
    norms = saved_norms.to(saved_g.dtype)
    along = (grad_w * saved_v).sum(other_dims(saved_v.dim(), dim), True)
    return (saved_g / norms) * (grad_w - saved_v * (along / (norms * norms))), along / norms


def batch_norm_updated(input: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], running_mean: Tensor, running_var: Tensor, training: bool, momentum: float, eps: float) -> Tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    # Nothing is written: the new statistics are results.
    if not training:
        out, mean, invstd = torch._native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum, eps)
        return out, mean, invstd, running_mean.clone(), running_var.clone()
    out, mean, invstd = torch._native_batch_norm_legit(input, weight, bias, True, momentum, eps)
    new_mean, new_var = updated_statistics(input, running_mean, running_var, momentum)
    return out, mean, invstd, new_mean, new_var


def renormed_slices(x: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    d = wrap_dim(dim, x.dim())
    norm = torch.linalg_vector_norm(wide(x), p, other_dims(x.dim(), d), True)
    scale = torch.full_like(norm, maxnorm) / (norm + 1e-7)
    kept = x.dtype if x.dtype == torch.float16 or x.dtype == torch.bfloat16 else norm.dtype
    return x * torch.where(norm > maxnorm, scale, torch.full_like(scale, 1)).to(kept)
