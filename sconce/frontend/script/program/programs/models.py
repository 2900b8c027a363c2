# Whole models, their weights drawn from seed 0: PyTorch 2.13 gives these numbers for the same text.
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from typing import List, Optional, Tuple, Dict
from collections import OrderedDict


def rounded(x: float) -> int:
    return int(round(x * 1000))


def conv3x3(i, o, stride=1):
    return nn.Conv2d(i, o, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super().__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, layers=[2, 2, 2], num_classes=5):
        super().__init__()
        torch.manual_seed(0)
        block = BasicBlock
        self.inplanes = 8
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2)
        self.layer3 = self._make_layer(block, 32, layers[2], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(32 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        for m in self.modules():
            if isinstance(m, BasicBlock):
                nn.init.constant_(m.bn2.weight, 0.5)
        self.eval()

    def _make_layer(self, block, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride=stride, bias=False),
                                       nn.BatchNorm2d(planes * block.expansion))
        layers = []
        layers.append(block(self.inplanes, planes, stride, downsample))
        self.inplanes = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inplanes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer3(self.layer2(self.layer1(x)))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)

    @torch.jit.export
    def run(self) -> List[int]:
        x = torch.arange(2 * 3 * 32 * 32, dtype=torch.float32).reshape(2, 3, 32, 32) / 6144
        y = self(x)
        out: List[int] = []
        for i in range(5):
            out.append(rounded(float(y[0, i])))
        return out


class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("bias", torch.tril(torch.ones(block_size, block_size)).view(1, 1, block_size, block_size))
        self.n_head = n_head
        self.n_embd = n_embd

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class GPTBlock(nn.Module):
    def __init__(self, n_embd, n_head, block_size):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention(n_embd, n_head, block_size)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = nn.ModuleDict(dict(c_fc=nn.Linear(n_embd, 4 * n_embd), c_proj=nn.Linear(4 * n_embd, n_embd), act=nn.GELU()))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        h = self.mlp["c_proj"](self.mlp["act"](self.mlp["c_fc"](self.ln_2(x))))
        return x + h


class GPT(nn.Module):
    def __init__(self, vocab_size=11, n_embd=16, n_head=4, n_layer=2, block_size=8):
        super().__init__()
        torch.manual_seed(0)
        self.block_size = block_size
        self.transformer = nn.ModuleDict(dict(
            wte=nn.Embedding(vocab_size, n_embd),
            wpe=nn.Embedding(block_size, n_embd),
            h=nn.ModuleList([GPTBlock(n_embd, n_head, block_size) for _ in range(n_layer)]),
            ln_f=nn.LayerNorm(n_embd),
        ))
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.apply(self._init_weights)
        for pn, p in self.named_parameters():
            if pn.endswith("c_proj.weight"):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * n_layer))
        self.eval()

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, idx):
        t = idx.size(1)
        assert t <= self.block_size, "too long"
        pos = torch.arange(0, t, dtype=torch.long).unsqueeze(0)
        x = self.transformer["wte"](idx) + self.transformer["wpe"](pos)
        for block in self.transformer["h"]:
            x = block(x)
        return self.lm_head(self.transformer["ln_f"](x))

    @torch.jit.export
    def generate(self, idx, n: int):
        for _ in range(n):
            cond = idx if idx.size(1) <= self.block_size else idx[:, -self.block_size:]
            logits = self(cond)[:, -1, :]
            nxt = logits.argmax(dim=-1, keepdim=True)
            idx = torch.cat((idx, nxt), dim=1)
        return idx

    @torch.jit.export
    def run(self) -> Tuple[List[int], int]:
        idx = torch.arange(3).unsqueeze(0)
        out: List[int] = self.generate(idx, 8)[0].tolist()
        return out, rounded(float(self(idx).abs().sum()))


class Tagger(nn.Module):
    hidden: Optional[Tuple[torch.Tensor, torch.Tensor]]

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.vocab = {w: i for i, w in enumerate("the cat sat on mat".split())}
        self.emb = nn.Embedding(len(self.vocab) + 1, 6, padding_idx=0)
        self.rnn = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.heads = nn.ModuleDict(OrderedDict([("pos", nn.Linear(10, 4)), ("ner", nn.Linear(10, 2))]))
        self.scale = nn.Parameter(torch.tensor(2.0))
        self.hidden = None
        self.eval()

    def encode(self, words: List[str]) -> List[int]:
        return [self.vocab[w] + 1 if w in self.vocab else 0 for w in words]

    def forward(self, text: str) -> Dict[str, torch.Tensor]:
        ids = torch.tensor(self.encode(text.split(" "))).unsqueeze(0)
        y, (h, c) = self.rnn(self.emb(ids))
        self.hidden = (h, c)
        out: Dict[str, torch.Tensor] = {}
        for name, head in self.heads.items():
            out[name] = head(y) * self.scale
        return out

    @torch.jit.export
    def run(self) -> List[int]:
        out = self("the cat sat on a mat")
        r = [rounded(float(out["pos"].sum())), rounded(float(out["ner"].sum()))]
        hidden = self.hidden
        if hidden is not None:
            r.append(rounded(float(hidden[0].sum())))
        return r


class Seq2Seq(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(d, 2, 16, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.gru = nn.GRU(d, d, batch_first=True)
        self.cells = nn.ModuleList([nn.GRUCell(d, d), nn.LSTMCell(d, d)])
        self.norm = nn.Sequential(OrderedDict([("ln", nn.LayerNorm(d)), ("act", nn.SiLU())]))
        self.eval()

    def forward(self, x):
        x = self.encoder(x)
        x, _ = self.gru(x)
        return self.norm(x)

    @torch.jit.export
    def run(self) -> int:
        x = torch.arange(48, dtype=torch.float32).reshape(2, 3, 8) / 48
        return rounded(float(self(x).sum()))

#> ResNet().run()
# [-212, 173, -101, 223, 180]
#> GPT().run()
# ([0, 1, 2, 0, 8, 10, 10, 10, 2, 0, 4], 1948)
#> Tagger().run()
# [-12087, -9746, 284]
#> Seq2Seq().run()
# 10461
