"""An LSTM reads a text letter by letter and writes on in its manner."""

import torch
import torch.nn as nn

TEXT = ("the quick brown fox jumps over the lazy dog while the other dog looks on. "
        "a fox that jumps is a quick fox, and a dog that sleeps is a lazy dog. ") * 4


class CharRNN(nn.Module):
    def __init__(self, letters, hidden=48, layers=2):
        super().__init__()
        self.embed = nn.Embedding(letters, 24)
        self.rnn = nn.LSTM(24, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Linear(hidden, letters)

    def forward(self, x, state=None):
        out, state = self.rnn(self.embed(x), state)
        return self.head(out), state


def batches(data, length, count):
    for _ in range(count):
        starts = torch.randint(0, len(data) - length - 1, (16,))
        yield (torch.stack([data[s:s + length] for s in starts]), torch.stack([data[s + 1:s + length + 1] for s in starts]))


@torch.no_grad()
def write(model, letters, start, count):
    model.eval()
    x, state, text = torch.tensor([[letters.index(start)]]), None, start
    for _ in range(count):
        scores, state = model(x, state)
        chosen = torch.multinomial(torch.softmax(scores[0, -1] / 0.8, dim=0), 1)
        text += letters[chosen.item()]
        x = chosen.view(1, 1)
    model.train()
    return text


def main():
    torch.manual_seed(2)
    letters = sorted(set(TEXT))
    data = torch.tensor([letters.index(c) for c in TEXT])
    model = CharRNN(len(letters))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    for step, (x, y) in enumerate(batches(data, 32, 60)):
        scores, _ = model(x)
        loss = criterion(scores.reshape(-1, len(letters)), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f} norm {norm.item():.6f}")
    print("length", len(write(model, letters, "t", 40)))


if __name__ == "__main__":
    main()
