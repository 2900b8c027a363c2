"""Windows over time: R3D-18 (3-d windows), and frames that are split into space and time."""

from layers import Classified, wide
from library import F, nn, torch
from registry import network


def conv3(inputs, outputs, kernel, stride, padding):
    return nn.Sequential(nn.Conv3d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm3d(outputs))


class Block3(nn.Module):
    def __init__(self, inputs, width, stride, split=False):
        super().__init__()
        if split:
            middle = (inputs * width * 27) // (inputs * 9 + 3 * width)
            self.first = nn.Sequential(conv3(inputs, middle, (1, 3, 3), (1, stride, stride), (0, 1, 1)), nn.ReLU(inplace=True),
                                       conv3(middle, width, (3, 1, 1), (stride, 1, 1), (1, 0, 0)))
        else:
            self.first = conv3(inputs, width, 3, stride, 1)
        self.second = conv3(width, width, 3, 1, 1)
        self.carry = conv3(inputs, width, 1, stride, 0) if stride > 1 or inputs != width else nn.Identity()
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.act(self.second(self.act(self.first(x))) + self.carry(x))


def video_net(split):
    channels = 64
    layers = [nn.Conv3d(3, 64, (3, 7, 7), (1, 2, 2), (1, 3, 3), bias=False), nn.BatchNorm3d(64), nn.ReLU(inplace=True)]
    for i in range(4):
        for j in range(1 if split else 2):
            layers.append(Block3(channels, 64 << i, 2 if i > 0 and j == 0 else 1, split))
            channels = 64 << i
    return nn.Sequential(*layers, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(512, 400))


@network("SGD", images=3, lr=0.01, momentum=0.9)
def r3d18(draws):
    return Classified(video_net(False)), (draws.floats(1, 3, 8, 64, 64), draws.integers(0, 400, 1))


class VolumeNet(nn.Module):
    """A 3-d U-Net for volumes, with 3-d pools, transposed windows and trilinear growth."""

    def __init__(self):
        super().__init__()

        def twice(a, b):
            return nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01),
                                 nn.Conv3d(b, b, 3, padding=1), nn.GroupNorm(8, b), nn.LeakyReLU(0.01))

        self.down1, self.down2, self.down3 = twice(1, 16), twice(16, 32), twice(32, 64)
        self.grow, self.up2, self.up1 = nn.ConvTranspose3d(64, 32, 2, 2), twice(64, 32), twice(48, 16)
        self.head = nn.Conv3d(16, 3, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool3d(a, 2))
        c = self.down3(F.avg_pool3d(wide(b), 2).to(b.dtype))
        y = self.up2(torch.cat([b, self.grow(c)], 1))
        y = F.interpolate(y, scale_factor=2, mode="trilinear", align_corners=False)
        return self.head(self.up1(torch.cat([a, y], 1)))


@network("SGD", images=3, lr=0.01, momentum=0.9)
def volume_unet(draws):
    return Classified(VolumeNet()), (draws.floats(1, 1, 32, 48, 40), draws.integers(0, 3, 1, 32, 48, 40))
