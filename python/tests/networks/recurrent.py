"""Networks with a state: a tagger of LSTMs in both directions, translation by GRUs with attention, and time series."""

from layers import wide
from library import F, nn, torch
from registry import network


class Tagger(nn.Module):
    """Sentences of several lengths, packed."""

    def __init__(self, words=5000, width=256, tags=17):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=0, max_norm=None)
        self.layers = nn.LSTM(width, width, 2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, tags)

    def forward(self, text, lengths, tags):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(text), lengths, batch_first=True, enforce_sorted=False)
        x, (last, _) = self.layers(packed)
        x, _ = nn.utils.rnn.pad_packed_sequence(x, batch_first=True, total_length=text.shape[1])
        mask = torch.arange(text.shape[1]) < lengths[:, None]
        losses = F.cross_entropy(wide(self.head(x)).transpose(1, 2), tags, reduction="none")
        return (losses * mask).sum() / mask.sum() + 1e-3 * wide(last).square().mean()


@network("Adam", lr=1e-3)
def lstm_tagger(draws):
    return Tagger(), (draws.integers(1, 5000, 8, 48), torch.tensor([30, 48, 7, 48, 12, 41, 1, 25]), draws.integers(0, 17, 8, 48))


class Translator(nn.Module):
    def __init__(self, words=4000, width=256):
        super().__init__()
        self.width = width
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder, self.cell = nn.GRU(width, width, bidirectional=True), nn.GRUCell(3 * width, width)
        self.start, self.query = nn.Linear(2 * width, width), nn.Linear(width, width)
        self.key, self.score = nn.Linear(2 * width, width, bias=False), nn.Linear(width, 1, bias=False)
        self.head = nn.Linear(4 * width, words)

    def forward(self, source, target):
        seen, last = self.encoder(self.source(source))
        state, keys, losses = torch.tanh(self.start(torch.cat([last[0], last[1]], 1))), self.key(seen), 0.0
        for t in range(target.shape[0] - 1):
            scores = self.score(torch.tanh(keys + self.query(state)))
            found = (scores.softmax(0) * seen).sum(0)
            word = self.target(target[t])
            state = self.cell(torch.cat([word, found], 1), state)
            losses = losses + F.cross_entropy(wide(self.head(torch.cat([state, found, word], 1))), target[t + 1])
        return losses / (target.shape[0] - 1)


@network("Adam", lr=1e-3)
def gru_translator(draws):
    return Translator(), (draws.integers(0, 4000, 30, 4), draws.integers(0, 4000, 16, 4))


class Series(nn.Module):
    """Time series: windows, an LSTM with a projection, quantile losses."""

    def __init__(self, width=64):
        super().__init__()
        self.windows = nn.Sequential(nn.Conv1d(8, width, 7, padding=3), nn.BatchNorm1d(width), nn.CELU(), nn.AvgPool1d(4))
        self.layers = nn.LSTM(width, 128, 1, proj_size=48, batch_first=True)
        self.plain = nn.RNN(48, 48, 1, "relu", batch_first=True)
        self.head = nn.Linear(48, 3 * 24)

    def forward(self, x, wanted):
        y, _ = self.layers(self.windows(x).transpose(1, 2))
        y, last = self.plain(y)
        made = wide(self.head(last[0])).view(-1, 24, 3)
        gap = wanted.to(made.dtype)[..., None] - made
        levels = torch.tensor([0.1, 0.5, 0.9], dtype=made.dtype)
        return torch.maximum(levels * gap, (levels - 1) * gap).mean() + 0.01 * wide(y).abs().mean()


@network("Adamax", lr=2e-3)
def forecaster(draws):
    return Series(), (draws.floats(4, 8, 512), draws.floats(4, 24))
