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
