# Attention by products: softmax(query key^T) value, and the logarithm of what the softmax divides by.


def heads_as(x: Tensor, heads: int) -> Tensor:
    # Key and value may have fewer heads, which are shared by neighbours.
    if x.size(1) == heads:
        return x
    groups = heads // x.size(1)
    shared = x.unsqueeze(2).expand([x.size(0), x.size(1), groups, x.size(2), x.size(3)])
    return contiguous_reshape(shared, [x.size(0), heads, x.size(2), x.size(3)])


def batched_product(a: Tensor, b: Tensor) -> Tensor:
    # Of [B, H, n, k] and [B, H, k, m].
    left = contiguous_reshape(a, [a.size(0) * a.size(1), a.size(2), a.size(3)])
    right = contiguous_reshape(b, [b.size(0) * b.size(1), b.size(2), b.size(3)])
    return left.bmm(right).view([a.size(0), a.size(1), a.size(2), b.size(3)])


def attention_products(query: Tensor, key: Tensor, value: Tensor, is_causal: bool, attn_mask: Optional[Tensor], scale: Optional[float], kept: Optional[Tensor], kept_scale: float) -> Tuple[Tensor, Tensor]:
    factor = 1.0 / float(max(query.size(3), 1)) ** 0.5
    if scale is not None:
        factor = scale
    heads = query.size(1)
    scores = batched_product(wide(query), wide(heads_as(key, heads)).permute([0, 1, 3, 2])) * factor
    if attn_mask is not None:
        scores = scores + attn_mask.to(scores.dtype)
    if is_causal:
        rows = torch.arange(0, query.size(2), 1, dtype=torch.int64, device=query.device).unsqueeze(1)
        columns = torch.arange(0, key.size(2), 1, dtype=torch.int64, device=query.device)
        scores = torch.where(columns <= rows, scores, torch.full([], -float("inf"), dtype=scores.dtype, device=query.device))
    top = scores.amax([-1], True)
    # A row without any key has no largest score.
    safe = torch.where(top == -float("inf"), zero_of(top), top)
    powers = (scores - safe).exp()
    total = powers.sum([-1], True)
    shares = powers / torch.where(total == 0, torch.full([], 1, dtype=total.dtype, device=query.device), total)
    if kept is not None:
        shares = torch.where(kept, shares * kept_scale, zero_of(shares))
    out = batched_product(shares, wide(heads_as(value, heads))).to(query.dtype)
    logs = (total.log() + safe).squeeze(-1)
    # Results lie in memory as the query does, and by steps.
    placed = torch.copy(query, out)
    return placed, logs.permute([0, 2, 1]).clone(memory_format=torch.contiguous_format).permute([0, 2, 1])


def attention_of_any_rank(query: Tensor, key: Tensor, value: Tensor, attn_mask: Optional[Tensor], dropout_p: float, is_causal: bool, scale: Optional[float], enable_gqa: bool) -> Tensor:
    factor = 1.0 / float(max(query.size(-1), 1)) ** 0.5
    if scale is not None:
        factor = scale
    keys = wide(key)
    values = wide(value)
    if enable_gqa:
        keys = heads_as(keys, query.size(1))
        values = heads_as(values, query.size(1))
    scores = torch.matmul(wide(query), keys.permute(swapped_dims(keys.dim(), -2, -1))) * factor
    never = torch.full([], -float("inf"), dtype=scores.dtype, device=query.device)
    if attn_mask is not None:
        scores = torch.where(attn_mask, scores, never) if attn_mask.dtype == torch.bool else scores + attn_mask.to(scores.dtype)
    if is_causal:
        scores = torch.where(triangle_mask(scores, 0) <= 0, scores, never)
    top = scores.amax([-1], True)
    # A row that sees no key gives zeros.
    powers = (scores - torch.where(top == -float("inf"), zero_of(top), top)).exp()
    total = powers.sum([-1], True)
    shares = powers / torch.where(total == 0, torch.full([], 1, dtype=total.dtype, device=query.device), total)
    if dropout_p > 0:
        shares = torch.dropout(shares, dropout_p, True)
    return torch.matmul(shares, values).to(query.dtype)


def mask_over(x: Tensor, mask: Tensor, mask_type: Optional[int]) -> Tensor:
    # In the shape of x. Types: 0 [L, S], 1 [batch, S], 2 the shape of x.
    assert mask.dtype == torch.bool, "Mask should be a boolean tensor"
    if mask_type is None:
        assert mask.shape == x.shape, "Mask Type should be defined"
        return mask
    assert mask_type == 0 or mask_type == 1 or mask_type == 2, "Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2 (default_mask)"
    if mask_type == 1 and mask.dim() == 2 and x.dim() == 4:
        return mask.view([mask.size(0), 1, 1, mask.size(1)]).expand(x.shape)
    if mask_type == 0 and mask.dim() == 2 and x.dim() == 4:
        return mask.view([1, 1, mask.size(0), mask.size(1)]).expand(x.shape)
    assert mask.shape == x.shape, f"Mask shape should match input. mask: {mask.shape} input: {x.shape}"
    return mask


