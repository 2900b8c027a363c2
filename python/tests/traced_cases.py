"""Functions and modules to trace, written for either package, and what is compared of their traces."""

import dataclasses
import difflib
import re


@dataclasses.dataclass
class Case:
    name: str
    build: object  # of the package: the function or module
    shapes: tuple = ((2, 3),)
    dtypes: tuple = ()  # "int64" where an input has other numbers than random floats
    other_shapes: tuple = ()  # what the trace is called with; the same when empty
    random: bool = False
    strict: bool = True
    recorded: bool = False

    def inputs(self, torch, shapes=None):
        torch.manual_seed(1)
        made = []
        for i, shape in enumerate(shapes or self.shapes):
            dtype = self.dtypes[i] if i < len(self.dtypes) else ""
            made.append(torch.randint(0, 5, shape) if dtype == "int64" else torch.rand(shape))
        return tuple(made)

    def other_inputs(self, torch):
        return self.inputs(torch, self.other_shapes or self.shapes)


CASES = []


def case(*shapes, **options):
    def add(build):
        CASES.append(Case(build.__name__, build, shapes or ((2, 3),), **options))
        return build

    return add


# ---- what is compared ----


def normalised(text):
    """A graph's text without names of values, places in files, and the numbers that tell classes of one name apart."""
    text = re.sub(r" # .*", "", text)
    text = re.sub(r"___torch_mangle_[0-9]+\.", "", text)
    numbers = {}
    return re.sub(r"%[\w.]+", lambda m: numbers.setdefault(m[0], f"%{len(numbers)}"), text)


def graphs(traced):
    """The graphs of a traced function, or of all methods of a traced module and its submodules."""
    if not hasattr(traced, "state_dict"):
        return normalised(str(traced.graph))
    parts = []

    def add(module, path):
        methods, children = members(module)
        for name in sorted(methods):
            parts.append(f"# {path}.{name}\n" + normalised(str(methods[name])))
        for name, child in children:
            add(child, f"{path}.{name}")

    add(traced, "self")
    return "\n".join(parts)


def members(module):
    """The graphs of its methods by name, and its submodules with their names."""
    if type(module).__module__.startswith("torch."):
        return {name: module._c._get_method(name).graph for name in module._c._method_names()}, list(module.named_children())
    from sconce import _sconce
    names, children = _sconce._script_members(module)
    return {name: getattr(module, name).graph for name in names}, children


def difference(expected, got):
    """Lines that differ apart from the numbers of values; when there are none, the first that do."""
    texts = [text.splitlines() for text in (expected, got)]
    bare = [[re.sub(r"%\d+", "%", line) for line in lines] for lines in texts]
    found = list(difflib.unified_diff(*bare, "PyTorch", "Sconce", n=2, lineterm=""))
    if not found:
        found = next([a, b] for a, b in zip(*texts) if a != b)
    return "\n".join(found)


# ---- functions ----


@case((2, 3), (2, 3), other_shapes=((4, 5), (4, 5)), recorded=True)
def arithmetic(torch):
    def f(x, y):
        return x + 1, 1 - x, x * 2.5, x / y, 2 / (x + 3), -x, x ** 2, 2 ** x, x % 2, x // 2, x - y * 2, (x > 0) & (y < 1), ~(x == y)
    return f


@case((2, 3), (2, 3), recorded=True)
def in_place(torch):
    def f(x, y):
        z = x.clone()
        z += 1
        z.mul_(y)
        z[0] = 5.0
        z[:, 1] = y[:, 1]
        z[:, 1:].relu_()
        z.zero_().fill_(2).add_(y, alpha=2)
        return z
    return f


@case((2, 3, 4), other_shapes=((3, 5, 6),), recorded=True)
def sizes(torch):
    def f(x):
        n, m = x.size(0), x.shape[1]
        return x.view(n, m * x.shape[-1]), x.reshape(n * m, -1), torch.zeros(n, 3), torch.arange(x.size(2)), x[:, : m - 1], \
            x.expand(2, n, m, x.size(2)), x.numel() + 1, x.new_zeros(m), x.view(*x.shape[:1], -1), x.repeat(n, 1, 1)
    return f


@case((2, 3, 4), recorded=True)
def indexing(torch):
    def f(x):
        return x[0], x[:, 1], x[..., -1], x[:, None], x[0, 1:, ::2], x[:], x[-1], x[x > 0.5], x[torch.tensor([0, 1])], x[:, [0, 2]], \
            x[..., 0:1], x[1:, torch.tensor([0, 2])]
    return f


