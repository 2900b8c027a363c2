"""Sound: wavenet, wav2vec2, Whisper, a temporal convolutional net, a recogniser with CTC."""

import math

from layers import Block, wide
from library import F, nn, torch
from registry import network


class Gated(nn.Module):
    """A gate over a window that looks back `dilation` steps."""

    def __init__(self, width, skip, dilation):
        super().__init__()
        self.dilation = dilation
        self.window = nn.Conv1d(width, 2 * width, 2, dilation=dilation)
        self.back, self.skip = nn.Conv1d(width, width, 1), nn.Conv1d(width, skip, 1)

    def forward(self, x):
        a, b = self.window(F.pad(x, (self.dilation, 0))).chunk(2, 1)
        y = torch.tanh(a) * torch.sigmoid(b)
        return x + self.back(y), self.skip(y)


class Wavenet(nn.Module):
    def __init__(self, width=32, skip=64, layers=9):
        super().__init__()
        self.first = nn.Conv1d(1, width, 2)
        self.layers = nn.ModuleList(Gated(width, skip, 1 << i) for i in range(layers))
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, 256, 1))

    def forward(self, sound):
        coded = torch.sign(sound) * torch.log1p(255 * sound.abs()) / math.log(256.0)
        labels = ((coded.float() + 1) * 127.5).round().long().clamp(0, 255)
        x, total = self.first(F.pad(coded[:, None, :-1], (1, 0))), 0
        for layer in self.layers:
            x, skip = layer(x)
            total = total + skip
        return F.cross_entropy(wide(self.last(total)), labels[:, 1:])


@network("Adam", lr=1e-3)
def wavenet(draws):
    return Wavenet(), ((draws.floats(1, 16000) / 2).clamp(-1, 1),)


class Wave2vec(nn.Module):
    """Windows over 16,000 samples, grouped windows for places, transformer layers; a contrast with other places."""

    def __init__(self, channels=256, width=384):
        super().__init__()
        layers = [nn.Conv1d(1, channels, 10, 5, bias=False), nn.GroupNorm(channels, channels), nn.GELU()]
        for kernel in (3, 3, 3, 3, 2, 2):
            layers += [nn.Conv1d(channels, channels, kernel, 2, bias=False), nn.GELU()]
        self.windows, self.norm, self.wide = nn.Sequential(*layers), nn.LayerNorm(channels), nn.Linear(channels, width)
        self.places = nn.Conv1d(width, width, 128, padding=64, groups=16)
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(width, 6, 4 * width, dropout=0.0, activation="gelu",
                                                               batch_first=True) for _ in range(2))
        self.hidden = nn.Parameter(torch.zeros(width))
        self.target = nn.Linear(channels, width)

    def forward(self, sound, masked):
        seen = self.norm(self.windows(sound[:, None]).transpose(1, 2))
        x = torch.where(masked[..., None], self.hidden.to(seen.dtype), self.wide(seen))
        x = x + F.gelu(self.places(x.transpose(1, 2))[..., :-1]).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        a, b = x[masked], self.target(seen)[masked]
        scores = F.cosine_similarity(wide(a)[:, None], wide(b)[None], dim=-1) / 0.1
        return F.cross_entropy(scores, torch.arange(a.shape[0]))


@network("AdamW", lr=5e-4)
def wav2vec2(draws):
    return Wave2vec(), (draws.floats(2, 16000), draws.positive(2, 49) > 0.6)


class Whisper(nn.Module):
    def __init__(self, width=384, words=4096):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(80, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, 1)
        rates = torch.exp(-math.log(10000.0) / (width // 2 - 1) * torch.arange(width // 2))
        angles = torch.arange(1500)[:, None] * rates
        self.register_buffer("places", torch.cat([angles.sin(), angles.cos()], 1), persistent=False)
        self.encoder, self.norm = nn.ModuleList(Block(width, 6) for _ in range(2)), nn.LayerNorm(width)
        self.words, self.order = nn.Embedding(words, width), nn.Parameter(torch.zeros(64, width))
        self.decoder = nn.TransformerDecoderLayer(width, 6, 4 * width, 0.0, "gelu", batch_first=True, norm_first=True)

    def forward(self, sound, text):
        x = F.gelu(self.conv2(F.gelu(self.conv1(sound)))).transpose(1, 2) + self.places
        for layer in self.encoder:
            x = layer(x)
        length = text.shape[1] - 1
        y = self.words(text[:, :-1]) + self.order[:length]
        future = torch.full((length, length), float("-inf"), dtype=y.dtype).triu(1)
        y = self.decoder(y, self.norm(x), tgt_mask=future)
        return F.cross_entropy(wide(y @ self.words.weight.T).flatten(0, 1), text[:, 1:].flatten())


@network("AdamW", lr=1e-3)
def whisper(draws):
    return Whisper(), (draws.floats(1, 80, 3000), draws.integers(0, 4096, 1, 33))


class Causal(nn.Module):
    """Two windows that look back, with weights that are split into lengths and directions."""

    def __init__(self, inputs, width, dilation):
        super().__init__()
        weight_norm = nn.utils.parametrizations.weight_norm
        self.past = 2 * dilation
        self.first = weight_norm(nn.Conv1d(inputs, width, 3, dilation=dilation))
        self.second = weight_norm(nn.Conv1d(width, width, 3, dilation=dilation))
        self.carry = nn.Conv1d(inputs, width, 1) if inputs != width else None

    def forward(self, x):
        y = F.relu(self.first(F.pad(x, (self.past, 0))))
        y = F.relu(self.second(F.pad(y, (self.past, 0))))
        return F.relu(y + (x if self.carry is None else self.carry(x)))


class Tcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[Causal(2 if i == 0 else 48, 48, 1 << i) for i in range(6)])
        self.head = nn.Linear(48, 2)

    def forward(self, x, wanted):
        return F.huber_loss(wide(self.head(self.layers(x).transpose(1, 2))), wide(wanted))


@network("NAdam", lr=1e-3)
def tcn(draws):
    return Tcn(), (draws.floats(2, 2, 4000), draws.floats(2, 4000, 2))


class Recogniser(nn.Module):
    """Windows over a spectrogram, GRUs in both directions, CTC."""

    def __init__(self, letters=29):
        super().__init__()
        self.windows = nn.Sequential(nn.Conv2d(1, 32, (41, 11), (2, 2), (20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20, True),
                                     nn.Conv2d(32, 32, (21, 11), (2, 1), (10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20, True))
        self.layers = nn.GRU(32 * 40, 256, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(512, letters)

    def forward(self, sound, text, lengths):
        x = self.windows(sound[:, None])
        x, _ = self.layers(x.permute(0, 3, 1, 2).flatten(2))
        scores = wide(self.head(x)).log_softmax(-1).transpose(0, 1)
        steps = torch.full((sound.shape[0],), scores.shape[0], dtype=torch.long)
        return F.ctc_loss(scores, text, steps, lengths, zero_infinity=True)


@network("SGD", images=2, lr=0.01, momentum=0.9, nesterov=True)
def speech_ctc(draws):
    return Recogniser(), (draws.floats(2, 160, 200), draws.integers(1, 29, 2, 20), torch.tensor([20, 13]))
