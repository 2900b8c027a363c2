# torch.nn.functional: multi-head attention.
import math
import warnings
from typing import Optional, Tuple

import torch
from torch import Tensor


# Whether the inputs have a batch dimension; refuses sizes that do not go together.
def _mha_shape_check(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Optional[Tensor],
                     attn_mask: Optional[Tensor], num_heads: int) -> bool:
    if query.dim() == 3:
        batched = "batched (3-D)"
        padding_dims = 2
    elif query.dim() == 2:
        batched = "unbatched (2-D)"
        padding_dims = 1
    else:
        raise AssertionError("query should be unbatched 2D or batched 3D tensor but received {}-D query tensor".format(
            query.dim()))
    if key.dim() != query.dim() or value.dim() != query.dim():
        raise AssertionError("For {} `query`, expected `key` and `value` to be {}-D but found {}-D and {}-D tensors "
                             "respectively".format(batched, query.dim(), key.dim(), value.dim()))
    if key_padding_mask is not None and key_padding_mask.dim() != padding_dims:
        raise AssertionError("For {} `query`, expected `key_padding_mask` to be `None` or {}-D but found {}-D tensor "
                             "instead".format(batched, padding_dims, key_padding_mask.dim()))
    if attn_mask is not None:
        if attn_mask.dim() != 2 and attn_mask.dim() != 3:
            raise AssertionError("For {} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {}-D tensor "
                                 "instead".format(batched, attn_mask.dim()))
        if query.dim() == 2 and attn_mask.dim() == 3:
            expected = [num_heads, query.size(0), key.size(0)]
            if attn_mask.size() != expected:
                raise AssertionError("Expected `attn_mask` shape to be {} but got {}".format(expected, attn_mask.size()))
    return query.dim() == 3


def _none_or_dtype(input: Optional[Tensor]) -> Optional[int]:
    if input is None:
        return None
    return input.dtype


# A mask as numbers to add: where a bool mask is True, -inf.
def _canonical_mask(mask: Optional[Tensor], mask_name: str, other_type: Optional[int], other_name: str,
                    target_type: int, check_other: bool = True) -> Optional[Tensor]:
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError("only bool and floating types of {} are supported".format(mask_name))
    if check_other and other_type is not None:
        if mask.dtype != other_type:
            warnings.warn("Support for mismatched {} and {} is deprecated. Use same type for both instead.".format(
                mask_name, other_name))
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


# The thirds (or two thirds) of a stacked projection, each contiguous: one matrix product for all of them.
def _stacked_linear(input: Tensor, weight: Tensor, bias: Optional[Tensor], parts: int, rows: int) -> Tensor:
    stacked = torch._C._nn.linear(input, weight, bias)
    return stacked.unflatten(-1, [parts, rows]).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor,
                          b: Optional[Tensor] = None) -> Tuple[Tensor, Tensor, Tensor]:
    size = q.size(-1)
    if k is v:
        if q is k:
            all_three = _stacked_linear(q, w, b, 3, size)
            return all_three[0], all_three[1], all_three[2]
        w_q, w_kv = w.split([size, size * 2])
        bias_q: Optional[Tensor] = None
        bias_kv: Optional[Tensor] = None
        if b is not None:
            bias_q, bias_kv = b.split([size, size * 2])
        projected = torch._C._nn.linear(q, w_q, bias_q)
        both = _stacked_linear(k, w_kv, bias_kv, 2, size)
        return projected, both[0], both[1]
    w_q, w_k, w_v = w.chunk(3)
    if b is None:
        return torch._C._nn.linear(q, w_q), torch._C._nn.linear(k, w_k), torch._C._nn.linear(v, w_v)
    b_q, b_k, b_v = b.chunk(3)
    return torch._C._nn.linear(q, w_q, b_q), torch._C._nn.linear(k, w_k, b_k), torch._C._nn.linear(v, w_v, b_v)


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
                   b_q: Optional[Tensor] = None, b_k: Optional[Tensor] = None,
                   b_v: Optional[Tensor] = None) -> Tuple[Tensor, Tensor, Tensor]:
    size_q, size_k, size_v = q.size(-1), k.size(-1), v.size(-1)
    assert w_q.size() == [size_q, size_q], "expecting query weights shape of {}, but got {}".format(
        [size_q, size_q], w_q.size())
    assert w_k.size() == [size_q, size_k], "expecting key weights shape of {}, but got {}".format(
        [size_q, size_k], w_k.size())
    assert w_v.size() == [size_q, size_v], "expecting value weights shape of {}, but got {}".format(
        [size_q, size_v], w_v.size())
    return torch._C._nn.linear(q, w_q, b_q), torch._C._nn.linear(k, w_k, b_k), torch._C._nn.linear(v, w_v, b_v)