@case((2, 3), (2, 3))
def lists(torch):
    def f(x, y):
        a, b, c = x.unbind(1)
        d, e = torch.split(x, 1)
        p, q = x.chunk(2, 1)
        return torch.cat([x, y]), torch.stack((x, y), 1), a + b + c, d * e, p, q, torch.meshgrid(a, b, indexing="ij")[0]
    return f


@case((2, 3), (2, 3))
def reductions(torch):
    def f(x, y):
        values, indices = x.max(1)
        return x.sum(), x.sum(0), x.mean(1, keepdim=True), x.std(), values, indices, x.argmax(), x.topk(2), x.sort(), x.cumsum(0), \
            x.norm(), x.amax((0, 1)), x.prod(), x.all(), x.var(0), x.logsumexp(1), torch.max(x, y), x.min()
    return f


@case((2, 3), (2, 3))
def conversions(torch):
    def f(x, y):
        return x.to(torch.float64), x.float(), x.double().to(y), x.long(), x.to("cpu"), x.cpu(), x.type_as(y), x.to(y), x.int().float(), \
            x.to("cpu", torch.float64), x.bool(), x.half().float(), x.contiguous(), x.detach() + 1, x.clone()
    return f


@case((2, 3), random=True)
def creation(torch):
    def f(x):
        return torch.zeros(2, 3) + x, torch.ones_like(x), torch.full((2, 3), 1.5), torch.eye(3), torch.arange(3), torch.rand(2), \
            torch.randn_like(x), x.new_ones(3), torch.tensor(3.0) * x, torch.tensor([1, 2]), torch.linspace(0, 1, 5), \
            torch.empty_like(x).copy_(x), torch.zeros(2, dtype=torch.int64), x.new_full((2,), 3), torch.zeros_like(x, dtype=torch.float64)
    return f


@case((2, 3, 4), (2, 4, 5), recorded=True)
def products(torch):
    def f(x, y):
        return x @ y, torch.bmm(x, y), torch.einsum("bij,bjk->bik", x, y), x.transpose(1, 2).matmul(x), x[0] @ y[0], \
            torch.addmm(x[0] @ y[0], x[0], y[0]), x.T if x.dim() == 2 else x.mT, x.permute(2, 0, 1), x.flatten(1), x.unsqueeze(0).squeeze(0)
    return f


@case((2, 3), (2, 3))
def selections(torch):
    def f(x, y):
        m = x > 0.5
        return torch.where(m, x, y), torch.where(m, x, 0.0), x.masked_fill(m, 0.0), x.masked_fill(m, float("-inf")).softmax(-1), \
            x.gather(1, torch.tensor([[0], [1]])), x.clamp(0, 1), x.clamp(min=0.2), torch.maximum(x, y), x.tril(), x.roll(1, 0), x.flip(0)
    return f


@case((2, 3))
def outside_tensors(torch):
    weight = torch.full((3, 3), 0.5)

    def f(x):
        return x @ weight + torch.full((3,), 2.0), weight
    return f


@case((2, 3), (2, 3), strict=False, recorded=True)
def dict_result(torch):
    def f(x, y):
        return {"sum": x + y, "product": x * y}
    return f


@case((2, 3), strict=False)
def nested_results(torch):
    def f(x):
        return (x + 1, (x + 2, [x + 3, x + 4]))
    return f


@case((2, 4), (4, 4), (4,))
def functional(torch):
    F = torch.nn.functional

    def f(x, w, b):
        y = F.linear(x, w, b)
        return F.relu(y), F.gelu(y), F.softmax(y, dim=-1), F.log_softmax(y, dim=1), F.layer_norm(y, (4,), b, b), F.dropout(y, 0.5, False), \
            F.silu(y), F.leaky_relu(y, 0.2), F.elu(y), F.softplus(y), F.normalize(y), F.pad(y, (1, 1)), F.one_hot(y.argmax(1), 4), \
            F.mse_loss(y, x), F.cosine_similarity(x, y), F.hardtanh(y), F.logsigmoid(y), F.glu(y)
    return f


# ---- modules ----


@case((2, 3), recorded=True)
def linear(torch):
    return torch.nn.Linear(3, 4)


@case((2, 3), recorded=True)
def mlp(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 2)).eval()


@case((2, 3), random=True)
def dropout_in_training(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5))


@case((1, 3, 8, 8), other_shapes=((2, 3, 10, 10),), recorded=True)
def conv_net(torch):
    nn = torch.nn

    class ConvNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
            self.bn1 = nn.BatchNorm2d(4)
            self.pool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(4, 2)

        def forward(self, x):
            x = torch.relu(self.bn1(self.conv1(x)))
            x = nn.functional.max_pool2d(x, 2)
            x = self.pool(x)
            return self.fc(torch.flatten(x, 1))

    return ConvNet().eval()


