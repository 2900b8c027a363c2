"""Networks that draw images: diffusion, variational autoencoder, GAN; and metric learning over triplets."""

import math

from layers import conv_norm, wide
from library import F, nn, torch
from registry import network


class TimeBlock(nn.Module):
    """Two windows with group norms, between which the time is added."""

    def __init__(self, inputs, outputs, time):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(32, inputs), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.norm2, self.conv2 = nn.GroupNorm(32, outputs), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.carry = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.carry(x) + self.conv2(F.silu(self.norm2(y)))


class ImageAttention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.norm = heads, nn.GroupNorm(32, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        n, width, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(n, 3, self.heads, width // self.heads, h * w).unbind(1)
        weights = torch.einsum("nhct,nhcs->nhts", q, k) * (width // self.heads) ** -0.5
        y = torch.einsum("nhts,nhcs->nhct", weights.softmax(-1), v)
        return x + self.out(y.reshape(n, width, h, w))


class Diffusion(nn.Module):
    def __init__(self, width=96, time=256):
        super().__init__()
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        wider = 2 * width
        self.down1, self.down2 = TimeBlock(width, width, time), TimeBlock(width, wider, time)
        self.halve1, self.halve2 = nn.Conv2d(width, width, 3, 2, 1), nn.Conv2d(wider, wider, 3, 2, 1)
        self.middle1, self.middle2 = TimeBlock(wider, wider, time), TimeBlock(wider, wider, time)
        self.attend = ImageAttention(wider)
        self.double1, self.double2 = nn.Conv2d(wider, wider, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.up1, self.up2 = TimeBlock(2 * wider, width, time), TimeBlock(2 * width, width, time)
        self.norm, self.last = nn.GroupNorm(32, width), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, image, noise, step):
        kept = torch.cos(0.5 * math.pi * (step + 1).to(torch.float32) / 1001)[:, None, None, None]
        x = (image * kept + noise * (1 - kept ** 2).sqrt()).to(image.dtype)
        rates = torch.exp(torch.arange(self.width // 2, dtype=torch.float32) * (-math.log(1e4) / (self.width // 2)))
        angles = step[:, None] * rates
        time = self.time(torch.cat([angles.sin(), angles.cos()], 1).to(x.dtype))
        x = self.first(x)
        a = self.down1(x, time)
        b = self.down2(self.halve1(a), time)
        x = self.middle2(self.attend(self.middle1(self.halve2(b), time)), time)
        x = self.up1(torch.cat([self.double1(F.interpolate(x, scale_factor=2)), b], 1), time)
        x = self.up2(torch.cat([self.double2(F.interpolate(x, scale_factor=2)), a], 1), time)
        return F.mse_loss(wide(self.last(F.silu(self.norm(x)))), wide(noise))


@network("AdamW", images=2, lr=2e-4)
def diffusion(draws):
    return Diffusion(), (draws.floats(2, 3, 48, 48), draws.floats(2, 3, 48, 48), draws.integers(0, 1000, 2))


class Vae(nn.Module):
    def __init__(self, widths=(32, 64, 128, 256), latent=128, size=64):
        super().__init__()
        self.encoder = nn.Sequential(*[nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU())
                                       for a, b in zip((3, *widths), widths)])
        self.last = (widths[-1], size >> len(widths), size >> len(widths))
        count = math.prod(self.last)
        self.mean, self.spread, self.start = nn.Linear(count, latent), nn.Linear(count, latent), nn.Linear(latent, count)
        back = widths[::-1]
        self.decoder = nn.Sequential(*[nn.Sequential(nn.ConvTranspose2d(a, b, 3, 2, 1, output_padding=1), nn.BatchNorm2d(b),
                                                     nn.LeakyReLU()) for a, b in zip(back, (*back[1:], 32))],
                                     nn.ConvTranspose2d(32, 32, 5, padding=2), nn.ELU(), nn.Conv2d(32, 3, 3, padding=1),
                                     nn.Sigmoid())

    def forward(self, x, noise):
        y = self.encoder(x).flatten(1)
        mean, spread = self.mean(y), self.spread(y)
        hidden = mean + noise * torch.exp(0.5 * spread)
        made = self.decoder(self.start(hidden).unflatten(1, self.last))
        distance = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(1).mean()
        return F.binary_cross_entropy(wide(made), wide(x)) + 1e-3 * wide(distance)


@network("Adam", images=2, lr=1e-3)
def vae(draws):
    return Vae(), (draws.positive(4, 3, 64, 64), draws.floats(4, 128))


class Gan(nn.Module):
    """DCGAN: both losses in one step; what the critic learns from is detached."""

    def __init__(self, width=64, latent=100):
        super().__init__()
        channels = 8 * width
        draw = [nn.ConvTranspose2d(latent, channels, 4, 1, 0, bias=False), nn.BatchNorm2d(channels), nn.ReLU(True)]
        for _ in range(3):
            draw += [nn.ConvTranspose2d(channels, channels // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(channels // 2),
                     nn.ReLU(True)]
            channels //= 2
        self.draw = nn.Sequential(*draw, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())
        judge = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
        for i in range(3):
            judge += [nn.Conv2d(width << i, width << i + 1, 4, 2, 1, bias=False), nn.BatchNorm2d(width << i + 1),
                      nn.LeakyReLU(0.2, True)]
        self.judge = nn.Sequential(*judge, nn.Conv2d(8 * width, 1, 4, 1, 0, bias=False), nn.Flatten(0))

    def forward(self, real, noise):
        fake = self.draw(noise[:, :, None, None])
        truth, lie = wide(self.judge(real)), wide(self.judge(fake.detach()))
        critic = (F.binary_cross_entropy_with_logits(truth, torch.ones_like(truth)) +
                  F.binary_cross_entropy_with_logits(lie, torch.zeros_like(lie)))
        seen = wide(self.judge(fake))
        return critic + F.softplus(-seen).mean()


@network("Adam", images=2, lr=2e-4, betas=(0.5, 0.999))
def dcgan(draws):
    return Gan(), (draws.floats(4, 3, 64, 64), draws.floats(4, 100))


class Siamese(nn.Module):
    """One network sees three images; near and far are told apart by distances of unit vectors."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv_norm(3, 32, 5, 2), conv_norm(32, 64, 3), nn.AvgPool2d(2), conv_norm(64, 128, 3),
                                  nn.AdaptiveMaxPool2d(3), nn.Flatten(), nn.Linear(1152, 128))

    def forward(self, x, near, far):
        a, b, c = (F.normalize(wide(self.body(image)), dim=1) for image in (x, near, far))
        contrast = F.cosine_embedding_loss(a, c, -torch.ones(a.shape[0], dtype=a.dtype), margin=0.1)
        scores = a @ b.T / 0.1
        return F.triplet_margin_loss(a, b, c, margin=1.0) + contrast + F.cross_entropy(scores, torch.arange(a.shape[0]))


@network("SGD", images=2, lr=0.005, momentum=0.9)
def siamese(draws):
    return Siamese(), tuple(draws.floats(4, 3, 105, 105) for _ in range(3))
