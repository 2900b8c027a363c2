"""Answers for every pixel: U-Net, dilated segmentation, detection with a pyramid, super-resolution, style."""

from classic import Basic, Bottleneck
from layers import conv_norm, wide
from library import F, nn, torch
from registry import network


def twice(inputs, outputs):
    return nn.Sequential(conv_norm(inputs, outputs, 3), conv_norm(outputs, outputs, 3))


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512)):
        super().__init__()
        self.down = nn.ModuleList(twice(a, b) for a, b in zip((3, *widths), widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(twice(2 * a, a) for a in widths[:-1])
        self.head, self.pool = nn.Conv2d(widths[0], 2, 1), nn.MaxPool2d(2)

    def forward(self, x, wanted):
        passed = []
        for i, layer in enumerate(self.down):
            x = layer(x if i == 0 else self.pool(x))
            passed.append(x)
        for i in reversed(range(len(self.up))):
            x = self.up[i](torch.cat([passed[i], self.grow[i](x)], 1))
        scores = wide(self.head(x))
        chance = scores.softmax(1)[:, 1]
        hit = (chance * wanted).sum((1, 2))
        dice = 1 - (2 * hit + 1) / (chance.sum((1, 2)) + wanted.sum((1, 2)) + 1)
        return F.cross_entropy(scores, wanted) + dice.mean()


@network("SGD", images=2, calm=True, lr=0.005, momentum=0.9)
def unet(draws):
    return UNet(), (draws.floats(1, 3, 128, 128), draws.integers(0, 2, 1, 128, 128))


class Pyramid(nn.Module):
    """Windows with several distances between their pixels, and the mean of the image."""

    def __init__(self, inputs, width):
        super().__init__()
        self.views = nn.ModuleList([conv_norm(inputs, width, 1)] +
                                   [conv_norm(inputs, width, 3, dilation=d) for d in (6, 12, 18)])
        self.mean = nn.Sequential(nn.AdaptiveAvgPool2d(1), conv_norm(inputs, width, 1))
        self.join = conv_norm(5 * width, width, 1)

    def forward(self, x):
        mean = F.interpolate(self.mean(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return self.join(torch.cat([view(x) for view in self.views] + [mean], 1))


class DeepLab(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Sequential(conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), Bottleneck(64, 64, 1))
        self.high = nn.Sequential(Bottleneck(256, 128, 2), Bottleneck(512, 128, 1), Bottleneck(512, 256, 1, dilation=2),
                                  Bottleneck(1024, 256, 1, dilation=4))
        self.pyramid, self.thin = Pyramid(1024, 256), conv_norm(256, 48, 1)
        self.head = nn.Sequential(conv_norm(304, 256, 3), nn.Conv2d(256, 21, 1))

    def forward(self, x, labels):
        low = self.low(x)
        far = F.interpolate(self.pyramid(self.high(low)), size=low.shape[-2:], mode="bilinear", align_corners=False)
        scores = self.head(torch.cat([self.thin(low), far], 1))
        scores = F.interpolate(wide(scores), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return F.cross_entropy(scores, labels, ignore_index=20)


@network("SGD", images=2, lr=0.005, momentum=0.9)
def deeplab(draws):
    return DeepLab(), (draws.floats(2, 3, 129, 129), draws.integers(0, 21, 2, 129, 129))


def anchors(sizes, image):
    """Boxes around the places of every level: left, top, right, bottom."""
    made = []
    for size in sizes:
        step = image / size
        centers = (torch.arange(size, dtype=torch.float32) + 0.5) * step
        y, x = torch.meshgrid(centers, centers, indexing="ij")
        for ratio in (0.5, 1.0, 2.0):
            w, h = 4 * step * ratio ** 0.5, 4 * step / ratio ** 0.5
            made.append(torch.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], -1).view(-1, 4))
    return torch.cat(made)


class Detector(nn.Module):
    """A pyramid of images; classes by focal loss, boxes by smooth L1, of the anchors that lie over a box."""

    def __init__(self, classes=20, image=192):
        super().__init__()
        self.classes = classes
        self.stem = nn.Sequential(conv_norm(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), Basic(64, 64, 1))
        self.levels = nn.ModuleList([Basic(64, 128, 2), Basic(128, 256, 2), Basic(256, 512, 2)])
        self.across = nn.ModuleList(nn.Conv2d(width, 128, 1) for width in (128, 256, 512))
        self.smooth = nn.ModuleList(nn.Conv2d(128, 128, 3, padding=1) for _ in range(3))
        self.score = nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.GroupNorm(32, 128), nn.ReLU(),
                                   nn.Conv2d(128, 3 * classes, 3, padding=1))
        self.place = nn.Sequential(nn.Conv2d(128, 128, 3, padding=1), nn.ReLU(), nn.Conv2d(128, 12, 3, padding=1))
        self.register_buffer("anchors", anchors([image // 8, image // 16, image // 32], image), persistent=False)

    def targets(self, boxes):
        """For each anchor the box that it covers most, and how much of their union."""
        a, b = self.anchors[:, None], boxes[None]
        inner = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0).prod(-1)
        areas = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1)
        return (inner / (areas - inner)).max(1)

    def forward(self, x, boxes, labels):
        x, passed = self.stem(x), []
        for level in self.levels:
            x = level(x)
            passed.append(x)
        above, maps = None, []
        for across, smooth, part in reversed(list(zip(self.across, self.smooth, passed))):
            above = across(part) if above is None else across(part) + F.interpolate(above, scale_factor=2.0, mode="nearest")
            maps.insert(0, smooth(above))
        n, loss = x.shape[0], 0.0
        scores = torch.cat([self.score(m).unflatten(1, (3, self.classes)).permute(0, 1, 3, 4, 2).reshape(n, -1, self.classes)
                            for m in maps], 1)
        moves = torch.cat([self.place(m).unflatten(1, (3, 4)).permute(0, 1, 3, 4, 2).reshape(n, -1, 4) for m in maps], 1)
        for i in range(n):
            overlap, which = self.targets(boxes[i])
            near = overlap > 0.4
            wanted = F.one_hot(labels[i][which], self.classes).to(torch.float32) * near[:, None]
            row = wide(scores[i])
            chance = row.sigmoid()
            right = chance * wanted + (1 - chance) * (1 - wanted)
            weight = (0.25 * wanted + 0.75 * (1 - wanted)) * (1 - right) ** 2
            count = near.sum().clamp(min=1)
            loss = loss + (weight * F.binary_cross_entropy_with_logits(row, wanted.to(row.dtype), reduction="none")).sum() / count
            span = (self.anchors[:, 2:] - self.anchors[:, :2])[near]
            goal = torch.cat([(boxes[i][which][near] - self.anchors[near])[:, :2] / span,
                              ((boxes[i][which][near][:, 2:] - boxes[i][which][near][:, :2]) / span).log()], 1)
            loss = loss + F.smooth_l1_loss(wide(moves[i])[near], goal.to(row.dtype), beta=0.1, reduction="sum") / count
        return loss / n


@network("SGD", images=2, lr=0.002, momentum=0.9)
def detector(draws):
    corners = draws.integers(0, 100, 2, 5, 2)
    boxes = torch.cat([corners, corners + draws.integers(20, 90, 2, 5, 2)], -1)
    return Detector(), (draws.floats(2, 3, 192, 192), boxes, draws.integers(0, 20, 2, 5))


class Sharpen(nn.Module):
    """EDSR: residual blocks without norms, then channels become pixels."""

    def __init__(self, width=64, depth=6):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.PReLU(width),
                                                  nn.Conv2d(width, width, 3, padding=1)) for _ in range(depth))
        self.last = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x, sharp):
        x = self.first(x)
        y = x
        for block in self.blocks:
            y = y + 0.1 * block(y)
        made = self.last(x + y)
        up = F.interpolate(wide(sharp), scale_factor=0.5, mode="bicubic", align_corners=False, antialias=True)
        return F.l1_loss(wide(made), wide(sharp)) + 0.1 * F.mse_loss(wide(F.avg_pool2d(made, 2)), up)