# A mask for one more key than it has: nothing is masked there.
def _pad_mask(mask: Optional[Tensor]) -> Optional[Tensor]:
    if mask is None:
        return None
    return torch._C._nn.pad(mask, [0, 1])


def _static_heads(x: Tensor, name: str, heads: int, head_dim: int) -> Tensor:
    assert x.size(0) == heads, "expecting {}.size(0) of {}, but got {}".format(name, heads, x.size(0))
    assert x.size(2) == head_dim, "expecting {}.size(2) of {}, but got {}".format(name, head_dim, x.size(2))
    return x


# Adds the key padding mask [batch, keys] to the attention mask [1 or batch * heads, queries, keys].
def _merge_masks(attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor], batch: int, num_heads: int,
                 keys: int) -> Optional[Tensor]:
    if key_padding_mask is None:
        return attn_mask
    spread = key_padding_mask.view(batch, 1, 1, keys).expand(-1, num_heads, -1, -1)
    spread = spread.reshape(batch * num_heads, 1, keys)
    if attn_mask is None:
        return spread
    return attn_mask + spread


def multi_head_attention_forward(
        query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int,
        in_proj_weight: Optional[Tensor], in_proj_bias: Optional[Tensor], bias_k: Optional[Tensor],
        bias_v: Optional[Tensor], add_zero_attn: bool, dropout_p: float, out_proj_weight: Tensor,
        out_proj_bias: Optional[Tensor], training: bool = True, key_padding_mask: Optional[Tensor] = None,
        need_weights: bool = True, attn_mask: Optional[Tensor] = None, use_separate_proj_weight: bool = False,
        q_proj_weight: Optional[Tensor] = None, k_proj_weight: Optional[Tensor] = None,
        v_proj_weight: Optional[Tensor] = None, static_k: Optional[Tensor] = None, static_v: Optional[Tensor] = None,
        average_attn_weights: bool = True, is_causal: bool = False) -> Tuple[Tensor, Optional[Tensor]]:
    is_batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        # The batch dimension is the second: what is one tensor stays one, for _in_projection_packed.
        key_is_value, query_is_key = key is value, query is key
        query = query.unsqueeze(1)
        key = query if query_is_key else key.unsqueeze(1)
        value = key if key_is_value else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt_len, bsz, embed_dim = query.shape
    src_len, _, _ = key.shape

    key_padding_mask = _canonical_mask(key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask",
                                       query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
                           "`generate_square_subsequent_mask` to create this mask.")
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # the hint is enough
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        if key_padding_mask is not None:
            is_causal = False  # not after the masks are merged

    assert embed_dim == embed_dim_to_check, "was expecting embedding dimension of {}, but got {}".format(
        embed_dim_to_check, embed_dim)
    if isinstance(embed_dim, torch.Tensor):  # while Python traces
        head_dim = embed_dim.div(num_heads, rounding_mode="trunc")
    else:
        head_dim = embed_dim // num_heads
    assert head_dim * num_heads == embed_dim, "embed_dim {} not divisible by num_heads {}".format(embed_dim, num_heads)
    if use_separate_proj_weight:
        assert key.shape[:2] == value.shape[:2], "key's sequence and batch dims {} do not match value's {}".format(
            key.shape[:2], value.shape[:2])
        assert q_proj_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_proj_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_proj_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        if in_proj_bias is None:
            q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight)
        else:
            b_q, b_k, b_v = in_proj_bias.chunk(3)
            q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, b_q, b_k, b_v)
    else:
        assert key.shape == value.shape, "key shape {} does not match value shape {}".format(key.shape, value.shape)
        assert in_proj_weight is not None, "use_separate_proj_weight is False but in_proj_weight is None"
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias)

    if attn_mask is not None:
        if attn_mask.dim() == 2:
            if attn_mask.size() != [tgt_len, src_len]:
                raise RuntimeError("The shape of the 2D attn_mask is {}, but should be {}.".format(
                    attn_mask.size(), (tgt_len, src_len)))
            attn_mask = attn_mask.unsqueeze(0)
        elif attn_mask.dim() == 3:
            if attn_mask.size() != [bsz * num_heads, tgt_len, src_len]:
                raise RuntimeError("The shape of the 3D attn_mask is {}, but should be {}.".format(
                    attn_mask.size(), (bsz * num_heads, tgt_len, src_len)))
        else:
            raise RuntimeError("attn_mask's dimension {} is not supported".format(attn_mask.dim()))

    if bias_k is not None and bias_v is not None:
        assert static_k is None, "bias cannot be added to static key."
        assert static_v is None, "bias cannot be added to static value."
        k = torch.cat([k, bias_k.repeat(1, bsz, 1)])
        v = torch.cat([v, bias_v.repeat(1, bsz, 1)])
        attn_mask = _pad_mask(attn_mask)
        key_padding_mask = _pad_mask(key_padding_mask)
    else:
        assert bias_k is None, "bias_k is set but bias_v is None"
        assert bias_v is None, "bias_v is set but bias_k is None"

    # [length, batch, heads * size] as [batch * heads, length, size]
    q = q.view(tgt_len, bsz * num_heads, head_dim).transpose(0, 1)
    if static_k is None:
        k = k.view(k.shape[0], bsz * num_heads, head_dim).transpose(0, 1)
    else:
        k = _static_heads(static_k, "static_k", bsz * num_heads, head_dim)
    if static_v is None:
        v = v.view(v.shape[0], bsz * num_heads, head_dim).transpose(0, 1)
    else:
        v = _static_heads(static_v, "static_v", bsz * num_heads, head_dim)
    if add_zero_attn:
        k = torch.cat([k, torch.zeros([bsz * num_heads, 1, head_dim], dtype=k.dtype, device=k.device)], dim=1)
        v = torch.cat([v, torch.zeros([bsz * num_heads, 1, head_dim], dtype=v.dtype, device=v.device)], dim=1)
        attn_mask = _pad_mask(attn_mask)
        key_padding_mask = _pad_mask(key_padding_mask)
    src_len = k.size(1)
    attn_mask = _merge_masks(attn_mask, key_padding_mask, bsz, num_heads, src_len)
    if not training:
        dropout_p = 0.0

    if need_weights:
        scaled = q * math.sqrt(1.0 / float(head_dim))
        assert not (is_causal and attn_mask is None), "is_causal needs attn_mask when weights are returned"
        if attn_mask is not None:
            weights = torch.baddbmm(attn_mask, scaled, k.transpose(-2, -1))
        else:
            weights = torch.bmm(scaled, k.transpose(-2, -1))
        weights = weights.softmax(-1)
        if dropout_p > 0.0:
            weights = torch.dropout(weights, dropout_p, True)
        output = torch.bmm(weights, v).transpose(0, 1).reshape(tgt_len * bsz, embed_dim)
        output = torch._C._nn.linear(output, out_proj_weight, out_proj_bias)
        output = output.view(tgt_len, bsz, output.size(1))
        weights = weights.view(bsz, num_heads, tgt_len, src_len)
        if average_attn_weights:
            weights = weights.mean(dim=1)
        if not is_batched:
            output, weights = output.squeeze(1), weights.squeeze(0)
        return output, weights

    if attn_mask is not None:
        if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
            attn_mask = attn_mask.unsqueeze(0)
        else:
            attn_mask = attn_mask.view(bsz, num_heads, -1, src_len)
    output = torch._C._nn.scaled_dot_product_attention(
        q.view(bsz, num_heads, tgt_len, head_dim), k.view(bsz, num_heads, src_len, head_dim),
        v.view(bsz, num_heads, src_len, head_dim), attn_mask, dropout_p, is_causal)
    output = output.permute(2, 0, 1, 3).reshape(bsz * tgt_len, embed_dim)
    output = torch._C._nn.linear(output, out_proj_weight, out_proj_bias)
    output = output.view(tgt_len, bsz, output.size(1))
    if not is_batched:
        output = output.squeeze(1)
    return output, None
