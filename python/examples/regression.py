"""Linear regression of a polynomial, by hand and by modules, with early stopping by a plateau of the loss."""

from itertools import count

import torch
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau

DEGREE = 4


def features(x):
    return torch.cat([x.unsqueeze(1) ** i for i in range(1, DEGREE + 1)], 1)


def batch(weight, bias, size=32):
    x = torch.randn(size)
    return features(x), features(x).mm(weight) + bias


def by_modules(weight, bias):
    model = torch.nn.Linear(DEGREE, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
    schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=4)
    for step in count(1):
        x, y = batch(weight, bias)
        model.zero_grad()
        loss = F.smooth_l1_loss(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_value_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step(loss.item())
        print(f"step {step} loss {loss.item():.6f} rate {optimizer.param_groups[0]['lr']:.8f}")
        if loss.item() < 1e-3 or step == 60:
            break
    return model


def by_hand(weight, bias):
    w = torch.zeros(DEGREE, 1, requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for step in range(30):
        x, y = batch(weight, bias)
        loss = (x.mm(w) + b - y).abs().mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.02 * p.grad.sign()
                p.grad = None
        print(f"by hand {step} loss {loss.item():.6f}")


def main():
    torch.manual_seed(6)
    weight, bias = torch.randn(DEGREE, 1) * 2, torch.randn(1) * 2
    model = by_modules(weight, bias)
    print("learned", " ".join(f"{v:.5f}" for v in model.weight.view(-1).tolist()))
    by_hand(weight, bias)


if __name__ == "__main__":
    main()
