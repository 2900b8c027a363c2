"""Curves fitted by LBFGS with a strong-Wolfe line search: a sum of Gaussians, and Rosenbrock's valley."""

import torch


def gaussians(x, height, centre, width):
    return (height * torch.exp(-((x.unsqueeze(1) - centre) / width) ** 2)).sum(1)


def fit():
    x = torch.linspace(-4, 4, 120, dtype=torch.float64)
    truth = [torch.tensor(v, dtype=torch.float64) for v in ([1.0, 0.7, -0.4], [-1.5, 0.5, 2.0], [0.6, 1.1, 0.8])]
    noisy = gaussians(x, *truth) + 0.01 * torch.randn(120, dtype=torch.float64)
    parameters = [torch.tensor(v, dtype=torch.float64, requires_grad=True)
                  for v in ([0.5, 0.5, -0.1], [-1.0, 0.0, 1.5], [1.0, 1.0, 1.0])]
    optimizer = torch.optim.LBFGS(parameters, max_iter=8, history_size=10, line_search_fn="strong_wolfe")
    for step in range(8):

        def closure():
            optimizer.zero_grad()
            loss = ((gaussians(x, *parameters) - noisy) ** 2).mean()
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        print(f"fit {step} loss {loss.item():.8f}")
    print("centres", " ".join(f"{v:.5f}" for v in parameters[1].tolist()))


def rosenbrock():
    point = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([point], lr=1, max_iter=5, line_search_fn="strong_wolfe")
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        x, y = point
        loss = (1 - x) ** 2 + 100 * (y - x ** 2) ** 2
        loss.backward()
        return loss

    for step in range(10):
        loss = optimizer.step(closure)
        print(f"valley {step} loss {loss.item():.8f} calls {calls}")
    print(f"end {point[0].item():.6f} {point[1].item():.6f}")


def main():
    torch.manual_seed(11)
    fit()
    rosenbrock()


if __name__ == "__main__":
    main()
