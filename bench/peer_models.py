"""The rows of peers.py: networks in plain torch.nn with random weights, and their inputs.

    make("resnet18", 8)    # the module, in eval mode, and the list of its inputs for a batch of 8

The architectures are those of the papers, with the sizes that the usual model collections give them. All but the LSTM
cell are traced: the text of a Loop is what that row is about.
"""
import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Chain(nn.Module):
    def forward(self, p: Tensor, q: Tensor) -> Tensor:
        return torch.relu(torch.sigmoid(p) * q + p)


class LstmCell(nn.Module):
    """Runs a cell over the steps of a sequence [steps, batch, width], in the program's own loop."""

    def __init__(self, width: int):
        super().__init__()
        self.of_input = nn.Linear(width, 4 * width)
        self.of_hidden = nn.Linear(width, 4 * width)

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        for step in range(x.size(0)):
            enter, forget, new, leave = (self.of_input(x[step]) + self.of_hidden(hidden)).chunk(4, -1)
            cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
            hidden = torch.sigmoid(leave) * torch.tanh(cell)
        return hidden


def mlp(layers, width):
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())])


# Residual networks (He and others, 2015). The middle convolution of a bottleneck has the stride.


def convolution(inputs, outputs, size, stride=1, groups=1, epsilon=1e-5):
    """A convolution without bias that keeps the size but for the stride, and its batch norm."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
                         nn.BatchNorm2d(outputs, eps=epsilon))


class Residual(nn.Module):
    """relu(body(x) + x), with a projection of x where the body changes its sizes."""

    def __init__(self, body, inputs, outputs, stride):
        super().__init__()
        self.body = body
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


def basic_block(inputs, width, stride):
    body = nn.Sequential(convolution(inputs, width, 3, stride), nn.ReLU(), convolution(width, width, 3))
    return Residual(body, inputs, width, stride), width


def bottleneck(inputs, width, stride):
    body = nn.Sequential(convolution(inputs, width, 1), nn.ReLU(), convolution(width, width, 3, stride), nn.ReLU(),
                         convolution(width, 4 * width, 1))
    return Residual(body, inputs, 4 * width, stride), 4 * width


def resnet(block, depths):
    parts, channels = [convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate(depths):
        for number in range(depth):
            part, channels = block(channels, 64 << stage, 2 if stage > 0 and number == 0 else 1)
            parts.append(part)
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


# MobileNetV3-small (Howard and others, 2019).


class Excite(nn.Module):
    """Squeeze and excite: scales every channel by a number made from the means of all."""

    def __init__(self, channels):
        super().__init__()
        squeezed = max(8, (channels // 4 + 4) // 8 * 8)
        self.squeeze = nn.Conv2d(channels, squeezed, 1)
        self.excite = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))
        return F.hardsigmoid(self.excite(scale)) * x


class Inverted(nn.Module):
    """Inverted residual: wide inside, narrow at its ends, and one filter for each channel between."""

    def __init__(self, inputs, size, wide, outputs, excite, activation, stride):
        super().__init__()
        parts = [convolution(inputs, wide, 1, epsilon=1e-3), activation()] if wide != inputs else []
        parts += [convolution(wide, wide, size, stride, wide, 1e-3), activation()]
        parts += [Excite(wide)] if excite else []
        self.body = nn.Sequential(*parts, convolution(wide, outputs, 1, epsilon=1e-3))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x) + x if self.adds else self.body(x)


# Inputs, filter, width inside, outputs, whether it excites, hardswish instead of relu, stride: the paper's table 2.
MOBILENET_V3_SMALL = [
    (16, 3, 16, 16, True, False, 2),
    (16, 3, 72, 24, False, False, 2),
    (24, 3, 88, 24, False, False, 1),
    (24, 5, 96, 40, True, True, 2),
    (40, 5, 240, 40, True, True, 1),
    (40, 5, 240, 40, True, True, 1),
    (40, 5, 120, 48, True, True, 1),
    (48, 5, 144, 48, True, True, 1),
    (48, 5, 288, 96, True, True, 2),
    (96, 5, 576, 96, True, True, 1),
    (96, 5, 576, 96, True, True, 1),
]


def mobilenet_v3_small():
    parts = [convolution(3, 16, 3, 2, epsilon=1e-3), nn.Hardswish()]
    for inputs, size, wide, outputs, excite, hard, stride in MOBILENET_V3_SMALL:
        parts.append(Inverted(inputs, size, wide, outputs, excite, nn.Hardswish if hard else nn.ReLU, stride))
    parts += [convolution(96, 576, 1, epsilon=1e-3), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*parts, nn.Linear(576, 1024), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(1024, 1000))


# Transformers: layers of BERT normalise after each half and have three projections, layers of GPT-2 normalise before
# and have one for all three; both end in hidden states.


def attend(q, k, v, heads: int, causal: bool):
    batch, length, width = q.shape
    q, k, v = [x.view(batch, length, heads, width // heads).transpose(1, 2) for x in (q, k, v)]
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return mixed.transpose(1, 2).reshape(batch, length, width)


class BertLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.output = [nn.Linear(width, width) for _ in range(4)]
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = [nn.LayerNorm(width, eps=1e-12) for _ in range(2)]

    def forward(self, x: Tensor) -> Tensor:
        mixed = attend(self.query(x), self.key(x), self.value(x), self.heads, False)
        x = self.norm1(x + self.output(mixed))
        return self.norm2(x + self.outer(F.gelu(self.inner(x))))


class Bert(nn.Module):
    def __init__(self, vocabulary=30522, places=512, width=768, heads=12, layers=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.Sequential(*[BertLayer(width, heads) for _ in range(layers)])

    def forward(self, tokens: Tensor) -> Tensor:
        places = self.places.weight[: tokens.shape[1]]
        return self.layers(self.norm(self.tokens(tokens) + places))


class Gpt2Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.projection, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.projection(self.norm1(x)).chunk(3, -1)
        x = x + self.output(attend(q, k, v, self.heads, True))
        return x + self.outer(F.gelu(self.inner(self.norm2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, vocabulary=50257, places=1024, width=768, heads=12, layers=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(places, width)
        self.layers = nn.Sequential(*[Gpt2Layer(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens: Tensor) -> Tensor:
        places = self.places.weight[: tokens.shape[1]]
        return self.norm(self.layers(self.tokens(tokens) + places))


def picture(batch):
    return [torch.randn(batch, 3, 224, 224)]


# Name: how the module is made, its inputs for a batch. peers.py lists the batches.
MODELS = {
    "chain": (Chain, lambda batch: [torch.randn(1 << 24), torch.randn(1 << 24)]),
    "softmax": (lambda: nn.Softmax(-1), lambda batch: [torch.randn(8192, 1024)]),
    "layer_norm": (lambda: nn.LayerNorm(1024), lambda batch: [torch.randn(8192, 1024)]),
    "MLP-50": (lambda: mlp(50, 64), lambda batch: [torch.randn(batch, 64)]),
    "LSTM cell": (lambda: LstmCell(64), lambda batch: [torch.randn(200, batch, 64), *torch.zeros(2, batch, 64)]),
    "resnet18": (lambda: resnet(basic_block, [2, 2, 2, 2]), picture),
    "resnet50": (lambda: resnet(bottleneck, [3, 4, 6, 3]), picture),
    "mobilenet_v3_small": (mobilenet_v3_small, picture),
    "BERT": (Bert, lambda batch: [torch.randint(0, 30522, (batch, 128))]),
    "GPT-2": (Gpt2, lambda batch: [torch.randint(0, 50257, (batch, 64))]),
}
SCRIPTED = {"LSTM cell"}


def give_statistics(module, inputs):
    """Batch norms of an untrained network let values grow from layer to layer; these keep them near 1, as training does."""
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    if norms:
        for norm in norms:
            norm.momentum = 1.0  # the statistics become those of this batch
        module.train()
        with torch.no_grad():
            module(*inputs)


def make(name, batch):
    torch.manual_seed(17)
    construct, inputs_for = MODELS[name]
    module = construct()
    give_statistics(module, inputs_for(4))
    return module.eval(), inputs_for(batch)