@case((2, 3, 8, 8), recorded=True)
def batch_norm_in_training(torch):
    return torch.nn.BatchNorm2d(3)


@case((1, 4, 6, 6), recorded=True)
def residual(torch):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(4)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(4, 4, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(4)

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return self.relu(out)

    return nn.Sequential(Block(), Block()).eval()


@case((2, 3), recorded=True)
def shared_and_nested(torch):
    nn = torch.nn

    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
            self.register_buffer("scale", torch.full((3,), 2.0))

        def forward(self, x, factor=None):
            return torch.tanh(self.fc(x)) * self.scale, x.size(0)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.weight = nn.Parameter(torch.full((3,), 0.5))

        def forward(self, x):
            a, n = self.inner(x)
            b, _ = self.inner(a + self.weight)
            return a, b * self.inner.fc.bias, b.view(n, -1), self.weight

    return Outer()


def simple(name, build, *shapes, **options):
    """A case of one module of torch.nn."""
    CASES.append(Case(name, build, shapes or ((2, 4),), **options))


simple("conv1d", lambda t: t.nn.Conv1d(4, 6, 3, stride=2, padding=1), (2, 4, 9), recorded=True)
simple("conv2d_groups", lambda t: t.nn.Conv2d(4, 8, 3, groups=2, dilation=2), (1, 4, 9, 9))
simple("conv2d_same", lambda t: t.nn.Conv2d(4, 8, 3, padding="same"), (1, 4, 6, 6))
simple("conv2d_unbatched", lambda t: t.nn.Conv2d(4, 8, 3), (4, 6, 6))
simple("conv2d_reflect", lambda t: t.nn.Conv2d(4, 8, 3, padding=1, padding_mode="reflect"), (1, 4, 6, 6))
simple("conv3d", lambda t: t.nn.Conv3d(2, 3, 2), (1, 2, 4, 4, 4))
simple("conv_transpose2d", lambda t: t.nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1), (1, 4, 5, 5))
simple("layer_norm", lambda t: t.nn.LayerNorm(4), recorded=True)
simple("rms_norm", lambda t: t.nn.RMSNorm(4))
simple("group_norm", lambda t: t.nn.GroupNorm(2, 4), (2, 4, 5))
simple("instance_norm", lambda t: t.nn.InstanceNorm2d(4, affine=True), (2, 4, 5, 5))
simple("batch_norm1d", lambda t: t.nn.BatchNorm1d(4).eval())
simple("max_pool2d", lambda t: t.nn.MaxPool2d(2, stride=1, padding=1), (1, 2, 6, 6))
simple("avg_pool2d", lambda t: t.nn.AvgPool2d(3, 2), (1, 2, 7, 7))
simple("adaptive_max_pool", lambda t: t.nn.AdaptiveMaxPool2d(2), (1, 2, 7, 7))
simple("embedding", lambda t: t.nn.Embedding(5, 3, padding_idx=0), (2, 4), dtypes=("int64",))
simple("embedding_bag", lambda t: t.nn.EmbeddingBag(5, 3), (2, 4), dtypes=("int64",))
simple("lstm", lambda t: t.nn.LSTM(4, 3, 2, batch_first=True), (2, 5, 4), recorded=True)
simple("gru", lambda t: t.nn.GRU(4, 3, bidirectional=True), (5, 2, 4))
simple("rnn", lambda t: t.nn.RNN(4, 3), (5, 2, 4))
simple("lstm_cell", lambda t: t.nn.LSTMCell(4, 3))
simple("gru_cell", lambda t: t.nn.GRUCell(4, 3))
simple("activations", lambda t: t.nn.Sequential(
    t.nn.GELU(), t.nn.SiLU(), t.nn.ELU(), t.nn.LeakyReLU(0.1), t.nn.Hardswish(), t.nn.Softplus(), t.nn.Tanh(), t.nn.Sigmoid(),
    t.nn.ReLU6(), t.nn.PReLU(), t.nn.Mish(), t.nn.Softmax(dim=-1), t.nn.LogSoftmax(dim=1)))
