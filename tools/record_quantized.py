#!/usr/bin/env python3
"""Records what PyTorch makes of quantised models and operators. Usage: record_quantized.py OUT [--large] [name...]

Written are OUT/<name>.<how>.pt, .ptl for how = lite, and beside each a case file with inputs and outputs; `quantum` is the
step between two neighbouring numbers of a quantised result: results may be one step apart.

    record_quantized.py tests/conformance/quantized          # the small ones, as they are kept there
    record_quantized.py --large /tmp/quantized resnet18
    sconce-conformance --failures /tmp/quantized

Models are quantised in eager mode by torch.ao, with random weights, for x86. Needs PyTorch 2.13, nothing else.
"""

import argparse
import copy
import fnmatch
import importlib
import pathlib
import warnings

import torch
import torch.ao.quantization as tq
import torch.nn.functional as F
from torch import nn

from case_writer import Writer

SEED = 7


def conv_bn(inputs, outputs, kernel, stride=1, groups=1, activation=nn.ReLU):
    parts = [nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, *([activation()] if activation else []))


class Static(nn.Module):
    """A model between the two stubs."""

    def __init__(self, body):
        super().__init__()
        self.quant, self.body, self.dequant = tq.QuantStub(), body, tq.DeQuantStub()

    def forward(self, x):
        return self.dequant(self.body(self.quant(x)))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.relu, self.second = nn.Linear(24, 40), nn.ReLU(), nn.Linear(40, 10)
        self.third = nn.Linear(10, 5, bias=False)

    def forward(self, x):
        return self.third(self.second(self.relu(self.first(x))))


class CNN(nn.Module):
    """Branches that meet in sums, products and concatenation; pooling, interpolation and other activations."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 12, 5, 2)
        self.left, self.right = conv_bn(12, 12, 3), conv_bn(12, 12, 1, activation=None)
        self.wide = nn.Conv2d(24, 20, 3, padding=2, dilation=2, groups=2)
        self.swish, self.leaky = nn.Hardswish(), nn.LeakyReLU(0.1)
        self.add, self.cat, self.mul = [torch.ao.nn.quantized.FloatFunctional() for _ in range(3)]
        self.head = nn.Linear(20, 7)

    def forward(self, x):
        x = F.max_pool2d(self.stem(x), 3, 2, 1)
        a, b = self.left(x), self.right(x)
        both = self.cat.cat([self.add.add_relu(a, b), self.swish(b)], 1)
        y = self.leaky(self.wide(both))
        y = F.interpolate(F.avg_pool2d(y, 2), scale_factor=2.0, mode="nearest")
        y = self.mul.mul(y, y)
        return self.head(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first, self.second = conv_bn(inputs, outputs, 3, stride), conv_bn(outputs, outputs, 3, activation=None)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else conv_bn(inputs, outputs, 1, stride, activation=None)
        self.add = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        return self.add.add_relu(self.second(self.first(x)), self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.stem, self.pool = conv_bn(3, width, 7, 2), nn.MaxPool2d(3, 2, 1)
        layers, inputs = [], width
        for i in range(4):
            for stride in (1 if i == 0 else 2, 1):
                layers.append(Block(inputs, width << i, stride))
                inputs = width << i
        self.layers, self.mean, self.head = nn.Sequential(*layers), nn.AdaptiveAvgPool2d(1), nn.Linear(inputs, classes)

    def forward(self, x):
        return self.head(torch.flatten(self.mean(self.layers(self.pool(self.stem(x)))), 1))


class Inverted(nn.Module):
    def __init__(self, inputs, outputs, stride, expand):
        super().__init__()
        hidden = inputs * expand
        parts = [] if expand == 1 else [conv_bn(inputs, hidden, 1)]
        parts += [conv_bn(hidden, hidden, 3, stride, groups=hidden), conv_bn(hidden, outputs, 1, activation=None)]
        self.parts, self.residual = nn.Sequential(*parts), stride == 1 and inputs == outputs
        self.add = torch.ao.nn.quantized.FloatFunctional()

    def forward(self, x):
        return self.add.add(x, self.parts(x)) if self.residual else self.parts(x)


class MobileNet2(nn.Module):
    """(expansion, channels, how many, stride) of each stage, as in the paper."""

    STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]

    def __init__(self, part, classes, stages=7):
        super().__init__()
        def channels(n):
            return max(8, int(n * part + 4) // 8 * 8)

        layers, inputs = [conv_bn(3, channels(32), 3, 2)], channels(32)
        for expand, outputs, count, stride in self.STAGES[:stages]:
            for i in range(count):
                layers.append(Inverted(inputs, channels(outputs), stride if i == 0 else 1, expand))
                inputs = channels(outputs)
        self.features, self.head = nn.Sequential(*layers, conv_bn(inputs, 4 * inputs, 1)), nn.Linear(4 * inputs, classes)

    def forward(self, x):
        return self.head(self.features(x).mean([2, 3]))


class Tagger(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.rnn = kind(12, 16, **options)
        self.head = nn.Linear(32 if options.get("bidirectional") else 16, 5)

    def forward(self, x):
        y, _ = self.rnn(x)
        return self.head(y)


class Encoder(nn.Module):
    """One layer of a transformer encoder, from plain modules."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = [nn.Linear(width, width) for _ in range(4)]
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = torch.softmax(q @ k.transpose(-2, -1) / q.size(-1) ** 0.5, -1)
        x = self.first(x + self.out((weights @ v).transpose(1, 2).reshape(x.shape)))
        return self.second(x + self.narrow(F.gelu(self.wide(x))))


