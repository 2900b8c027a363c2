"""A variational autoencoder of small pictures of rings."""

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(144, 64)
        self.fc21 = nn.Linear(64, 4)
        self.fc22 = nn.Linear(64, 4)
        self.fc3 = nn.Linear(4, 64)
        self.fc4 = nn.Linear(64, 144)

    def encode(self, x):
        h = F.relu(self.fc1(x))
        return self.fc21(h), self.fc22(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 144))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon, x, mu, logvar):
    likelihood = F.binary_cross_entropy(recon, x.view(-1, 144), reduction="sum")
    divergence = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return likelihood + divergence


def rings(count):
    y, x = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
    centre = torch.rand(count, 2, 1, 1) - 0.5
    radius = 0.3 + 0.4 * torch.rand(count, 1, 1)
    distance = ((x - centre[:, 0]) ** 2 + (y - centre[:, 1]) ** 2).sqrt()
    return torch.sigmoid((0.12 - (distance - radius).abs()) * 30).unsqueeze(1)


def main():
    torch.manual_seed(4)
    loader = torch.utils.data.DataLoader(rings(512), batch_size=64, shuffle=True)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        total = 0.0
        for step, pictures in enumerate(loader):
            optimizer.zero_grad()
            recon, mu, logvar = model(pictures)
            loss = loss_function(recon, pictures, mu, logvar)
            loss.backward()
            total += loss.item()
            optimizer.step()
            print(f"epoch {epoch} step {step} loss {loss.item() / len(pictures):.6f}")
        print(f"epoch {epoch} average {total / len(loader.dataset):.6f}")
    with torch.no_grad():
        print(f"sample mean {model.decode(torch.randn(16, 4)).mean().item():.6f}")


if __name__ == "__main__":
    main()