def softmax_of_kept(x: Tensor, mask: Tensor, dim: Optional[int], mask_type: Optional[int]) -> Tensor:
    left_out = mask_over(x, mask, mask_type)
    along = x.dim() - 1
    if dim is not None:
        along = dim
    filled = torch.where(left_out, torch.full([], -float("inf"), dtype=x.dtype, device=x.device), x)
    return torch.softmax(filled.clone(memory_format=torch.contiguous_format), along)


def heads_apart(x: Tensor, heads: int) -> Tensor:
    # [batch, L, width] as [batch, heads, L, width / heads]
    return contiguous_reshape(x, [x.size(0), x.size(1), heads, x.size(2) // heads]).permute([0, 2, 1, 3])


def query_key_value(qkv: Tensor, bias: Tensor, heads: int) -> Tuple[Tensor, Tensor, Tensor]:
    assert qkv.dim() == 3 and bias.dim() == 1 and qkv.size(2) == bias.size(0) and qkv.size(2) % 3 == 0, f"expected qkv of size [batch, length, 3 * width] and as many biases, got {qkv.shape} and {bias.shape}"
    width = qkv.size(2) // 3
    assert heads > 0 and width % heads == 0, f"width {width} is no multiple of the {heads} heads"
    parts = [heads_apart((qkv + bias).slice(2, i * width, (i + 1) * width), heads) for i in range(3)]
    query = parts[0] * (1.0 / float(width // heads) ** 0.5)
    return query.clone(memory_format=torch.contiguous_format), parts[1].clone(memory_format=torch.contiguous_format), parts[2].clone(memory_format=torch.contiguous_format)


def attention_layer(query: Tensor, key: Tensor, value: Tensor, width: int, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, weight: Tensor, bias: Tensor, mask: Optional[Tensor], need_weights: bool, average: bool, mask_type: Optional[int]) -> Tuple[Tensor, Optional[Tensor]]:
    assert query.dim() == 3 and query.size(2) == width, f"expected query of size [batch, length, {width}], got {query.shape}"
    assert key.shape == value.shape, f"expected `key`/`value` shapes to match, got {key.shape} and {value.shape}"
    assert heads > 0 and width % heads == 0, "`embed_dim` must divide evenly by `num_heads`"
    given = [query, key, value]
    parts = [heads_apart(torch.linear(given[i], qkv_weight.slice(0, i * width, (i + 1) * width), qkv_bias.slice(0, i * width, (i + 1) * width)), heads) for i in range(3)]
    scores = torch.matmul(parts[0] * (1.0 / float(width // heads) ** 0.5), parts[1].permute([0, 1, 3, 2]))
    if mask is not None:
        # Of floats, whatever is not 0 leaves out.
        left_out = mask if mask.dtype == torch.bool else mask != 0
        shares = softmax_of_kept(scores, left_out, None, mask_type)
    else:
        shares = torch.softmax(scores, -1)
    context = torch.matmul(shares, parts[2]).permute([0, 2, 1, 3])
    out = torch.linear(contiguous_reshape(context, query.shape), weight, bias)
    if not need_weights:
        return out, None
    return out, shares.mean([1]) if average else shares


def self_is_nested(x: Tensor) -> bool:
    return x.is_nested


def encoder_layer(src: Tensor, width: int, heads: int, qkv_weight: Tensor, qkv_bias: Tensor, weight: Tensor, bias: Tensor, use_gelu: bool, norm_first: bool, eps: float, norms: List[Tensor], network: List[Tensor], mask: Optional[Tensor], mask_type: Optional[int]) -> Tensor:
    x = torch.layer_norm(src, [width], norms[0], norms[1], eps) if norm_first else src
    seen, shares = attention_layer(x, x, x, width, heads, qkv_weight, qkv_bias, weight, bias, mask, False, True, mask_type)
    x = seen + src
    if not norm_first:
        x = torch.layer_norm(x, [width], norms[0], norms[1], eps)
    inner = torch.linear(torch.layer_norm(x, [width], norms[2], norms[3], eps) if norm_first else x, network[0], network[1])
    inner = torch.gelu(inner) if use_gelu else torch.relu(inner)
    x = torch.linear(inner, network[2], network[3]) + x
    return x if norm_first else torch.layer_norm(x, [width], norms[2], norms[3], eps)
