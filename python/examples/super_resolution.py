"""Sub-pixel convolution makes pictures twice as large and sharper than interpolation does."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.init as init
from torch.utils.data import DataLoader, Dataset, random_split


class Blobs(Dataset):
    """Smooth random pictures and their halves in size."""

    def __init__(self, count, size=16):
        y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
        centres = torch.rand(count, 5, 2, 1, 1) * 2 - 1
        widths = 0.02 + 0.15 * torch.rand(count, 5, 1, 1)
        spots = torch.exp(-((x - centres[:, :, 0]) ** 2 + (y - centres[:, :, 1]) ** 2) / widths)
        self.large = spots.sum(1, keepdim=True).clamp(0, 1)
        self.small = F.interpolate(self.large, scale_factor=0.5, mode="bilinear", align_corners=False)

    def __len__(self):
        return len(self.large)

    def __getitem__(self, index):
        return self.small[index], self.large[index]


class Net(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 16, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(16, factor ** 2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(factor)
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))


def main():
    torch.manual_seed(10)
    trained, tested = random_split(Blobs(120), [96, 24])
    loader, test_loader = DataLoader(trained, batch_size=16, shuffle=True), DataLoader(tested, batch_size=12)
    model, criterion = Net(2), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(4):
        for step, (small, large) in enumerate(loader):
            optimizer.zero_grad()
            loss = criterion(model(small), large)
            loss.backward()
            optimizer.step()
            print(f"epoch {epoch} step {step} loss {loss.item():.7f}")
        with torch.no_grad():
            ratio = sum(10 * math.log10(1 / criterion(model(a), b).item()) for a, b in test_loader) / len(test_loader)
        print(f"epoch {epoch} ratio {ratio:.5f}")


if __name__ == "__main__":
    main()
