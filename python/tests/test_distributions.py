"""Distributions: draws for a seed and densities as PyTorch 2.13 has them."""

import unittest

import sconce as torch
from sconce.distributions import (Bernoulli, Categorical, Exponential, Independent, Laplace, LogNormal, Normal, OneHotCategorical, Uniform,
                                  kl_divergence)

ALL = {
    "Normal": lambda: Normal(torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0])),
    "LogNormal": lambda: LogNormal(torch.tensor([0.5, -1.0]), torch.tensor([1.0, 0.5])),
    "Uniform": lambda: Uniform(torch.tensor([0.0, 1.0]), torch.tensor([2.0, 5.0])),
    "Exponential": lambda: Exponential(torch.tensor([0.5, 3.0])),
    "Laplace": lambda: Laplace(torch.tensor([0.5, -1.0]), torch.tensor([1.0, 2.0])),
    "Bernoulli": lambda: Bernoulli(logits=torch.tensor([0.5, -1.0])),
    "Categorical": lambda: Categorical(torch.tensor([[0.2, 0.3, 0.5], [1.0, 2.0, 1.0]])),
    "OneHot": lambda: OneHotCategorical(logits=torch.tensor([0.1, 0.7])),
    "Independent": lambda: Independent(Normal(torch.zeros(3), torch.ones(3)), 1),
}
RECORDED = {  # what PyTorch drew, its log_prob and entropy
    "Normal": [[2.040996, -1.586858, -1.678789, 0.136863], [-2.106273, -1.655136, -3.2925, -1.773643], [1.418939, 2.112086]],
    "LogNormal": [[7.698274, 0.317679, 0.1866, 0.488809], [-4.147269, 0.877873, -1.613711, 0.328436], [1.918939, -0.274209]],
    "Uniform": [[0.992513, 4.072887, 0.176955, 1.528122], [-0.693147, -1.386294, -0.693147, -1.386294], [0.693147, 1.386294]],
    "Exponential": [[7.016653, 0.410128, 1.230088, 0.84504], [-4.201473, -0.131772, -1.308191, -1.436506], [1.693147, -0.098612]],
    "Laplace": [[0.492485, 0.537654, -1.23186, -3.66315], [-0.700662, -2.155122, -2.425007, -2.717869], [1.693147, 2.386294]],
    "Bernoulli": [[1.0, 0.0, 1.0, 1.0], [-0.474077, -0.313262, -0.474077, -1.313262], [0.662847, 0.582203]],
    "Categorical": [[2, 1, 2, 2], [-0.693147, -0.693147, -0.693147, -1.386294], [1.029653, 1.039721]],
    "OneHot": [[0.0, 1.0, 0.0, 1.0], [-0.437488, -0.437488], [0.650094]],
    "Independent": [[1.540996, -0.293429, -2.178789, 0.568431, -1.084522, -1.398595], [-6.360762, -4.484502], [4.256815]],
}


def rows():
    for name, make in ALL.items():
        torch.manual_seed(0)
        d = make()
        drawn = d.sample((2,))
        yield name, [drawn.reshape(-1).tolist(), d.log_prob(drawn).reshape(-1).tolist(), d.entropy().reshape(-1).tolist()]


class Distributions(unittest.TestCase):
    def test_recorded(self):
        for name, found in rows():
            for got, wanted in zip(found, RECORDED[name]):
                self.assertEqual(len(got), len(wanted))
                for a, b in zip(got, wanted):
                    self.assertAlmostEqual(a, b, delta=2e-5 + 1e-5 * abs(b), msg=name)

    def test_gradients(self):
        scale = torch.tensor(2.0, requires_grad=True)
        torch.manual_seed(0)
        Normal(torch.tensor(1.0), scale).rsample((5,)).sum().backward()
        torch.manual_seed(0)
        self.assertAlmostEqual(scale.grad.item(), torch.empty(5).normal_().sum().item(), places=5)
        self.assertFalse(Normal(torch.tensor(1.0), scale).sample().requires_grad)

    def test_kl(self):
        self.assertAlmostEqual(kl_divergence(Normal(0.0, 1.0), Normal(1.0, 2.0)).item(), 0.4431472, places=5)
        self.assertAlmostEqual(kl_divergence(Categorical(torch.tensor([0.5, 0.5])), Categorical(torch.tensor([0.9, 0.1]))).item(), 0.5108256, places=5)
        with self.assertRaises(NotImplementedError):
            kl_divergence(Normal(0.0, 1.0), Uniform(0.0, 1.0))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "Expected parameter scale"):
            Normal(0.0, -1.0)
        with self.assertRaisesRegex(ValueError, "Either `probs` or `logits` must be specified, but not both"):
            Categorical()
        with self.assertRaisesRegex(ValueError, "to be within the support"):
            Bernoulli(torch.tensor(0.5)).log_prob(torch.tensor(2.0))
        self.assertEqual(repr(Normal(torch.tensor(0.0), torch.tensor(1.0))), "Normal(loc: 0.0, scale: 1.0)")
        self.assertEqual(tuple(Categorical(torch.ones(4, 3)).sample((2,)).shape), (2, 4))


if __name__ == "__main__":
    unittest.main()
