"""Graphs, points and tables: GCN, messages with attention, PointNet, a recommender, a network over columns."""

from layers import Block, wide
from library import F, nn, torch
from registry import network


def edges(draws, nodes, count):
    return torch.stack([draws.integers(0, nodes, count), draws.integers(0, nodes, count)])


class Gcn(nn.Module):
    """Means over neighbours, weighted by the degrees of both ends."""

    def __init__(self, widths=(1433, 64, 64, 7)):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in widths[1:-1])

    def forward(self, x, graph, labels, known):
        n = x.shape[0]
        own = torch.arange(n)
        source, target = torch.cat([graph[0], own]), torch.cat([graph[1], own])
        degree = torch.zeros(n, dtype=x.dtype).index_add(0, target, torch.ones(target.shape[0], dtype=x.dtype))
        weight = (degree[source] * degree[target]).rsqrt()
        for i, layer in enumerate(self.layers):
            y = layer(x)
            x = torch.zeros(n, y.shape[1], dtype=y.dtype).index_add(0, target, y[source] * weight[:, None])
            if i + 1 < len(self.layers):
                x = F.relu(self.norms[i](x))
        return F.nll_loss(wide(x)[known].log_softmax(1), labels[known])


@network("Adam", lr=1e-2, weight_decay=5e-4)
def gcn(draws):
    x = (draws.positive(2708, 1433) < 0.03).float()
    return Gcn(), (x, edges(draws, 2708, 10556), draws.integers(0, 7, 2708), draws.positive(2708) < 0.1)


