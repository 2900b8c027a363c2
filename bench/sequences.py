"""Networks over sequences of tokens. Sconce compiles them from this text, PyTorch imports it."""
import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    def __init__(self, vocabulary: int, length: int, width: int, heads: int, inner: int, layers: int, dropout: float):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([
            nn.TransformerEncoderLayer(width, heads, inner, dropout, "gelu", batch_first=True, norm_first=True)
            for _ in range(layers)
        ])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        x = self.dropout(self.tokens(tokens) + self.places)
        for layer in self.layers:
            x = layer(x)
        return nn.functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), target.flatten())


class CausalBlock(nn.Module):
    def __init__(self, width: int, heads: int, inner: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.dropout_p = dropout
        self.norm1 = nn.LayerNorm(width)
        self.projection = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.inner = nn.Linear(width, inner)
        self.outer = nn.Linear(inner, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = self.projection(self.norm1(x)).chunk(3, dim=-1)
        q = q.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        k = k.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        v = v.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        p = self.dropout_p if self.training else 0.0
        a = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=True)
        x = x + self.dropout(self.output(a.transpose(1, 2).reshape(batch, length, width)))
        return x + self.dropout(self.outer(nn.functional.gelu(self.inner(self.norm2(x)))))


class CausalTransformer(nn.Module):
    def __init__(self, vocabulary: int, length: int, width: int, heads: int, inner: int, layers: int, dropout: float):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList([CausalBlock(width, heads, inner, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        x = self.dropout(self.tokens(tokens) + self.places)
        for layer in self.layers:
            x = layer(x)
        return nn.functional.cross_entropy(self.head(self.norm(x)).flatten(0, 1), target.flatten())


class LstmModel(nn.Module):
    def __init__(self, vocabulary: int, width: int, layers: int):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor, target: Tensor) -> Tensor:
        x, state = self.lstm(self.tokens(tokens))
        return nn.functional.cross_entropy(self.head(x).flatten(0, 1), target.flatten())
