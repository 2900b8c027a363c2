"""torch.func and checkpoints. All expectations hold for PyTorch 2.13, too."""

import unittest

import sconce as torch
from sconce import nn
from sconce.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap
from sconce.utils.checkpoint import checkpoint, checkpoint_sequential


def cube(x):
    return (x ** 3).sum()


X = torch.tensor([1.0, 2.0])


class Derivatives(unittest.TestCase):
    def test_grad(self):
        self.assertEqual(grad(cube)(X).tolist(), [3.0, 12.0])
        self.assertFalse(grad(cube)(X).requires_grad)
        gradient, value = grad_and_value(cube)(X)
        self.assertEqual((gradient.tolist(), value.item()), ([3.0, 12.0], 9.0))
        self.assertEqual(grad(lambda x: grad(cube)(x).sum())(X).tolist(), [6.0, 12.0])
        self.assertEqual([g.item() for g in grad(lambda a, b: a * b, argnums=(0, 1))(torch.tensor(2.0), torch.tensor(3.0))], [3.0, 2.0])
        found, aux = grad(lambda d: (d["a"] * 2, d["a"] * 5), has_aux=True)({"a": torch.tensor(1.0)})
        self.assertEqual((found["a"].item(), aux.item()), (2.0, 5.0))
        with torch.no_grad():
            self.assertEqual(grad(cube)(X).tolist(), [3.0, 12.0])
        with self.assertRaisesRegex(RuntimeError, "return a scalar tensor, got tensor with 1 dims"):
            grad(lambda x: x)(X)

    def test_outer_graph(self):
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        grad(cube)(x).sum().backward()
        self.assertEqual(x.grad.tolist(), [6.0, 12.0])
        w = torch.tensor(2.0, requires_grad=True)
        grad(lambda v: w * v * v)(torch.tensor(3.0)).backward()
        self.assertEqual(w.grad.item(), 6.0)

    def test_products(self):
        value, product = vjp(torch.sin, X)
        products = product(torch.ones(2))
        self.assertEqual((type(products), len(products)), (tuple, 1))
        self.assertTrue(torch.allclose(products[0], X.cos()))
        value, tangent = jvp(lambda a: (a * a, a.sum()), (X,), (torch.tensor([1.0, 10.0]),))
        self.assertEqual((tangent[0].tolist(), tangent[1].item()), ([2.0, 40.0], 11.0))

    def test_jacobians(self):
        self.assertEqual(jacrev(lambda x: x ** 2)(X).tolist(), [[2.0, 0.0], [0.0, 4.0]])
        self.assertEqual(jacfwd(lambda x: x ** 2)(X).tolist(), [[2.0, 0.0], [0.0, 4.0]])
        self.assertEqual(hessian(cube)(X).tolist(), [[6.0, 0.0], [0.0, 12.0]])
        a, b = jacrev(lambda p, q: p.sum() * q, argnums=(0, 1))(X, X)
        self.assertEqual((a.tolist(), b.tolist()), ([[1.0, 1.0], [2.0, 2.0]], [[3.0, 0.0], [0.0, 3.0]]))


class Maps(unittest.TestCase):
    def test_dims(self):
        m = torch.arange(6.0).view(2, 3)
        self.assertEqual(vmap(torch.dot)(m, m).tolist(), [5.0, 50.0])
        self.assertEqual(vmap(torch.sum, in_dims=1)(m).tolist(), [3.0, 5.0, 7.0])
        self.assertEqual(vmap(lambda a, b: a + b, in_dims=(0, None), out_dims=1)(m, torch.ones(3)).tolist(), [[1, 4], [2, 5], [3, 6]])
        self.assertEqual(vmap(lambda d: d["x"] * 2)({"x": torch.ones(2)}).tolist(), [2.0, 2.0])
        self.assertEqual(vmap(vmap(torch.neg))(m).tolist(), (-m).tolist())
        with self.assertRaises(ValueError):
            vmap(torch.dot)(torch.ones(2, 3), torch.ones(3, 3))
        with self.assertRaisesRegex(RuntimeError, "called random operation while in randomness error mode"):
            vmap(lambda x: x + torch.rand(()))(torch.ones(2))
        same = vmap(lambda x: x + torch.rand(()), randomness="same")(torch.zeros(3))
        self.assertEqual(len(set(same.tolist())), 1)
        self.assertEqual(len(set(vmap(lambda x: x + torch.rand(()), randomness="different")(torch.zeros(3)).tolist())), 3)

    def test_gradients_of_samples(self):
        torch.manual_seed(0)
        net = nn.Linear(3, 1)
        weights = {name: p.detach() for name, p in net.named_parameters()}
        x, y = torch.randn(4, 3), torch.randn(4, 1)

        def loss(w, a, b):
            return ((functional_call(net, w, (a.unsqueeze(0),)) - b) ** 2).mean()

        found = vmap(grad(loss), in_dims=(None, 0, 0))(weights, x, y)
        self.assertEqual(tuple(found["weight"].shape), (4, 1, 3))
        net(x).sub(y).pow(2).mean().backward()
        self.assertTrue(torch.allclose(found["weight"].mean(0), net.weight.grad, atol=1e-6))

    def test_parameters_and_buffers_apart(self):
        norm = nn.BatchNorm1d(2).eval()
        parts = ({"weight": torch.full((2,), 3.0)}, {"running_mean": torch.ones(2)})
        self.assertTrue(torch.allclose(functional_call(norm, parts, (torch.ones(1, 2),)), torch.zeros(1, 2)))
        with self.assertRaisesRegex(ValueError, "weight appears in multiple dictionaries"):
            functional_call(norm, (parts[0], parts[0]), (torch.ones(1, 2),))

    def test_ensembles(self):
        nets = [nn.Linear(2, 1) for _ in range(3)]
        parameters, buffers = stack_module_state(nets)
        out = vmap(lambda p, x: functional_call(nets[0], p, (x,)), in_dims=(0, None))(parameters, torch.ones(1, 2))
        self.assertEqual((tuple(parameters["weight"].shape), tuple(out.shape), buffers), ((3, 1, 2), (3, 1, 1), {}))


class Checkpoints(unittest.TestCase):
    def test_same_gradients(self):
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Tanh(), nn.Linear(3, 1))
        for reentrant in (False, True):
            x = torch.ones(5, 3, requires_grad=True)
            torch.manual_seed(1)
            layers(x).sum().backward()
            wanted, weights = x.grad.clone(), layers[0].weight.grad.clone()
            layers.zero_grad()
            x.grad = None
            torch.manual_seed(1)
            checkpoint(layers, x, use_reentrant=reentrant).sum().backward()
            self.assertTrue(torch.equal(x.grad, wanted) and torch.equal(layers[0].weight.grad, weights))
            layers.zero_grad()
        checkpoint(layers, torch.ones(5, 3), use_reentrant=False).sum().backward()
        self.assertIsNotNone(layers[0].weight.grad)
        torch.manual_seed(1)
        self.assertEqual(tuple(checkpoint_sequential(layers, 2, x, use_reentrant=False).shape), (5, 1))


if __name__ == "__main__":
    unittest.main()
