"""Convolutional classifiers with large windows: AlexNet, VGG, SqueezeNet, ResNet, DenseNet, GoogLeNet, Inception."""

from layers import Classified, conv_norm, wide
from library import F, nn, torch
from registry import network


def images(draws, count, size):
    return draws.floats(count, 3, size, size), draws.integers(0, 1000, count)


@network("SGD", images=2, lr=0.002, momentum=0.9)
def alexnet(draws):
    net = nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2),
        nn.AdaptiveAvgPool2d(6), nn.Flatten(),
        nn.Dropout(0.0), nn.Linear(256 * 36, 1024), nn.ReLU(inplace=True),
        nn.Dropout(0.0), nn.Linear(1024, 1024), nn.ReLU(inplace=True), nn.Linear(1024, 1000))
    return Classified(net), images(draws, 2, 224)


@network("SGD", images=2, lr=0.001, momentum=0.9, weight_decay=5e-4)
def vgg11_bn(draws):
    layers, channels = [], 3
    for item in (64, "pool", 128, "pool", 256, 256, "pool", 512, 512, "pool", 512, 512, "pool"):
        if item == "pool":
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers += [nn.Conv2d(channels, item, 3, padding=1), nn.BatchNorm2d(item), nn.ReLU(inplace=True)]
            channels = item
    layers += [nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(2048, 1024), nn.ReLU(inplace=True), nn.Linear(1024, 1000)]
    return Classified(nn.Sequential(*layers)), images(draws, 1, 224)


class Fire(nn.Module):
    def __init__(self, inputs, squeezed, expanded):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, squeezed, 1)
        self.one, self.three = nn.Conv2d(squeezed, expanded, 1), nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.squeeze(x), inplace=True)
        return torch.cat([F.relu(self.one(x)), F.relu(self.three(x))], 1)


@network("SGD", images=2, lr=0.005, momentum=0.9, nesterov=True)
def squeezenet(draws):
    net = nn.Sequential(
        nn.Conv2d(3, 64, 3, stride=2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(64, 16, 64), Fire(128, 16, 64), nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(128, 32, 128), Fire(256, 32, 128), nn.MaxPool2d(3, 2, ceil_mode=True),
        Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256),
        nn.Conv2d(512, 1000, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return Classified(net), images(draws, 2, 224)


class Basic(nn.Module):
    """Two windows of 3 x 3 around which the input is carried."""

    def __init__(self, inputs, width, stride):
        super().__init__()
        self.body = nn.Sequential(conv_norm(inputs, width, 3, stride), conv_norm(width, width, 3, act=None))
        self.carry = conv_norm(inputs, width, 1, stride, act=None) if stride > 1 or inputs != width else nn.Identity()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.body(x) + self.carry(x))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, dilation=1):
        super().__init__()
        self.body = nn.Sequential(conv_norm(inputs, width, 1), conv_norm(width, width, 3, stride, dilation=dilation),
                                  conv_norm(width, 4 * width, 1, act=None))
        self.carry = (conv_norm(inputs, 4 * width, 1, stride, act=None) if stride > 1 or inputs != 4 * width
                      else nn.Identity())
        self.act = nn.ReLU()

    def forward(self, x):
        y = self.body(x)
        y += self.carry(x)
        return self.act(y)


def residual(block, factor, counts):
    layers, channels = [conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for i, count in enumerate(counts):
        for j in range(count):
            layers.append(block(channels, 64 << i, 2 if i > 0 and j == 0 else 1))
            channels = factor * (64 << i)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


@network("SGD", images=2, calm=True, lr=0.005, momentum=0.9, weight_decay=1e-4)
def resnet18(draws):
    return Classified(residual(Basic, 1, [2, 2, 2, 2])), images(draws, 2, 224)


@network("SGD", images=2, calm=True, lr=0.005, momentum=0.9, weight_decay=1e-4)
def resnet50(draws):
    return Classified(residual(Bottleneck, 4, [3, 4, 6, 3]), smoothing=0.1), images(draws, 1, 224)


class Dense(nn.Module):
    """A layer that sees the results of all layers of its block."""

    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2, self.conv2 = nn.BatchNorm2d(4 * growth), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)
        self.act = nn.ReLU()

    def forward(self, parts):
        x = self.conv1(self.act(self.norm1(torch.cat(parts, 1))))
        return self.conv2(self.act(self.norm2(x)))