class Bert(nn.Module):
    def __init__(self, words, width, heads, layers):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(64, width)
        self.layers = nn.Sequential(*[Encoder(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, 3)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.size(1)))
        return self.head(self.layers(x)[:, 0])


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag, self.head = nn.EmbeddingBag(20, 16, mode="sum", include_last_offset=True), nn.Linear(16, 4)

    def forward(self, indices, offsets):
        return self.head(self.bag(indices, offsets))


def fuse(module):
    for child in list(module.modules()):
        if type(child) is nn.Sequential and len(child) >= 2 and isinstance(child[0], nn.Conv2d):
            tq.fuse_modules(child, [str(i) for i in range(len(child))], inplace=True)
    return module


def random_norms(module):
    """Batch norms that do something."""
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.running_mean, -0.2, 0.2)
            nn.init.uniform_(m.running_var, 0.5, 2.0)
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.uniform_(m.bias, -0.2, 0.2)
    return module


def static(body, calls, engine="x86"):
    model = fuse(random_norms(Static(body)).eval())
    model.qconfig = tq.get_default_qconfig(engine)
    tq.prepare(model, inplace=True)
    for arguments in calls:
        model(*arguments)
    return tq.convert(model)


def dynamic(model, dtype=torch.qint8):
    return tq.quantize_dynamic(model.eval(), {nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell}, dtype)


def bag():
    model = Bag().eval()
    model.bag.qconfig = tq.float_qparams_weight_only_qconfig
    tq.prepare(model, inplace=True)
    return dynamic(tq.convert(model))


def images(size, count=2):
    return [(torch.randn(count, 3, size, size),), (torch.randn(1, 3, size, size),)]


def tokens():
    return [(torch.randint(0, 50, (2, 9)),), (torch.randint(0, 50, (1, 5)),)]


