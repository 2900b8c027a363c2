"""flex_attention: attention whose scores a function of the program changes, or masks.

Functions are given scores and places as tensors that broadcast against each other, all at once, so that they are made of operators
on elements, as PyTorch asks for."""

import math

from ... import _sconce

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]


def _function(name):
    return _sconce._function(name)


def _places(sizes, device):
    """One tensor of places for each dimension, with size one in the others."""
    return [_function("arange")(size, device=device).view([size if i == at else 1 for i in range(len(sizes))])
            for at, size in enumerate(sizes)]


def noop_mask(batch, head, token_q, token_kv):
    """Masks nothing."""
    return token_q.new_ones((), dtype=_sconce.bool)


def and_masks(*mask_mods):
    """The mask of what all functions leave."""
    def both(b, h, q_idx, kv_idx):
        result = b.new_ones((), dtype=_sconce.bool)
        for mask in mask_mods:
            result = result & mask(b, h, q_idx, kv_idx)
        return result

    return both


def or_masks(*mask_mods):
    """The mask of what one of the functions leaves."""
    def either(b, h, q_idx, kv_idx):
        result = b.new_zeros((), dtype=_sconce.bool)
        for mask in mask_mods:
            result = result | mask(b, h, q_idx, kv_idx)
        return result

    return either


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device="cpu"):
    """The mask that a function of (batch, head, place of the query, place of the key) makes: a tensor of bools (B, H, Q_LEN, KV_LEN)."""
    sizes = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    return mod_fn(*_places(sizes, device)).expand(sizes)


class BlockMask:
    """A mask, and the function that it was made by."""

    def __init__(self, mask, mask_mod, block_size):
        self.mask, self.mask_mod, self.BLOCK_SIZE = mask, mask_mod, block_size

    @property
    def shape(self):
        return tuple(self.mask.shape)

    def sparsity(self):
        """How much of the matrix is masked, in percent."""
        return 100 * (1 - self.mask.to(_sconce.float32).mean().item())

    def to_dense(self):
        """The mask itself."""
        return self.mask

    def to(self, device):
        """The same on a device."""
        return BlockMask(self.mask.to(device), self.mask_mod, self.BLOCK_SIZE)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device="cpu", BLOCK_SIZE=128, _compile=False):
    """The same for flex_attention."""
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, sizes)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None):
    """softmax(score_mod(query key^T scale)) value. score_mod(score, batch, head, q_idx, kv_idx) gives other scores."""
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("flex_attention expects tensors of four dimensions: (batch, heads, length, size)")
    if enable_gqa:
        key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
        value = value.repeat_interleave(query.shape[1] // value.shape[1], 1)
    elif query.shape[1] != key.shape[1]:
        raise ValueError("Expect query and key/value to have the same number of heads "
                         f"but got Hq={query.shape[1]} and Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA.")
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if score_mod is not None:
        scores = score_mod(scores, *_places(tuple(scores.shape), query.device)).to(query.dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask, -math.inf)
    lse = scores.logsumexp(-1)
    weights = _function("where")((lse == -math.inf).unsqueeze(-1), _function("zeros_like")(scores), scores.softmax(-1))
    out = weights @ value
    return (out, lse) if return_lse else out
