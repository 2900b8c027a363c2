"""The networks of rows/training.h in PyTorch, and one step of training them."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

import sequences


class SmallCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = self.block(3, 32, 1), self.block(32, 64, 1), self.block(64, 128, 2)
        self.linear = nn.Linear(128, 10)

    @staticmethod
    def block(channels, out, stride):
        return nn.Sequential(nn.Conv2d(channels, out, 3, stride, padding=1), nn.BatchNorm2d(out), nn.ReLU())

    def forward(self, x):
        x = self.third(F.max_pool2d(self.second(self.first(x)), 2))
        return self.linear(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Residual(nn.Module):
    def __init__(self, channels, out, stride):
        super().__init__()
        conv = lambda channels, size, stride: nn.Sequential(
            nn.Conv2d(channels, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out))
        self.first, self.second = conv(channels, 3, stride), conv(out, 3, 1)
        self.shortcut = conv(channels, 1, stride) if stride != 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


def resnet18(uniform, index):
    widths = [64, 64, 128, 256, 512]
    blocks = [Residual(widths[stage - (i == 0)], widths[stage], 2 if stage > 1 and i == 0 else 1)
              for stage in (1, 2, 3, 4) for i in (0, 1)]
    model = fill(nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                               *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)), uniform)
    x, target = uniform(8 * 3 * 64 * 64, 101).view(8, 3, 64, 64), index([8], 102, 1000)
    return model, lambda: F.cross_entropy(model(x), target)


def fill(model, uniform):
    """Parameters as rows/training.cpp makes them: norms stay 1 and 0, biases are 0."""
    for seed, p in enumerate(model.parameters(), 1):
        if p.dim() > 1:
            bound = 1 / math.sqrt(p[0].numel())
            p.data = uniform(p.numel(), seed, -bound, bound).view(p.shape)
    for name, p in model.named_parameters():
        if name.endswith("bias"):
            p.data.zero_()
    return model


def cnn(uniform, index, memory_format):
    model = fill(SmallCnn(), uniform).to(memory_format=memory_format)
    x = uniform(32 * 3 * 32 * 32, 101).view(32, 3, 32, 32).contiguous(memory_format=memory_format)
    target = index([32], 102, 10)
    return model, lambda: F.cross_entropy(model(x), target)


def sequence_model(uniform, index, name, sizes, *arguments):
    model = fill(getattr(sequences, name)(1000, *arguments), uniform)
    tokens, target = index(sizes, 101, 1000), index(sizes, 102, 1000)
    torch.manual_seed(1)  # of dropout
    return model, lambda: model(tokens, target)


def transformer(name, dropout):
    return lambda uniform, index: sequence_model(uniform, index, name, [32, 64], 64, 128, 4, 512, 4, dropout)


# Row: (uniform, index) to a network and what computes its loss.
MODELS = {
    "train cnn": lambda uniform, index: cnn(uniform, index, torch.contiguous_format),
    "train cnn channels_last": lambda uniform, index: cnn(uniform, index, torch.channels_last),
    "train resnet18": resnet18,
    "train transformer": transformer("Transformer", 0.0),
    "train transformer dropout": transformer("Transformer", 0.1),
    "train transformer causal": transformer("CausalTransformer", 0.0),
    "train transformer causal dropout": transformer("CausalTransformer", 0.1),
    "train lstm": lambda uniform, index: sequence_model(uniform, index, "LstmModel", [35, 20], 256, 2),
}


class Training:
    @torch.inference_mode(False)
    def __init__(self, row, uniform, index):
        # Copies: memory of numpy would not be counted.
        self.model, self.loss = MODELS[row](lambda *a: uniform(*a).clone(), lambda *a: index(*a).clone())
        if "cnn" in row or "resnet" in row:
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)
        else:
            self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=0.01)

    @torch.inference_mode(False)
    def step(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def losses(row, uniform, index):
    """Of the first steps of a fresh network."""
    training = Training(row, uniform, index)
    return torch.stack([training.step() for _ in range(1 if "resnet" in row else 5)])


def peak_bytes(work):
    """The most bytes of tensors that were alive at once while work() ran, as PyTorch's allocator tells its profiler."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        kept = work()
    events = [e for e in profile.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    del kept
    return peak
