"""Convolutional classifiers of few operations: windows of single channels, groups, channels scaled by their means."""

from classic import images
from layers import Classified, Squeeze, conv_norm
from library import F, nn, torch
from registry import network


class Inverted(nn.Module):
    """Wide between two narrow ends; the windows see single channels."""

    def __init__(self, inputs, outputs, hidden, kernel, stride, squeeze=0, act=nn.ReLU6, gate=nn.Sigmoid, squeeze_act=nn.ReLU):
        super().__init__()
        layers = [conv_norm(inputs, hidden, 1, act=act)] if hidden != inputs else []
        layers.append(conv_norm(hidden, hidden, kernel, stride, groups=hidden, act=act))
        if squeeze:
            layers.append(Squeeze(hidden, squeeze, squeeze_act, gate))
        layers.append(conv_norm(hidden, outputs, 1, act=None))
        self.body, self.carried = nn.Sequential(*layers), stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.body(x) if self.carried else self.body(x)


@network("RMSprop", images=2, calm=True, lr=2e-4, alpha=0.9, momentum=0.9, eps=1e-3)
def mobilenet_v2(draws):
    layers, channels = [conv_norm(3, 32, 3, 2, act=nn.ReLU6)], 32
    for factor, width, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                         (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            layers.append(Inverted(channels, width, factor * channels, 3, stride if i == 0 else 1))
            channels = width
    layers += [conv_norm(320, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return Classified(nn.Sequential(*layers)), images(draws, 2, 224)


@network("SGD", images=2, lr=0.005, momentum=0.9)
def mobilenet_v3_small(draws):
    swish = nn.Hardswish
    layers, channels = [conv_norm(3, 16, 3, 2, act=swish)], 16
    for kernel, hidden, width, squeeze, act, stride in (
            (3, 16, 16, 8, nn.ReLU, 2), (3, 72, 24, 0, nn.ReLU, 2), (3, 88, 24, 0, nn.ReLU, 1), (5, 96, 40, 24, swish, 2),
            (5, 240, 40, 64, swish, 1), (5, 240, 40, 64, swish, 1), (5, 120, 48, 32, swish, 1), (5, 144, 48, 40, swish, 1),
            (5, 288, 96, 72, swish, 2), (5, 576, 96, 144, swish, 1), (5, 576, 96, 144, swish, 1)):
        layers.append(Inverted(channels, width, hidden, kernel, stride, squeeze, act, nn.Hardsigmoid))
        channels = width
    layers += [conv_norm(96, 576, 1, act=swish), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(576, 1024), nn.Hardswish(),
               nn.Linear(1024, 1000)]
    return Classified(nn.Sequential(*layers)), images(draws, 2, 224)


@network("SGD", images=2, lr=0.005, momentum=0.9, weight_decay=1e-5)
def efficientnet_b0(draws):
    layers, channels = [conv_norm(3, 32, 3, 2, act=nn.SiLU)], 32
    for factor, kernel, stride, width, count in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
                                                 (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)):
        for i in range(count):
            layers.append(Inverted(channels, width, factor * channels, kernel, stride if i == 0 else 1, channels // 4,
                                   nn.SiLU, squeeze_act=nn.SiLU))
            channels = width
    layers += [conv_norm(320, 1280, 1, act=nn.SiLU), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return Classified(nn.Sequential(*layers), smoothing=0.1), images(draws, 2, 224)


class Grouped(nn.Module):
    """A stage's block of RegNetY."""

    def __init__(self, inputs, width, stride, group):
        super().__init__()
        self.body = nn.Sequential(conv_norm(inputs, width, 1), conv_norm(width, width, 3, stride, groups=width // group),
                                  Squeeze(width, max(inputs // 4, 8)), conv_norm(width, width, 1, act=None))
        self.carry = (conv_norm(inputs, width, 1, stride, act=None) if stride > 1 or inputs != width else nn.Identity())
        self.act = nn.ReLU()

    def forward(self, x):
        return self.act(self.body(x) + self.carry(x))


@network("SGD", images=2, calm=True, lr=0.005, momentum=0.9)
def regnet_y(draws):
    layers, channels = [conv_norm(3, 32, 3, 2)], 32
    for width, count in ((48, 1), (104, 3), (208, 6), (440, 6)):
        for i in range(count):
            layers.append(Grouped(channels, width, 2 if i == 0 else 1, 8))
            channels = width
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(440, 1000))
    return Classified(net), images(draws, 2, 224)


class Shuffled(nn.Module):
    """Half of the channels pass; then the halves are shuffled."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        half = outputs // 2
        self.first = None if stride == 1 else nn.Sequential(
            conv_norm(inputs, inputs, 3, stride, groups=inputs, act=None), conv_norm(inputs, half, 1))
        self.second = nn.Sequential(conv_norm(half if stride == 1 else inputs, half, 1),
                                    conv_norm(half, half, 3, stride, groups=half, act=None), conv_norm(half, half, 1))

    def forward(self, x):
        if self.first is None:
            left, right = x.chunk(2, dim=1)
            x = torch.cat([left, self.second(right)], 1)
        else:
            x = torch.cat([self.first(x), self.second(x)], 1)
        n, c, h, w = x.shape
        return x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)


@network("SGD", images=2, lr=0.005, momentum=0.9)
def shufflenet_v2(draws):
    layers, channels = [conv_norm(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for width, count in ((116, 4), (232, 8), (464, 4)):
        for i in range(count):
            layers.append(Shuffled(channels, width, 2 if i == 0 else 1))
            channels = width
    layers += [conv_norm(464, 1024, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000)]
    return Classified(nn.Sequential(*layers)), images(draws, 2, 224)