# name -> (how it is recorded, calls, the model from them)
MODELS = {
    "mlp": ("script trace lite", lambda: [(torch.randn(6, 24),)], lambda c: static(MLP(), c)),
    "mlp_fbgemm": ("script", lambda: [(torch.randn(6, 24),)], lambda c: static(MLP(), c, "fbgemm")),
    "mlp_dynamic": ("script trace lite", lambda: [(torch.randn(6, 24),), (torch.randn(3, 2, 24),)], lambda c: dynamic(MLP())),
    "mlp_half": ("script", lambda: [(torch.randn(6, 24),)], lambda c: dynamic(MLP(), torch.float16)),
    "cnn": ("script trace lite", lambda: images(32), lambda c: static(CNN(), c)),
    "resnet18_thin": ("script lite", lambda: images(48, 1), lambda c: static(ResNet18(4, 10), c)),
    "mobilenet_v2_thin": ("script lite", lambda: images(48, 1), lambda c: static(MobileNet2(0.25, 10, 4), c)),
    "lstm": ("script lite", lambda: [(torch.randn(7, 3, 12),)], lambda c: dynamic(Tagger(nn.LSTM, num_layers=2))),
    "lstm_both_ways": ("script", lambda: [(torch.randn(3, 7, 12),)],
                       lambda c: dynamic(Tagger(nn.LSTM, bidirectional=True, batch_first=True))),
    "lstm_half": ("script", lambda: [(torch.randn(7, 3, 12),)], lambda c: dynamic(Tagger(nn.LSTM), torch.float16)),
    "gru": ("script", lambda: [(torch.randn(7, 3, 12),)], lambda c: dynamic(Tagger(nn.GRU, num_layers=2))),
    "bert": ("script trace", tokens, lambda c: dynamic(Bert(50, 32, 4, 2))),
    "embedding_bag": ("script", lambda: [(torch.randint(0, 20, (9,)), torch.tensor([0, 3, 3, 9]))], lambda c: bag()),
}
LARGE = {
    "resnet18": ("script", lambda: images(224, 1), lambda c: static(ResNet18(64, 1000), c)),
    "mobilenet_v2": ("script", lambda: images(224, 1), lambda c: static(MobileNet2(1.0, 1000), c)),
    "bert_base_like": ("script", tokens, lambda c: dynamic(Bert(1000, 256, 8, 4))),
    "lstm_wide": ("script", lambda: [(torch.randn(20, 4, 12),)], lambda c: dynamic(Tagger(nn.LSTM, num_layers=3))),
}