simple("attention", lambda t: t.nn.MultiheadAttention(4, 2).eval(), (3, 2, 4), (3, 2, 4), (3, 2, 4))
simple("attention_in_training", lambda t: t.nn.MultiheadAttention(4, 2, batch_first=True), (2, 3, 4), (2, 3, 4), (2, 3, 4))
simple("encoder_layer", lambda t: t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), (2, 3, 4))
simple("decoder_layer", lambda t: t.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), (2, 3, 4), (5, 3, 4))
simple("upsample", lambda t: t.nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), (1, 2, 4, 4))
simple("upsample_nearest", lambda t: t.nn.Upsample(size=(8, 8)), (1, 2, 4, 4))
simple("pixel_shuffle", lambda t: t.nn.PixelShuffle(2), (1, 4, 3, 3))
simple("flatten", lambda t: t.nn.Sequential(t.nn.Flatten(), t.nn.Unflatten(1, (2, 6))), (2, 3, 4))
simple("bilinear", lambda t: t.nn.Bilinear(4, 3, 2), (2, 4), (2, 3))
simple("padding", lambda t: t.nn.Sequential(t.nn.ZeroPad2d(1), t.nn.ReflectionPad2d(1), t.nn.ReplicationPad2d((1, 0, 0, 1))), (1, 2, 4, 4))
simple("fold", lambda t: t.nn.Sequential(t.nn.Unfold(2), t.nn.Fold((4, 4), 2)), (1, 2, 4, 4))
simple("losses", lambda t: t.nn.SmoothL1Loss(), (2, 4), (2, 4))
simple("cross_entropy", lambda t: t.nn.CrossEntropyLoss(), (2, 5), (2,), dtypes=("", "int64"))
simple("bce", lambda t: t.nn.BCEWithLogitsLoss(), (2, 4), (2, 4))
simple("cosine", lambda t: t.nn.CosineSimilarity(), (2, 4), (2, 4))


simple("encoder", lambda t: t.nn.TransformerEncoder(
    t.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True), 2, enable_nested_tensor=False), (2, 3, 4))
simple("encoder_decoder", lambda t: t.nn.Transformer(4, 2, 1, 1, 8, dropout=0.0), (3, 2, 4), (5, 2, 4))
simple("lstm_both_ways", lambda t: t.nn.LSTM(4, 3, 2, bidirectional=True, dropout=0.1).eval(), (5, 2, 4))
simple("lstm_unbatched", lambda t: t.nn.LSTM(4, 3), (5, 4))
simple("rnn_cell", lambda t: t.nn.RNNCell(4, 3))
simple("conv1d_unbatched", lambda t: t.nn.Conv1d(4, 3, 2), (4, 5))
simple("conv_transpose1d", lambda t: t.nn.ConvTranspose1d(4, 3, 2), (1, 4, 5))
simple("conv_circular", lambda t: t.nn.Conv1d(4, 3, 3, padding=1, padding_mode="circular"), (1, 4, 5))
simple("batch_norm_average", lambda t: t.nn.BatchNorm1d(4, momentum=None), (3, 4))
simple("batch_norm_without_statistics", lambda t: t.nn.BatchNorm1d(4, track_running_stats=False), (3, 4))
simple("instance_norm_statistics", lambda t: t.nn.InstanceNorm1d(4, track_running_stats=True).eval(), (2, 4, 5))
simple("pools", lambda t: t.nn.Sequential(t.nn.MaxPool1d(2), t.nn.AvgPool1d(2), t.nn.LPPool1d(2, 2)), (1, 2, 16))
simple("adaptive_pools", lambda t: t.nn.Sequential(t.nn.AdaptiveAvgPool2d((None, 3)), t.nn.AdaptiveMaxPool2d((2, None))), (1, 2, 6, 6))
simple("max_pool2d_indices", lambda t: t.nn.MaxPool2d(2, return_indices=True), (1, 2, 6, 6))
simple("more_activations", lambda t: t.nn.Sequential(
    t.nn.Hardsigmoid(), t.nn.SELU(), t.nn.CELU(), t.nn.GELU("tanh"), t.nn.Softsign(), t.nn.Tanhshrink(), t.nn.Hardshrink(),
    t.nn.Softshrink(), t.nn.LogSigmoid(), t.nn.Threshold(0.1, 0.2), t.nn.RReLU().eval(), t.nn.Softmin(dim=1), t.nn.GLU()))
simple("activations_in_place", lambda t: t.nn.Sequential(
    t.nn.Linear(4, 4), t.nn.ReLU(True), t.nn.SiLU(True), t.nn.Hardtanh(inplace=True), t.nn.ELU(inplace=True),
    t.nn.LeakyReLU(inplace=True), t.nn.Dropout(0.1, True)).eval())
simple("dropouts", lambda t: t.nn.Sequential(t.nn.Dropout2d(0.1), t.nn.AlphaDropout(0.1), t.nn.FeatureAlphaDropout(0.1)).eval(), (1, 2, 4, 4))
simple("upsamples", lambda t: t.nn.Sequential(
    t.nn.Upsample(scale_factor=2), t.nn.UpsamplingBilinear2d(scale_factor=2), t.nn.Upsample(size=6, mode="bicubic")), (1, 2, 3, 3))