@network("Adam", images=2, lr=1e-4, betas=(0.9, 0.99))
def super_resolution(draws):
    return Sharpen(), (draws.floats(1, 3, 64, 80), draws.floats(1, 3, 128, 160))


class Style(nn.Module):
    """Style transfer: reflected borders, instance norms, products of channels as the loss."""

    def __init__(self):
        super().__init__()

        def conv(a, b, kernel, stride=1):
            return nn.Sequential(nn.ReflectionPad2d(kernel // 2), nn.Conv2d(a, b, kernel, stride),
                                 nn.InstanceNorm2d(b, affine=True), nn.ReLU())

        self.down = nn.Sequential(conv(3, 32, 9), conv(32, 64, 3, 2), conv(64, 128, 3, 2))
        self.middle = nn.ModuleList(nn.Sequential(conv(128, 128, 3), nn.ReflectionPad2d(1), nn.Conv2d(128, 128, 3),
                                                  nn.InstanceNorm2d(128, affine=True)) for _ in range(2))
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), conv(128, 64, 3),
                                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), conv(64, 32, 3),
                                nn.ReplicationPad2d(4), nn.Conv2d(32, 3, 9), nn.Tanh())

    def forward(self, x, style):
        deep = self.down(x)
        for block in self.middle:
            deep = deep + block(deep)
        made = self.up(deep)
        a, b = self.down(made).flatten(2), self.down(style).flatten(2)
        gram = (a @ a.mT - b @ b.mT) / a.shape[-1]
        shift = made[..., 1:] - made[..., :-1]
        return wide(gram).square().mean() + 0.1 * wide(made - x).square().mean() + 0.01 * wide(shift).abs().mean()


@network("Adam", images=2, lr=1e-3)
def style_transfer(draws):
    return Style(), (draws.floats(1, 3, 128, 128), draws.floats(1, 3, 128, 128))