class Operators:
    """Functions of one float tensor whose results are integers of quantised tensors, or numbers."""

    SHAPE = (2, 4, 6, 6)

    @staticmethod
    def relu(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        return torch.relu(q).int_repr(), F.hardtanh(q, -0.5, 1.5).int_repr(), torch.clamp(q, 0.3).int_repr()

    @staticmethod
    def activations(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        s = torch.quantize_per_tensor(x, 0.05, -3, torch.qint8)
        return [torch.sigmoid(q).int_repr(), torch.tanh(q).int_repr(), F.leaky_relu(q, 0.2).int_repr(),
                F.hardsigmoid(q).int_repr(), torch.sigmoid(s).int_repr(), torch.tanh(s).int_repr(),
                torch.ops.quantized.hardswish(q, 0.04, 20).int_repr(), torch.ops.quantized.elu(q, 0.04, 30).int_repr(),
                torch.ops.quantized.celu(q, 0.04, 30).int_repr(), torch.ops.quantized.sigmoid(q, 0.01, 5).int_repr(),
                torch.ops.quantized.leaky_relu(q, 0.3, False, 0.03, 50).int_repr()]

    @staticmethod
    def pooling(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        c = q.contiguous(memory_format=torch.channels_last)
        return [F.max_pool2d(q, 3, 2, 1).int_repr(), F.max_pool2d(c, 3, 2, 1).int_repr(), F.avg_pool2d(q, 3, 2, 1).int_repr(),
                F.avg_pool2d(c, 2).int_repr(), F.adaptive_avg_pool2d(q, [1, 1]).int_repr(), F.adaptive_avg_pool2d(c, [3, 2]).int_repr(),
                q.mean([2, 3]).int_repr(), c.mean([1]).int_repr()]

    @staticmethod
    def resizing(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        return [F.interpolate(q, scale_factor=2.0, mode="nearest").int_repr(), F.interpolate(q, size=[4, 9], mode="nearest").int_repr(),
                F.interpolate(q, size=[5, 7], mode="bilinear", align_corners=False).int_repr()]

    @staticmethod
    def arithmetic(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        r = torch.quantize_per_tensor(x.flip(0) * 0.7, 0.03, 100, torch.quint8)
        ops = torch.ops.quantized
        return [ops.add(q, r, 0.06, 70).int_repr(), ops.add_relu(q, r, 0.06, 70).int_repr(), ops.mul(q, r, 0.05, 90).int_repr(),
                ops.mul_relu(q, r, 0.05, 90).int_repr(), ops.cat([q, r], 1, 0.05, 80).int_repr(), ops.cat_relu([q, r], 0, 0.05, 80).int_repr(),
                ops.matmul(q, r, 0.1, 100).int_repr()]

    @staticmethod
    def numbers(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        ops = torch.ops.quantized
        return [ops.add_scalar(q, 1.5).dequantize(), ops.add_scalar(q, 20.0).dequantize(), ops.add_scalar_relu(q, -1.0).dequantize(),
                ops.mul_scalar(q, 2.5).dequantize(), ops.mul_scalar(q, -0.5).dequantize(), ops.mul_scalar_relu(q, 3.0).dequantize()]

    @staticmethod
    def norms(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        ops = torch.ops.quantized
        w, b, v = torch.tensor([1.0, 0.5, 2.0, 1.5]), torch.tensor([0.1, -0.2, 0.0, 0.4]), torch.tensor([1.0, 2.0, 0.5, 1.2])
        return [ops.batch_norm2d(q, w, b, b, v, 1e-5, 0.05, 70).int_repr(), ops.batch_norm2d_relu(q, w, b, b, v, 1e-5, 0.05, 70).int_repr(),
                ops.layer_norm(q, [6], None, None, 1e-5, 0.03, 100).int_repr(), ops.group_norm(q, 2, w, b, 1e-5, 0.03, 100).int_repr(),
                ops.instance_norm(q, w, b, 1e-5, 0.03, 100).int_repr()]

    @staticmethod
    def convolutions(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        ops = torch.ops.quantized
        full = torch.quantize_per_tensor(torch.sin(torch.arange(6 * 4 * 9.0)).view(6, 4, 3, 3), 0.01, 0, torch.qint8)
        odd = torch.quantize_per_tensor(torch.sin(torch.arange(6 * 4 * 9.0)).view(6, 4, 3, 3), 0.01, 5, torch.qint8)
        depth = torch.quantize_per_tensor(torch.cos(torch.arange(4 * 9.0)).view(4, 1, 3, 3), 0.01, 0, torch.qint8)
        bias = torch.arange(6.0) - 2.0
        a = ops.conv2d_prepack(full, bias, [1, 1], [1, 1], [1, 1], 1)
        b = ops.conv2d_prepack(full, None, [2, 1], [0, 2], [1, 2], 1)
        c = ops.conv2d_prepack(depth, bias[:4], [1, 1], [1, 1], [1, 1], 4)
        d = ops.conv2d_prepack(odd, bias, [1, 1], [1, 1], [1, 1], 1)
        line = ops.conv1d_prepack(torch.quantize_per_tensor(torch.sin(torch.arange(5 * 4 * 3.0)).view(5, 4, 3), 0.01, 0, torch.qint8), None, [1], [1], [1], 1)
        return [ops.conv2d(q, a, 0.1, 90).int_repr(), ops.conv2d_relu(q, b, 0.1, 20).int_repr(), ops.conv2d(q, c, 0.1, 90).int_repr(),
                ops.conv2d(q, d, 0.2, 90).int_repr(), ops.conv1d(q.flatten(2), line, 0.1, 90).int_repr()]

    @staticmethod
    def tensors(x: torch.Tensor):
        q = torch.quantize_per_tensor(x, 0.05, 60, torch.quint8)
        p = torch.quantize_per_channel(x, torch.tensor([0.1, 0.05, 0.02, 0.2]), torch.tensor([0, 3, -7, 1]), 1, torch.qint8)
        i = torch.quantize_per_tensor(x, 0.001, 0, torch.qint32)
        d = torch.quantize_per_tensor_dynamic(x, torch.quint8, True)
        return [q.int_repr(), p.int_repr(), i.int_repr(), d.int_repr(), q.dequantize(), p.dequantize(), q.transpose(1, 2).int_repr(),
                q[:, 1].dequantize(), p[1].dequantize(), q.max().dequantize(), torch.sort(q, 3)[0].int_repr(), q == q[0], torch.stack([q, q]).int_repr(),
                q.reshape(-1)[3:9].int_repr(), p.q_per_channel_scales(), q.permute(0, 2, 3, 1).contiguous().int_repr()]


def recorded(module, how, calls, path):
    if how == "trace":
        made = torch.jit.trace(module, calls[0], check_trace=False)
    else:
        made = torch.jit.script(module)
    if how == "lite":
        made._save_for_lite_interpreter(str(path))
        return importlib.import_module("torch.jit.mobile")._load_for_lite_interpreter(str(path))
    torch.jit.save(made, str(path))
    return torch.jit.load(str(path))


def quantum_of(model, arguments):
    """The scale of what the last stub dequantises; None for models that are not quantised as a whole."""
    scales = []
    for m in model.modules():
        if isinstance(m, torch.ao.nn.quantized.DeQuantize):
            m.register_forward_pre_hook(lambda m, args: scales.append(args[0].q_scale()))
    model(*arguments)
    return scales[-1] if scales else None


def write(name, how, calls, loaded, quantum, path):
    writer = Writer()
    cases = [{"name": name, "how": how, "seed": SEED, "torch": torch.__version__}]
    for arguments in calls:
        case = {"inputs": [writer.value(a) for a in arguments], "out": writer.value(loaded(*arguments))}
        if quantum is not None:
            case["quantum"] = quantum
        cases.append(case)
    writer.save(path, cases)


def record_model(name, out):
    hows, make_calls, make_model = {**MODELS, **LARGE}[name]
    for how in hows.split():
        torch.manual_seed(SEED)
        calls = make_calls()
        model = make_model(calls)
        quantum = quantum_of(copy.deepcopy(model), calls[0])
        path = out / f"{name}.{how}{'.ptl' if how == 'lite' else '.pt'}"
        loaded = recorded(model, how, calls[:1] if how == "trace" else calls, path)
        case_path = path.with_suffix(".ptl.safetensors") if how == "lite" else path.with_suffix(".safetensors")
        write(name, how, calls[:1] if how == "trace" else calls, loaded, quantum, case_path)


def record_operators(name, out):
    torch.manual_seed(SEED)
    calls = [(torch.randn(Operators.SHAPE),)]

    class Module(nn.Module):
        function = staticmethod(torch.jit.script(getattr(Operators, name)))

        def forward(self, x):
            return self.function(x)

    path = out / f"op_{name}.pt"
    loaded = recorded(torch.jit.script(Module()), "script", calls, path)
    write(name, "script", calls, loaded, 1.0, path.with_suffix(".safetensors"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--large", action="store_true", help="models of the usual sizes instead of small ones")
    parser.add_argument("names", nargs="*", default=["*"])
    asked = parser.parse_intermixed_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.backends.quantized.engine = "x86"
    names = list(LARGE if asked.large else MODELS)
    operators = [] if asked.large else [n for n in vars(Operators) if n.islower() and not n.startswith("_")]
    for name in names + operators:
        if not any(fnmatch.fnmatch(name, pattern) for pattern in asked.names):
            continue
        try:
            (record_operators if name in operators else record_model)(name, asked.out)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:600]}", flush=True)


if __name__ == "__main__":
    main()
