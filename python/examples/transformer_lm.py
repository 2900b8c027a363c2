"""A transformer learns sequences of a hidden rule, with warm-up and weight decay for matrices alone."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR

VOCABULARY, LENGTH, WIDTH = 32, 24, 48


class Positions(nn.Module):
    def __init__(self, width, longest):
        super().__init__()
        at = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(1, longest, width)
        table[0, :, 0::2] = torch.sin(at * rate)
        table[0, :, 1::2] = torch.cos(at * rate)
        self.register_buffer("table", table, persistent=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(x + self.table[:, :x.size(1)])


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = Positions(WIDTH, LENGTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 96, dropout=0.1, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.embed.weight
        nn.init.normal_(self.embed.weight, std=0.1)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.size(1))
        x = self.positions(self.embed(tokens) * math.sqrt(WIDTH))
        return self.head(self.encoder(x, mask=mask, is_causal=True))


def sequences(count):
    """Each token follows from the two before it."""
    rows = torch.randint(0, VOCABULARY, (count, 2))
    while rows.size(1) < LENGTH + 1:
        following = (rows[:, -1] * 3 + rows[:, -2] + 1) % VOCABULARY
        rows = torch.cat([rows, following.unsqueeze(1)], dim=1)
    return rows


def groups(model, decay):
    with_decay = [p for p in model.parameters() if p.dim() >= 2]
    without = [p for p in model.parameters() if p.dim() < 2]
    return [{"params": with_decay, "weight_decay": decay}, {"params": without, "weight_decay": 0.0}]


def main():
    torch.manual_seed(3)
    model = LanguageModel()
    print("parameters", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.AdamW(groups(model, 0.05), lr=4e-3, betas=(0.9, 0.95))
    schedule = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10) * 0.5 * (1 + math.cos(math.pi * step / 50)))
    for step in range(40):
        rows = sequences(24)
        loss = F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        print(f"step {step} loss {loss.item():.6f} rate {schedule.get_last_lr()[0]:.8f}")
    model.eval()
    with torch.inference_mode():
        rows = sequences(64)
        right = (model(rows[:, :-1]).argmax(-1) == rows[:, 1:]).float().mean()
    print(f"accuracy {right.item():.4f}")


if __name__ == "__main__":
    main()