class DenseBlock(nn.Module):
    def __init__(self, inputs, growth, count):
        super().__init__()
        self.layers = nn.ModuleList(Dense(inputs + i * growth, growth) for i in range(count))

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts.append(layer(parts))
        return torch.cat(parts, 1)


@network("SGD", images=2, calm=True, lr=0.005, momentum=0.9)
def densenet121(draws):
    layers, channels = [conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for i, count in enumerate((6, 12, 24, 16)):
        layers.append(DenseBlock(channels, 32, count))
        channels += 32 * count
        layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True)]
        if i < 3:
            layers += [nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2, 2)]
            channels //= 2
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))
    return Classified(net), images(draws, 1, 224)


class Branches(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


def google_cell(inputs, one, three_in, three, five_in, five, pooled):
    return Branches(conv_norm(inputs, one, 1),
                    nn.Sequential(conv_norm(inputs, three_in, 1), conv_norm(three_in, three, 3)),
                    nn.Sequential(conv_norm(inputs, five_in, 1), conv_norm(five_in, five, 5)),
                    nn.Sequential(nn.MaxPool2d(3, 1, 1, ceil_mode=True), conv_norm(inputs, pooled, 1)))


class NeighbourNorm(nn.Module):
    """Channels over the mean square of their neighbours, which PyTorch has for whole width only."""

    def forward(self, x):
        return F.local_response_norm(wide(x), 5).to(x.dtype)


@network("SGD", images=2, calm=True, lr=0.005, momentum=0.9)
def googlenet(draws):
    net = nn.Sequential(
        conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, ceil_mode=True), NeighbourNorm(), conv_norm(64, 64, 1),
        conv_norm(64, 192, 3), NeighbourNorm(), nn.MaxPool2d(3, 2, ceil_mode=True),
        google_cell(192, 64, 96, 128, 16, 32, 32), google_cell(256, 128, 128, 192, 32, 96, 64),
        nn.MaxPool2d(3, 2, ceil_mode=True),
        google_cell(480, 192, 96, 208, 16, 48, 64), google_cell(512, 160, 112, 224, 24, 64, 64),
        google_cell(512, 256, 160, 320, 32, 128, 128), nn.MaxPool2d(2, 2, ceil_mode=True),
        google_cell(832, 384, 192, 384, 48, 128, 128),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 1000))
    return Classified(net), images(draws, 2, 224)


def narrow(inputs, outputs, kernel, padding=0, stride=1):
    """Windows of n x 1 and 1 x n pixels."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False),
                         nn.BatchNorm2d(outputs, eps=1e-3), nn.ReLU(inplace=True))


@network("RMSprop", images=2, calm=True, lr=1e-4, momentum=0.9, eps=1e-3)
def inception(draws):
    first = Branches(narrow(192, 64, 1), nn.Sequential(narrow(192, 48, 1), narrow(48, 64, 5, 2)),
                     nn.Sequential(narrow(192, 64, 1), narrow(64, 96, 3, 1), narrow(96, 96, 3, 1)),
                     nn.Sequential(nn.AvgPool2d(3, 1, 1), narrow(192, 64, 1)))
    shrink = Branches(narrow(288, 384, 3, stride=2),
                      nn.Sequential(narrow(288, 64, 1), narrow(64, 96, 3, 1), narrow(96, 96, 3, stride=2)),
                      nn.MaxPool2d(3, 2))
    second = Branches(narrow(768, 192, 1),
                      nn.Sequential(narrow(768, 128, 1), narrow(128, 128, (1, 7), (0, 3)), narrow(128, 192, (7, 1), (3, 0))),
                      nn.Sequential(narrow(768, 128, 1), narrow(128, 128, (7, 1), (3, 0)), narrow(128, 192, (1, 7), (0, 3))),
                      nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), narrow(768, 192, 1)))
    third = Branches(narrow(768, 320, 1),
                     nn.Sequential(narrow(768, 384, 1), Branches(narrow(384, 384, (1, 3), (0, 1)),
                                                                 narrow(384, 384, (3, 1), (1, 0)))))
    net = nn.Sequential(narrow(3, 32, 3, stride=2), narrow(32, 32, 3), narrow(32, 64, 3, 1), nn.MaxPool2d(3, 2),
                        narrow(64, 80, 1), narrow(80, 192, 3), nn.MaxPool2d(3, 2), first, shrink, second, third,
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1088, 1000))
    return Classified(net), images(draws, 1, 299)
