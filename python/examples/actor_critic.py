"""Actor-critic on a pole that is balanced on a cart; the cart is computed here."""

import math
from collections import namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

SavedAction = namedtuple("SavedAction", ["log_prob", "value"])


class CartPole:
    """A pole of one metre on a cart that is pushed to the left or to the right."""

    def reset(self):
        self.state = ((torch.rand(4) - 0.5) * 0.1).tolist()
        return self.state

    def step(self, action):
        x, v, angle, turning = self.state
        force = 10.0 if action == 1 else -10.0
        push = (force + 0.05 * turning ** 2 * math.sin(angle)) / 1.1
        falling = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4.0 / 3.0 - 0.1 * math.cos(angle) ** 2 / 1.1))
        gain = push - 0.05 * falling * math.cos(angle) / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * gain, angle + 0.02 * turning, turning + 0.02 * falling]
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return self.state, 1.0, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(4, 64)
        self.action_head = nn.Linear(64, 2)
        self.value_head = nn.Linear(64, 1)
        self.saved, self.rewards = [], []

    def forward(self, x):
        x = F.relu(self.affine(x))
        return F.softmax(self.action_head(x), dim=-1), self.value_head(x)

    def act(self, state):
        probabilities, value = self(torch.tensor(state))
        chosen = Categorical(probabilities)
        action = chosen.sample()
        self.saved.append(SavedAction(chosen.log_prob(action), value))
        return action.item()


def learn(model, optimizer):
    returns, value = [], 0.0
    for reward in model.rewards[::-1]:
        value = reward + 0.99 * value
        returns.insert(0, value)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_losses, value_losses = [], []
    for (log_prob, value), wanted in zip(model.saved, returns):
        policy_losses.append(-log_prob * (wanted - value.item()))
        value_losses.append(F.smooth_l1_loss(value, wanted.view(1)))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    del model.rewards[:], model.saved[:]
    return loss.item()


def main():
    torch.manual_seed(7)
    env, model = CartPole(), Policy()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    running = 10.0
    for episode in range(25):
        state = env.reset()
        for _ in range(200):
            state, reward, done = env.step(model.act(state))
            model.rewards.append(reward)
            if done:
                break
        steps = len(model.rewards)
        running = 0.05 * steps + 0.95 * running
        print(f"episode {episode} length {steps} loss {learn(model, optimizer):.5f} average {running:.3f}")


if __name__ == "__main__":
    main()
