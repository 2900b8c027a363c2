"""Training in bfloat16 by autocast, and a scaler of gradients that leaves out a step with an infinite one."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.amp import GradScaler, autocast


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(24, 64)
        self.norm = nn.LayerNorm(64)
        self.hidden = nn.Linear(64, 64)
        self.leave = nn.Linear(64, 3)

    def forward(self, x):
        x = F.gelu(self.enter(x))
        x = x + F.relu(self.hidden(self.norm(x)))
        return self.leave(x)


def data(count, rule):
    x = torch.randn(count, 24)
    return x, (x @ rule).argmax(dim=1)


def train_bfloat16(model, rule):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(30):
        x, y = data(64, rule)
        optimizer.zero_grad()
        with autocast("cpu", dtype=torch.bfloat16):
            scores = model(x)
            loss = F.cross_entropy(scores, y)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.4f} {str(scores.dtype)[6:]} {str(loss.dtype)[6:]}")


def train_scaled(model, rule):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scaler = GradScaler("cpu", init_scale=1024.0, growth_interval=5)
    for step in range(15):
        x, y = data(64, rule)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        if step == 7:
            model.leave.bias.grad[0] = float("inf")
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        print(f"scaled {step} loss {loss.item():.6f} scale {scaler.get_scale()}")


@autocast("cpu", dtype=torch.bfloat16)
def product(a, b):
    return torch.mm(a, b)


def main():
    torch.manual_seed(12)
    rule = torch.randn(24, 3)
    train_bfloat16(Mixer(), rule)
    train_scaled(Mixer(), rule)
    print(product(torch.ones(2, 2), torch.ones(2, 2)).dtype, torch.is_autocast_enabled("cpu"))


if __name__ == "__main__":
    main()
