"""Programs as people write them for TorchScript: loops that decode, dictionaries of words, state, hooks."""

from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo import Model, normals, tokens


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 12, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.tags = nn.Linear(24, 7)

    def forward(self, sentence: Tensor, lengths: Tensor) -> Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(self.words(sentence), lengths, batch_first=True, enforce_sorted=False)
        out, _ = self.lstm(packed)
        padded, _ = nn.utils.rnn.pad_packed_sequence(out, batch_first=True)
        return F.log_softmax(self.tags(padded), dim=-1)


class LanguageModel(nn.Module):
    def __init__(self, kind: str):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.rnn = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}[kind](16, 20, 2)
        self.decoder = nn.Linear(20, 50)

    def forward(self, x):
        out, state = self.rnn(self.words(x))
        return self.decoder(out), state


class PositionalEncoding(nn.Module):
    def __init__(self, size: int, longest: int = 64):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        rate = torch.exp(torch.arange(0, size, 2) * (-9.21 / size))
        table = torch.zeros(longest, 1, size)
        table[:, 0, 0::2] = torch.sin(position * rate)
        table[:, 0, 1::2] = torch.cos(position * rate)
        self.register_buffer("table", table)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(x + self.table[:x.size(0)])


class TransformerLanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 32)
        self.positions = PositionalEncoding(32)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.1), 2)
        self.decoder = nn.Linear(32, 50)

    def forward(self, x: Tensor, mask: Optional[Tensor] = None) -> Tensor:
        return self.decoder(self.encoder(self.positions(self.words(x) * 5.6), mask))


class PaddedEncoder(nn.Module):
    """A batch with padding: without gradients PyTorch takes its fused path."""

    def __init__(self, norm_first: bool = False, activation: str = "gelu"):
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 4, 64, 0.1, activation, batch_first=True, norm_first=norm_first)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(32), enable_nested_tensor=False)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        return self.encoder(x, src_key_padding_mask=padding)


class FastEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2)

    def forward(self, x: Tensor, padding: Tensor) -> Tensor:
        with torch.no_grad():
            return self.encoder(x, src_key_padding_mask=padding)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(40, 32)
        self.transformer = nn.Transformer(32, 4, 2, 2, 64, 0.1, batch_first=True)
        self.out = nn.Linear(32, 40)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        mask = self.transformer.generate_square_subsequent_mask(target.size(1))
        return self.out(self.transformer(self.words(source), self.words(target), tgt_mask=mask, tgt_is_causal=True))


