"""A GRU over words, trained by truncated backpropagation through time; weights of both ends are shared."""

import math

import torch
import torch.nn as nn

WORDS = "the a cat dog sees chases and small big bird sleeps sings . <eos>".split()
RULES = {"start": ["the", "a"], "noun": ["cat", "dog", "bird"], "verb": ["sees", "chases"], "rest": ["sleeps", "sings"]}


def sentence():
    def one(kind):
        options = RULES[kind]
        return options[torch.randint(len(options), (1,)).item()]

    words = [one("start"), "small" if torch.rand(1).item() < 0.5 else "big", one("noun")]
    words += [one("verb"), one("start"), one("noun")] if torch.rand(1).item() < 0.6 else [one("rest")]
    return words + [".", "<eos>"]


def batchify(ids, rows):
    usable = ids.size(0) // rows * rows
    return ids[:usable].view(rows, -1).t().contiguous()


class RNNModel(nn.Module):
    def __init__(self, tokens, width, layers, dropout=0.2, tie_weights=True):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(tokens, width)
        self.rnn = nn.GRU(width, width, layers, dropout=dropout)
        self.decoder = nn.Linear(width, tokens)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        self.layers, self.width = layers, width

    def forward(self, x, hidden):
        out, hidden = self.rnn(self.drop(self.encoder(x)), hidden)
        return torch.log_softmax(self.decoder(self.drop(out)).flatten(0, 1), dim=1), hidden

    def init_hidden(self, rows):
        weight = next(self.parameters())
        return weight.new_zeros(self.layers, rows, self.width)


def evaluate(model, data, criterion, length):
    model.eval()
    total, hidden = 0.0, model.init_hidden(data.size(1))
    with torch.no_grad():
        for i in range(0, data.size(0) - 1, length):
            size = min(length, len(data) - 1 - i)
            scores, hidden = model(data[i:i + size], hidden)
            total += size * criterion(scores, data[i + 1:i + 1 + size].view(-1)).item()
    return total / (len(data) - 1)


def main():
    torch.manual_seed(8)
    ids = torch.tensor([WORDS.index(w) for _ in range(220) for w in sentence()])
    split = int(0.9 * len(ids))
    train, valid, length = batchify(ids[:split], 10), batchify(ids[split:], 5), 12
    model, criterion = RNNModel(len(WORDS), 32, 2), nn.NLLLoss()
    rate, best = 5.0, None
    for epoch in range(4):
        model.train()
        hidden = model.init_hidden(train.size(1))
        for step, i in enumerate(range(0, train.size(0) - 1, length)):
            size = min(length, len(train) - 1 - i)
            hidden = hidden.detach()
            model.zero_grad()
            scores, hidden = model(train[i:i + size], hidden)
            loss = criterion(scores, train[i + 1:i + 1 + size].view(-1))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(p.grad, alpha=-rate)
            print(f"epoch {epoch} step {step} loss {loss.item():.6f} perplexity {math.exp(loss.item()):.5f}")
        found = evaluate(model, valid, criterion, length)
        print(f"epoch {epoch} valid {found:.6f}")
        if best is None or found < best:
            best = found
        else:
            rate /= 4.0


if __name__ == "__main__":
    main()
