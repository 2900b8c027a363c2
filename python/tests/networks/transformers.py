"""Classifiers of images that look far: ConvNeXt, vision transformer, Swin, MLP-Mixer."""

from classic import images
from layers import Block, Classified, Feed, kept_scale
from library import F, nn, torch
from registry import network


class ChannelNorm(nn.Module):
    """Layer norm over the channels of images."""

    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        return F.layer_norm(x.permute(0, 2, 3, 1), self.weight.shape, self.weight, self.bias, 1e-6).permute(0, 3, 1, 2)


class NextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.window = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm, self.feed, self.scale = nn.LayerNorm(width, eps=1e-6), Feed(width, 4 * width), kept_scale(width, 0.125)

    def forward(self, x):
        y = self.feed(self.norm(self.window(x).permute(0, 2, 3, 1)))
        return x + (self.scale * y).permute(0, 3, 1, 2)


@network("AdamW", images=2, lr=1e-4, weight_decay=0.05)
def convnext_tiny(draws):
    layers, channels = [nn.Conv2d(3, 96, 4, 4), ChannelNorm(96)], 96
    for i, count in enumerate((3, 3, 9, 3)):
        if i > 0:
            layers += [ChannelNorm(channels), nn.Conv2d(channels, 2 * channels, 2, 2)]
            channels *= 2
        layers += [NextBlock(channels) for _ in range(count)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(768), nn.Linear(768, 1000))
    return Classified(net, smoothing=0.1), images(draws, 1, 224)


class Vit(nn.Module):
    def __init__(self, width=768, depth=3):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, 197, width))
        self.blocks = nn.ModuleList(Block(width, 12) for _ in range(depth))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.places
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


@network("AdamW", images=2, lr=1e-4, weight_decay=0.05)
def vit(draws):
    return Classified(Vit()), images(draws, 2, 224)


class WindowBlock(nn.Module):
    """Attention within windows of 7 x 7 places, which are moved by `shift`."""

    def __init__(self, width, heads, size, shift):
        super().__init__()
        self.heads, self.size, self.shift = heads, size, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out, self.feed = nn.Linear(width, 3 * width), nn.Linear(width, width), Feed(width, 4 * width)
        self.table = nn.Parameter(torch.zeros(13 * 13, heads))
        rows = torch.arange(7).repeat_interleave(7)
        columns = torch.arange(7).repeat(7)
        between = (rows[:, None] - rows + 6) * 13 + columns[:, None] - columns + 6
        self.register_buffer("between", between, persistent=False)
        mask = None
        if shift:
            part = torch.zeros(size, size)
            number = 0
            for a in (slice(0, -7), slice(-7, -shift), slice(-shift, None)):
                for b in (slice(0, -7), slice(-7, -shift), slice(-shift, None)):
                    part[a, b] = number
                    number += 1
            part = part.view(size // 7, 7, size // 7, 7).transpose(1, 2).reshape(-1, 49)
            mask = torch.zeros(part.shape[0], 49, 49).masked_fill(part[:, None] != part[:, :, None], -100.0)
        self.register_buffer("mask", mask, persistent=False)

    def attend(self, x):
        n, size, _, width = x.shape
        if self.shift:
            x = torch.roll(x, (-self.shift, -self.shift), (1, 2))
        x = x.view(n, size // 7, 7, size // 7, 7, width).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, width)
        q, k, v = self.qkv(x).reshape(-1, 49, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q * (width // self.heads) ** -0.5) @ k.transpose(-2, -1)
        scores = scores + self.table[self.between.view(-1)].view(49, 49, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        if self.mask is not None:
            windows = self.mask.shape[0]
            scores = scores.view(n, windows, self.heads, 49, 49) + self.mask[None, :, None]
            scores = scores.view(-1, self.heads, 49, 49)
        x = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, 49, width))
        x = x.view(n, size // 7, size // 7, 7, 7, width).permute(0, 1, 3, 2, 4, 5).reshape(n, size, size, width)
        return torch.roll(x, (self.shift, self.shift), (1, 2)) if self.shift else x

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Merge(nn.Module):
    """Four neighbours become one place."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        return self.reduce(self.norm(torch.cat([x[:, 0::2, 0::2], x[:, 1::2, 0::2], x[:, 0::2, 1::2], x[:, 1::2, 1::2]], -1)))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, 96, 4, 4), nn.LayerNorm(96)
        layers, width, size = [], 96, 56
        for i in range(4):
            layers += [WindowBlock(width, width // 32, size, 0), WindowBlock(width, width // 32, size, 3 if size > 7 else 0)]
            if i < 3:
                layers.append(Merge(width))
                width, size = 2 * width, size // 2
        self.layers, self.last, self.head = nn.Sequential(*layers), nn.LayerNorm(768), nn.Linear(768, 1000)

    def forward(self, x):
        x = self.norm(self.patches(x).permute(0, 2, 3, 1))
        return self.head(self.last(self.layers(x)).mean((1, 2)))


@network("AdamW", images=2, lr=1e-4, weight_decay=0.05)
def swin(draws):
    return Classified(Swin()), images(draws, 1, 224)


class Mixer(nn.Module):
    def __init__(self, places, width):
        super().__init__()
        self.norm1, self.across = nn.LayerNorm(width), Feed(places, width // 2)
        self.norm2, self.within = nn.LayerNorm(width), Feed(width, 4 * width)

    def forward(self, x):
        x = x + self.across(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.within(self.norm2(x))


class MixerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.mix = nn.Conv2d(3, 512, 16, 16), nn.Sequential(*[Mixer(196, 512) for _ in range(4)])
        self.norm, self.head = nn.LayerNorm(512), nn.Linear(512, 1000)

    def forward(self, x):
        return self.head(self.norm(self.mix(self.patches(x).flatten(2).mT)).mean(1))


@network("Adam", images=2, lr=2e-4)
def mlp_mixer(draws):
    return Classified(MixerNet()), images(draws, 2, 224)