class Messages(nn.Module):
    """Messages along edges, weighted by a softmax over those that arrive; their largest beside their sum."""

    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.enter = nn.Linear(32, width)
        self.edge = nn.Sequential(nn.Linear(2 * width + 8, width), nn.SiLU(), nn.Linear(width, width))
        self.score, self.join = nn.Parameter(torch.zeros(heads, width // heads)), nn.Linear(3 * width, width)
        self.state, self.head = nn.GRUCell(width, width), nn.Linear(width, 1)

    def forward(self, x, graph, facts, part, wanted):
        source, target = graph
        x = F.elu(self.enter(x))
        n, width = x.shape
        for _ in range(2):
            message = self.edge(torch.cat([x[source], x[target], facts], 1))
            score = F.leaky_relu((message.view(-1, self.heads, width // self.heads) * self.score).sum(-1), 0.2)
            index = target[:, None].expand(-1, self.heads)
            highest = torch.full((n, self.heads), float("-inf"), dtype=x.dtype).scatter_reduce(0, index, score, "amax")
            share = (score - highest.detach()[target]).exp()
            whole = torch.zeros(n, self.heads, dtype=x.dtype).scatter_add(0, index, share)
            share = share / (whole[target] + 1e-6)
            weighed = (message.view(-1, self.heads, width // self.heads) * share[..., None]).flatten(1)
            total = torch.zeros_like(x).index_add(0, target, weighed)
            index = target[:, None].expand(-1, width)
            most = torch.zeros_like(x).scatter_reduce(0, index, message, "amax", include_self=False)
            mean = torch.zeros_like(x).scatter_reduce(0, index, message, "mean", include_self=False)
            x = self.state(F.silu(self.join(torch.cat([total, most, mean], 1))), x)
        pooled = torch.zeros(wanted.shape[0], width, dtype=x.dtype).index_add(0, part, x)
        return F.mse_loss(wide(self.head(pooled)).squeeze(1), wide(wanted))


@network("AdamW", lr=1e-3)
def message_passing(draws):
    return Messages(), (draws.floats(600, 32), edges(draws, 600, 4000), draws.floats(4000, 8),
                        torch.arange(600) // 30, draws.floats(20))


class Turn(nn.Module):
    """A matrix from the points themselves."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.points = nn.Sequential(nn.Conv1d(width, 64, 1), nn.BatchNorm1d(64), nn.ReLU(),
                                    nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU(),
                                    nn.Conv1d(128, 1024, 1), nn.BatchNorm1d(1024), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(1024, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, width * width))

    def forward(self, x):
        y = self.head(self.points(x).max(2).values)
        return y.view(-1, self.width, self.width) + torch.eye(self.width, dtype=y.dtype)


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn1, self.turn2 = Turn(3), Turn(64)
        self.first = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU())
        self.second = nn.Sequential(nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU(),
                                    nn.Conv1d(128, 1024, 1), nn.BatchNorm1d(1024))
        self.head = nn.Sequential(nn.Linear(1024, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.0), nn.Linear(256, 40))

    def forward(self, points, labels):
        x = self.first(torch.bmm(points.transpose(1, 2), self.turn1(points)).transpose(1, 2))
        turn = self.turn2(x)
        x = self.second(torch.bmm(x.transpose(1, 2), turn).transpose(1, 2))
        off = wide(torch.eye(64, dtype=turn.dtype) - turn @ turn.mT).norm(dim=(1, 2)).mean()
        return F.cross_entropy(wide(self.head(x.amax(2))), labels) + 1e-3 * off


@network("Adam", lr=1e-3)
def pointnet(draws):
    return PointNet(), (draws.floats(4, 3, 1024), draws.integers(0, 40, 4))


class Recommender(nn.Module):
    """Bags of items for each field; products of all pairs of fields; whether it was clicked."""

    def __init__(self, sizes=(20000, 5000, 1000, 300, 40, 7), width=64):
        super().__init__()
        modes = ("sum", "mean", "sum", "max", "mean", "sum")
        self.bags = nn.ModuleList(nn.EmbeddingBag(size, width, mode=mode, include_last_offset=i == 1)
                                  for i, (size, mode) in enumerate(zip(sizes, modes)))
        self.numbers = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        count = len(sizes) + 1
        self.top = nn.Sequential(nn.Linear(width + count * (count - 1) // 2, 256), nn.ReLU(), nn.Linear(256, 1))
        self.register_buffer("pairs", torch.tril_indices(count, count, -1), persistent=False)

    def forward(self, numbers, items, clicked):
        parts = [self.numbers(numbers)]
        count = numbers.shape[0]
        for i, bag in enumerate(self.bags):
            field = items[i]
            if i % 2:
                starts = torch.arange(count + (i == 1)) * field.shape[1]
                parts.append(bag(field.reshape(-1), starts))
            else:
                parts.append(bag(field))
        x = torch.stack(parts, 1)
        product = torch.bmm(x, x.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        score = wide(self.top(torch.cat([parts[0], product], 1))).squeeze(1)
        weight = torch.tensor(2.0, dtype=score.dtype)
        return F.binary_cross_entropy_with_logits(score, clicked.to(score.dtype), pos_weight=weight)


class Items(nn.Module):
    """Takes the fields as arguments of their own."""

    def __init__(self):
        super().__init__()
        self.body = Recommender()

    def forward(self, numbers, clicked, *items):
        return self.body(numbers, items, clicked)


@network("Adagrad", lr=1e-2)
def recommender(draws):
    sizes = (20000, 5000, 1000, 300, 40, 7)
    items = tuple(draws.integers(0, size, 128, 1 + i % 3 * 2) for i, size in enumerate(sizes))
    return Items(), (draws.floats(128, 13), draws.integers(0, 2, 128), *items)


class Columns(nn.Module):
    """A table: each column is a token of a transformer; gated layers with batch norm beside it."""

    def __init__(self, kinds=(12, 5, 40, 100), numbers=10, width=96):
        super().__init__()
        self.kinds = nn.ModuleList(nn.Embedding(k, width) for k in kinds)
        self.scale, self.shift = nn.Parameter(torch.zeros(numbers, width)), nn.Parameter(torch.zeros(numbers, width))
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.blocks = nn.ModuleList(Block(width, 8) for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.beside = nn.Sequential(nn.BatchNorm1d(numbers), nn.Linear(numbers, 256), nn.GLU(), nn.BatchNorm1d(128),
                                    nn.Mish(), nn.Linear(128, width))
        self.head = nn.Bilinear(width, width, 4)

    def forward(self, numbers, labels, *kinds):
        tokens = [self.first.expand(numbers.shape[0], -1, -1), numbers[..., None] * self.scale + self.shift]
        tokens += [layer(kind)[:, None] for layer, kind in zip(self.kinds, kinds)]
        x = torch.cat(tokens, 1)
        for block in self.blocks:
            x = block(x)
        return F.multi_margin_loss(wide(self.head(self.norm(x)[:, 0], self.beside(numbers))), labels)


@network("RAdam", lr=1e-3)
def table_transformer(draws):
    return Columns(), (draws.floats(128, 10), draws.integers(0, 4, 128), *(draws.integers(0, k, 128) for k in (12, 5, 40, 100)))
