"""A generator of small pictures against a discriminator, both convolutional."""

import torch
import torch.nn as nn

NOISE, FEATURES = 16, 8


def weights_init(module):
    name = type(module).__name__
    if name.find("Conv") != -1:
        nn.init.normal_(module.weight, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(module.weight, 1.0, 0.02)
        nn.init.zeros_(module.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(NOISE, FEATURES * 2, 4, 1, 0, bias=False), nn.BatchNorm2d(FEATURES * 2), nn.ReLU(True),
            nn.ConvTranspose2d(FEATURES * 2, FEATURES, 4, 2, 1, bias=False), nn.BatchNorm2d(FEATURES), nn.ReLU(True),
            nn.ConvTranspose2d(FEATURES, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, FEATURES, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(FEATURES, FEATURES * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(FEATURES * 2), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(FEATURES * 2, 1, 4, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, x):
        return self.main(x).view(-1, 1).squeeze(1)


def stripes(count):
    """Pictures of 16 x 16 with stripes of a random direction and phase."""
    grid = torch.linspace(-3, 3, 16)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    angle, phase = torch.rand(2, count, 1, 1) * 6.28
    return torch.sin(2 * (x * torch.cos(angle) + y * torch.sin(angle)) + phase).unsqueeze(1)


def main():
    torch.manual_seed(5)
    generator, discriminator = Generator(), Discriminator()
    generator.apply(weights_init)
    discriminator.apply(weights_init)
    criterion = nn.BCELoss()
    fixed = torch.randn(8, NOISE, 1, 1)
    adam = {"lr": 0.0005, "betas": (0.5, 0.999)}
    optimizer_d = torch.optim.Adam(discriminator.parameters(), **adam)
    optimizer_g = torch.optim.Adam(generator.parameters(), **adam)
    for step in range(20):
        real = stripes(24)
        discriminator.zero_grad()
        on_real = criterion(discriminator(real), torch.ones(24))
        on_real.backward()
        fake = generator(torch.randn(24, NOISE, 1, 1))
        on_fake = criterion(discriminator(fake.detach()), torch.zeros(24))
        on_fake.backward()
        optimizer_d.step()
        generator.zero_grad()
        fooled = criterion(discriminator(fake), torch.ones(24))
        fooled.backward()
        optimizer_g.step()
        print(f"step {step} discriminator {on_real.item() + on_fake.item():.6f} generator {fooled.item():.6f}")
    with torch.no_grad():
        print(f"picture {generator(fixed).abs().mean().item():.6f}")


if __name__ == "__main__":
    main()