class Greedy(nn.Module):
    """Sequence to sequence with additive attention, decoded until the end mark."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(30, 16)
        self.encoder = nn.GRU(16, 24, batch_first=True)
        self.decoder = nn.GRUCell(40, 24)
        self.query, self.key, self.energy = nn.Linear(24, 24), nn.Linear(24, 24, bias=False), nn.Linear(24, 1)
        self.out = nn.Linear(24, 30)

    def attend(self, state: Tensor, memory: Tensor, keys: Tensor) -> Tuple[Tensor, Tensor]:
        weights = torch.softmax(self.energy(torch.tanh(self.query(state).unsqueeze(1) + keys)).squeeze(-1), 1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights

    @torch.jit.export
    def step(self, word: Tensor, state: Tensor, memory: Tensor, keys: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        context, weights = self.attend(state, memory, keys)
        state = self.decoder(torch.cat([self.words(word), context], 1), state)
        return self.out(state), state, weights

    def forward(self, source: Tensor, longest: int = 12) -> Tuple[List[List[int]], Tensor]:
        memory, last = self.encoder(self.words(source))
        state, keys = last[0], self.key(memory)
        word = torch.full([source.size(0)], 1, dtype=torch.long)
        done = torch.zeros_like(word, dtype=torch.bool)
        said: List[List[int]] = []
        for _ in range(source.size(0)):
            nothing: List[int] = []
            said.append(nothing)
        seen: List[Tensor] = []
        for i in range(longest):
            scores, state, weights = self.step(word, state, memory, keys)
            seen.append(weights)
            word = scores.argmax(1)
            for b in range(word.numel()):
                if not bool(done[b]):
                    said[b].append(int(word[b]))
            done |= word == 2
            if bool(done.all()):
                break
        return said, torch.stack(seen, 1)


class Hypothesis(NamedTuple):
    words: List[int]
    score: float
    state: Tensor


class BeamSearch(nn.Module):
    def __init__(self, width: int = 3):
        super().__init__()
        self.width = width
        self.words = nn.Embedding(20, 8)
        self.cell = nn.LSTMCell(8, 16)
        self.out = nn.Linear(16, 20)
        with torch.no_grad():
            self.out.weight.mul_(8)

    def advance(self, h: Hypothesis) -> List[Hypothesis]:
        word = torch.tensor([h.words[-1]])
        hidden, cell = self.cell(self.words(word), (h.state[0:1], h.state[1:2]))
        scores, best = F.log_softmax(self.out(hidden), -1).topk(self.width)
        state = torch.cat([hidden, cell])
        return [Hypothesis(h.words + [int(best[0, i])], h.score + float(scores[0, i]), state) for i in range(self.width)]

    def forward(self, start: int, steps: int) -> List[Tuple[List[int], float]]:
        beam = [Hypothesis([start], 0.0, torch.zeros(2, 16))]
        for _ in range(steps):
            found: List[Tuple[float, int]] = []
            everything: List[Hypothesis] = []
            for h in beam:
                for n in self.advance(h):
                    found.append((-n.score, len(everything)))
                    everything.append(n)
            found.sort()
            beam = [everything[place[1]] for place in found[:self.width]]
        return [(h.words, h.score) for h in beam]


class Tokenizer(nn.Module):
    """Words to numbers, greedily by the longest piece that is known."""

    vocabulary: Dict[str, int]

    def __init__(self):
        super().__init__()
        pieces = ["<unk>", "<pad>", "hello", "world", "##s", "##ing", "run", "walk", "the", "a", "cat", ",", "."]
        self.vocabulary = {p: i for i, p in enumerate(pieces)}
        self.unknown = 0

    def split(self, text: str) -> List[str]:
        words: List[str] = []
        for mark in [",", "."]:
            text = text.replace(mark, " " + mark + " ")
        for word in text.lower().strip().split():
            if len(word) > 0:
                words.append(word)
        return words

    def pieces(self, word: str) -> List[int]:
        result: List[int] = []
        start = 0
        while start < len(word):
            end = len(word)
            found = -1
            while end > start:
                piece = word[start:end] if start == 0 else "##" + word[start:end]
                if piece in self.vocabulary:
                    found = self.vocabulary[piece]
                    break
                end -= 1
            if found < 0:
                return [self.unknown]
            result.append(found)
            start = end
        return result

    def forward(self, lines: List[str]) -> Tuple[Tensor, Dict[str, int]]:
        counts: Dict[str, int] = {}
        rows: List[List[int]] = []
        for line in lines:
            row: List[int] = []
            for word in self.split(line):
                counts[word] = counts.get(word, 0) + 1
                row.extend(self.pieces(word))
            rows.append(row)
        longest = max([len(r) for r in rows])
        for row in rows:
            while len(row) < longest:
                row.append(1)
        return torch.tensor(rows), counts


class CtcDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.labels = ["-", "a", "b", "c", " "]

    def forward(self, emission: Tensor) -> List[str]:
        words: List[str] = []
        for b in range(emission.size(0)):
            best = torch.unique_consecutive(torch.argmax(emission[b], dim=-1), dim=-1)
            word = ""
            for i in best:
                if int(i) != 0:
                    word += self.labels[int(i)]
            words.append(word)
        return words


class TextClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(50, 16, mode="mean")
        self.out = nn.Linear(16, 4)

    def forward(self, words: Tensor, offsets: Optional[Tensor] = None):
        return self.out(self.bag(words, offsets))


class Streaming(nn.Module):
    """Keeps what it heard between calls."""

    memory: Tensor
    calls: int

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 4, 3)
        self.register_buffer("memory", torch.zeros(1, 4, 2))
        self.calls = 0

    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        x = torch.cat([self.memory, x], 2)
        self.memory = x[:, :, -2:].clone()
        self.calls += 1
        return torch.relu(self.conv(x)), self.calls


class Hooked(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

        def before(self, inputs: Tuple[Tensor]) -> Tuple[Tensor]:
            return (inputs[0] * 2,)

        def after(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
            return output + inputs[0].sum()

        self.register_forward_pre_hook(before)
        self.register_forward_hook(after)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sigmoid(self.layer(x))


class Residual(nn.Module):
    """Containers, defaults, properties, ignored and unused methods, an interface of several results."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU()) for _ in range(3)])
        self.heads = nn.ModuleDict({"wide": nn.Conv2d(4, 8, 1), "deep": nn.Conv2d(4, 2, 1)})
        self.scale = nn.Parameter(torch.ones(3))

    @property
    def depth(self) -> int:
        return len(self.blocks)

    @torch.jit.unused
    def debug(self, x: Tensor) -> Tensor:
        return x

    def forward(self, x: Tensor, verbose: bool = False) -> Dict[str, Tensor]:
        for i, block in enumerate(self.blocks):
            x = x + self.scale[i] * block(x)
        if verbose:
            x = self.debug(x)
        result: Dict[str, Tensor] = {"depth": torch.tensor(self.depth)}
        for name, head in self.heads.items():
            result[name] = F.interpolate(head(x), scale_factor=2.0, mode="bilinear", align_corners=False)
        return result


