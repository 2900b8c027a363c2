"""Language and attention."""

import torch

from . import Case, program


@program("x-transformers", "einops", "einx", "loguru", "packaging", "frozendict", "sympy")
def decoder():
    from x_transformers import Decoder, TransformerWrapper

    model = TransformerWrapper(num_tokens=50, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True))
    return Case(model, [(torch.randint(0, 50, (2, 12)),)], "trace")


@program("x-transformers", "einops", "einx", "loguru", "packaging", "frozendict", "sympy")
def encoder_alibi():
    from x_transformers import Encoder

    return Case(Encoder(dim=32, depth=2, heads=4, alibi_pos_bias=True, ff_glu=True), [(torch.randn(2, 10, 32),)], "trace")


@program("rotary-embedding-torch", "einops")
def rotary():
    from rotary_embedding_torch import RotaryEmbedding

    rotary = RotaryEmbedding(dim=16)

    class Rotated(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rotary = rotary

        def forward(self, q, k):
            return self.rotary.rotate_queries_or_keys(q) @ self.rotary.rotate_queries_or_keys(k).transpose(-1, -2)

    return Case(Rotated(), [(torch.randn(1, 2, 8, 16), torch.randn(1, 2, 8, 16))], "trace")


@program("local-attention", "einops", "hyper-connections", "torch-einops-utils")
def local_attention():
    from local_attention import LocalAttention

    return Case(LocalAttention(dim=16, window_size=8, causal=True, look_backward=1), [tuple(torch.randn(2, 2, 32, 16) for _ in range(3))],
                "trace")


@program("pytorch-crf")
def crf():
    from torchcrf import CRF

    return Case(CRF(5, batch_first=True), [(torch.randn(2, 6, 5), torch.randint(0, 5, (2, 6)))], "trace")


@program("performer-pytorch", "einops", "local-attention", "axial-positional-embedding", "hyper-connections", "torch-einops-utils")
def performer():
    from performer_pytorch import Performer

    return Case(Performer(dim=32, depth=1, heads=4, dim_head=8, causal=False), [(torch.randn(1, 24, 32),)], "trace")


@program("entmax")
def sparsemax():
    from entmax import sparsemax

    return Case(lambda x: sparsemax(x, dim=-1), [(torch.randn(3, 7),)], "trace")


@program("perceiver-pytorch", "einops")
def perceiver():
    from perceiver_pytorch import Perceiver

    return Case(Perceiver(input_channels=3, input_axis=2, num_freq_bands=4, max_freq=8., depth=2, num_latents=8, latent_dim=16,
                          num_classes=4, latent_heads=2, cross_dim_head=8, latent_dim_head=8), [(torch.randn(1, 8, 8, 3),)], "trace")


@program("vector-quantize-pytorch", "einops", "einx", "frozendict", "sympy", "torch-einops-utils")
def quantize():
    from vector_quantize_pytorch import VectorQuantize

    return Case(VectorQuantize(dim=16, codebook_size=32), [(torch.randn(1, 20, 16),)], "trace")
