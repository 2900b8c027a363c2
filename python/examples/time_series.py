"""Two LSTM cells learn sine waves in float64 by LBFGS, then go on alone."""

import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, width)
        self.lstm2 = nn.LSTMCell(width, width)
        self.linear = nn.Linear(width, 1)

    def forward(self, input, future=0):
        outputs = []
        rows, width = input.size(0), self.lstm1.hidden_size
        h1, c1, h2, c2 = (torch.zeros(rows, width, dtype=torch.double) for _ in range(4))
        for value in input.split(1, dim=1):
            h1, c1 = self.lstm1(value, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs += [output]
        return torch.cat(outputs, dim=1)


def main():
    torch.manual_seed(9)
    shift = torch.randint(-40, 40, (12, 1))
    waves = torch.sin((torch.arange(41).unsqueeze(0) + shift).double() / 5.0)
    data, target = waves[3:, :-1], waves[3:, 1:]
    test, test_target = waves[:3, :-1], waves[:3, 1:]
    model = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(model.parameters(), lr=0.8, max_iter=4)
    for step in range(4):

        def closure():
            optimizer.zero_grad()
            loss = criterion(model(data), target)
            print(f"step {step} loss {loss.item():.8f}")
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            predicted = model(test, future=20)
            print(f"step {step} test {criterion(predicted[:, :-20], test_target).item():.8f} last {predicted[0, -1].item():.6f}")


if __name__ == "__main__":
    main()