class UNet(nn.Module):
    def __init__(self, channels=(3, 8, 16, 32)):
        super().__init__()

        def block(before, after):
            return nn.Sequential(nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.LeakyReLU(0.1),
                                 nn.Conv2d(after, after, 3, padding=1), nn.InstanceNorm2d(after, affine=True), nn.PReLU(after))

        self.down = nn.ModuleList([block(a, b) for a, b in zip(channels, channels[1:])])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(channels[1:-1], channels[2:])][::-1])
        self.join = nn.ModuleList([block(2 * a, a) for a in channels[1:-1]][::-1])
        self.out = nn.Conv2d(channels[1], 2, 1)

    def forward(self, x):
        kept = []
        for i, down in enumerate(self.down):
            x = down(x)
            kept.append(x)
            if i + 1 < len(self.down):
                x = F.max_pool2d(x, 2)
        for i, (up, join) in enumerate(zip(self.up, self.join)):
            x = join(torch.cat([up(x), kept[len(kept) - 2 - i]], 1))
        return self.out(x)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.ConvTranspose2d(16, 32, 4, 1, 0, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
                                  nn.ConvTranspose2d(32, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
                                  nn.Upsample(scale_factor=2, mode="nearest"), nn.ReflectionPad2d(1), nn.Conv2d(16, 3, 3),
                                  nn.PixelShuffle(1), nn.Tanh())

    def forward(self, x):
        return self.main(x)


class GraphNetwork(nn.Module):
    """Messages along edges, gathered by index_add and scatter."""

    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(16, 8), nn.GRUCell(8, 8)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tuple[Tensor, Tensor]:
        for _ in range(3):
            sent = torch.relu(self.message(torch.cat([nodes[edges[0]], nodes[edges[1]]], 1)))
            heard = torch.zeros_like(nodes).index_add(0, edges[1], sent)
            nodes = self.update(heard, nodes)
        degree = torch.zeros(nodes.size(0)).scatter_add_(0, edges[1], torch.ones(edges.size(1)))
        return nodes, degree


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(20, 8), nn.Embedding(30, 8)
        self.bias = nn.Embedding(30, 1)
        self.mlp = nn.Sequential(nn.Linear(16, 16), nn.ELU(), nn.Dropout(0.5), nn.Linear(16, 1), nn.Softplus())

    def forward(self, user, item):
        u, i = self.users(user), self.items(item)
        return (u * i).sum(-1) + self.bias(item).squeeze(-1) + self.mlp(torch.cat([u, i], -1)).squeeze(-1)


def padded():
    padding = torch.zeros(2, 9, dtype=torch.bool)
    padding[1, 6:] = True
    return [(torch.randn(2, 9, 32), padding), (torch.randn(2, 9, 32), torch.zeros(2, 9, dtype=torch.bool))]


def two_words():
    return [(torch.randint(40, (2, 9)), torch.randint(40, (2, 6)))]


MODELS = {
    "tagger": Model(Tagger, lambda: [(torch.randint(1, 50, (3, 8)), torch.tensor([5, 8, 2]))], "script trace"),
    "lstm_language_model": Model(lambda: LanguageModel("lstm"), tokens(50, (7, 2), (3, 4)), "script trace freeze"),
    "gru_language_model": Model(lambda: LanguageModel("gru"), tokens(50, (7, 2), (3, 4)), "script trace freeze"),
    "rnn_language_model": Model(lambda: LanguageModel("rnn"), tokens(50, (7, 2)), "script trace"),
    "lstm_bfloat16": Model(lambda: LanguageModel("lstm"), tokens(50, (7, 2)), "script", torch.bfloat16),
    "transformer_language_model": Model(TransformerLanguageModel, lambda: [(torch.randint(50, (7, 2)), None)], "script freeze"),
    "transformer_language_model_traced": Model(TransformerLanguageModel, lambda: [(torch.randint(50, (7, 2)),)], "trace"),
    "padded_encoder": Model(PaddedEncoder, padded, "script trace freeze"),
    "padded_encoder_norm_first": Model(lambda: PaddedEncoder(True, "relu"), padded, "script trace"),
    "fast_encoder": Model(FastEncoder, padded, "script"),
    "translator": Model(Translator, two_words, "script trace freeze"),
    "greedy": Model(Greedy, tokens(30, (2, 6), (1, 4)), "script"),
    "beam_search": Model(BeamSearch, lambda: [(1, 5), (3, 2)], "script freeze"),
    "tokenizer": Model(Tokenizer, lambda: [(["Hello, worlds.", "The cat runing  a walk"],), (["dog", "cats, cats"],)], "script"),
    "ctc_decoder": Model(CtcDecoder, normals((2, 12, 5)), "script"),
    "text_classifier": Model(TextClassifier, lambda: [(torch.randint(50, (3, 4)), None),
                                                      (torch.randint(50, (9,)), torch.tensor([0, 4, 4]))], "script"),
    "streaming": Model(Streaming, normals((1, 4, 5), (1, 4, 3), (1, 4, 1)), "script"),
    "hooked": Model(lambda: nn.Sequential(Hooked(), Hooked()), normals((2, 4)), "script"),
    "residual": Model(Residual, normals((1, 4, 8, 8), (2, 4, 5, 7)), "script"),
    "unet": Model(UNet, normals((1, 3, 32, 32), (2, 3, 16, 24)), "script trace freeze"),
    "generator": Model(Generator, normals((2, 16, 1, 1)), "script trace freeze"),
    "graph_network": Model(GraphNetwork, lambda: [(torch.randn(6, 8), torch.randint(6, (2, 14)))], "script trace"),
    "recommender": Model(Recommender, lambda: [(torch.randint(20, (5,)), torch.randint(30, (5,)))], "script trace"),
}