@case((4, 6))
def splits_and_norms(torch):
    def f(x):
        a, b = torch.split(x, [2, 4], 1)
        return a, b, x.split([2, 4], dim=1), torch.chunk(x, 2), x.tensor_split(2), torch.unbind(x, 0), torch.norm(x), torch.norm(x, 2, 1), \
            x.norm(1), x.norm(dim=1, keepdim=True), torch.linalg.norm(x), torch.linalg.vector_norm(x, dim=1)
    return f


@case((2, 5), dtypes=("int64",), recorded=True)
def transformer(torch):
    nn, F = torch.nn, torch.nn.functional

    class SelfAttention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24)
            self.out = nn.Linear(8, 8)

        def forward(self, x):
            b, t, c = x.size()
            q, k, v = self.qkv(x).split(c, dim=2)
            q, k, v = (part.view(b, t, 2, c // 2).transpose(1, 2) for part in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).contiguous().view(b, t, c))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(8), nn.LayerNorm(8)
            self.attention = SelfAttention()
            self.mlp = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(5, 8), nn.Embedding(16, 8)
            self.layers = nn.ModuleList([Layer() for _ in range(2)])
            self.head = nn.Linear(8, 5, bias=False)

        def forward(self, ids):
            x = self.tokens(ids) + self.places(torch.arange(ids.size(1)))
            for layer in self.layers:
                x = layer(x)
            return self.head(x)

    return Model()


@case((1, 3, 8, 8))
def inverted_residual(torch):
    nn = torch.nn

    class InvertedResidual(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(nn.Conv2d(3, 6, 1, bias=False), nn.BatchNorm2d(6), nn.ReLU6(inplace=True),
                                      nn.Conv2d(6, 6, 3, 1, 1, groups=6, bias=False), nn.BatchNorm2d(6), nn.ReLU6(inplace=True),
                                      nn.Conv2d(6, 3, 1, bias=False), nn.BatchNorm2d(3))

        def forward(self, x):
            return x + self.conv(x)

    return InvertedResidual().eval()


@case((1, 4, 6, 6))
def squeeze_excite(torch):
    nn = torch.nn

    class SqueezeExcite(nn.Module):
        def __init__(self):
            super().__init__()
            self.avgpool = nn.AdaptiveAvgPool2d(1)
            self.fc1, self.fc2 = nn.Conv2d(4, 2, 1), nn.Conv2d(2, 4, 1)

        def forward(self, x):
            scale = self.fc2(torch.relu(self.fc1(self.avgpool(x)))).sigmoid()
            return scale * x

    return SqueezeExcite()


@case((1, 3, 16, 16))
def u_net(torch):
    nn, F = torch.nn, torch.nn.functional

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.Conv2d(3, 4, 3, padding=1)
            self.middle = nn.Conv2d(4, 4, 3, padding=1)
            self.up = nn.ConvTranspose2d(4, 4, 2, stride=2)
            self.out = nn.Conv2d(8, 1, 1)

        def forward(self, x):
            a = F.relu(self.down(x))
            b = F.relu(self.middle(F.max_pool2d(a, 2)))
            c = F.interpolate(b, size=a.shape[2:], mode="bilinear", align_corners=True)
            return self.out(torch.cat([a, self.up(b) + c], dim=1))

    return UNet()


@case((1, 4, 6, 6))
def dense_block(torch):
    nn = torch.nn

    class DenseLayer(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.norm = nn.BatchNorm2d(channels)
            self.conv = nn.Conv2d(channels, 2, 3, padding=1)

        def forward(self, features):
            return self.conv(torch.relu(self.norm(torch.cat(features, 1))))

    class DenseBlock(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleDict({f"layer{i}": DenseLayer(4 + 2 * i) for i in range(3)})

        def forward(self, x):
            features = [x]
            for layer in self.layers.values():
                features.append(layer(features))
            return torch.cat(features, 1)

    return DenseBlock().eval()


@case((2, 4, 3))
def patch_embedding(torch):
    nn = torch.nn

    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.token = nn.Parameter(torch.full((1, 1, 3), 0.25))
            self.position = nn.Parameter(torch.full((1, 5, 3), 0.5))
            self.norm = nn.LayerNorm(3)

        def forward(self, x):
            token = self.token.expand(x.shape[0], -1, -1)
            x = torch.cat((token, x), dim=1) + self.position
            return self.norm(x)[:, 0]

    return Tokens()
