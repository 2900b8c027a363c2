"""A convolutional net learns to tell ten noisy patterns apart, as MNIST programs do."""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.norm = nn.BatchNorm2d(16)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(16 * 5 * 5, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.norm(self.conv2(x))), 2)
        x = self.dropout(torch.flatten(x, 1))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def patterns(count, prototypes):
    labels = torch.randint(0, 10, (count,))
    return TensorDataset((prototypes[labels] + 0.6 * torch.randn(count, 1, 12, 12)).clamp(-1, 2), labels)


def train(model, loader, optimizer, epoch):
    model.train()
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
        print(f"epoch {epoch} step {step} loss {loss.item():.6f}")


@torch.no_grad()
def test(model, loader):
    model.eval()
    loss, correct = 0.0, 0
    for images, labels in loader:
        scores = model(images)
        loss += F.nll_loss(scores, labels, reduction="sum").item()
        correct += scores.argmax(dim=1, keepdim=True).eq(labels.view_as(scores.argmax(dim=1, keepdim=True))).sum().item()
    print(f"test loss {loss / len(loader.dataset):.6f} correct {correct}")


def main():
    torch.manual_seed(1)
    prototypes = (torch.rand(10, 1, 12, 12) > 0.6).float()
    trained, tested = patterns(480, prototypes), patterns(200, prototypes)
    model = Net()
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    train_loader = DataLoader(trained, batch_size=48, shuffle=True)
    test_loader = DataLoader(tested, batch_size=100)
    for epoch in range(3):
        train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
        scheduler.step()
        print(f"rate {scheduler.get_last_lr()[0]:.6f}")


if __name__ == "__main__":
    main()
