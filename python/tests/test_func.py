"""torch.func and checkpoints. All expectations hold for PyTorch 2.13, too."""

import collections
import copy
import unittest
import warnings

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

    def test_nesting_of_jacobians(self):
        a, b = torch.tensor(1.0), torch.tensor(2.0)
        for jac in (jacfwd, jacrev):
            both = jac(lambda x, y: (2 * x + 3 * y, 4 * x + 5 * y), argnums=(0, 1))(a, b)
            self.assertEqual([[v.item() for v in row] for row in both], [[2, 3], [4, 5]])
            self.assertEqual([v.item() for v in jac(lambda x, y: (2 * x + 3 * y, 4 * x + 5 * y), argnums=1)(a, b)], [3, 5])
            tree = jac(lambda x, y: {"u": 2 * x + 3 * y, "v": (x * y, [x])}, argnums=(0, 1))(a, b)
            self.assertEqual([v.item() for v in tree["u"] + tree["v"][0] + tree["v"][1][0]], [2, 3, 2, 1, 1, 0])
            of_dict = jac(lambda d, t: d["p"] * t[1], argnums=(0, 1))({"p": X, "q": a}, (a, X))
            self.assertEqual(of_dict[0]["p"].tolist(), [[1, 0], [0, 2]])
            self.assertEqual(of_dict[0]["q"].tolist(), [0, 0])
            self.assertEqual(of_dict[1][1].tolist(), [[1, 0], [0, 2]])
            value, aux = jac(lambda x: (x * x, (x, 5)), has_aux=True)(X)
            self.assertEqual((value.tolist(), aux[0].tolist(), aux[0].requires_grad, aux[1]), ([[2, 0], [0, 4]], [1, 2], False, 5))
            self.assertEqual(jac(lambda x: x[:0])(X).shape, (0, 2))
            with self.assertRaisesRegex(RuntimeError, "argnums elements must be unique"):
                jac(lambda x, y: x, argnums=(0, -2))(a, b)
            with self.assertRaisesRegex(RuntimeError, "only Tensors of floating point dtype can require gradients"):
                jac(lambda x: x * 2)(torch.tensor([1, 2]))
            with self.assertRaisesRegex(RuntimeError, "Expected all inputs to be real"):
                jac(lambda x: x.abs())(torch.tensor([1j]))
        with self.assertRaisesRegex(RuntimeError, "random operation"):
            jacfwd(lambda x: x * torch.rand(2))(X)
        torch.manual_seed(0)
        drawn = jacfwd(lambda x: x * torch.rand(2), randomness="same")(X)
        torch.manual_seed(0)
        self.assertTrue(torch.equal(drawn, torch.diag(torch.rand(2))))

    def test_inference_mode(self):
        with torch.inference_mode():
            x, w = torch.tensor(2.0), torch.tensor(3.0)
            results = [grad(lambda x: x ** 3)(x), grad(lambda x: x ** 2 * w)(x), vjp(lambda x: x ** 3, x)[1](torch.tensor(1.0))[0],
                       jvp(lambda x: x ** 3, (x,), (torch.tensor(1.0),))[1], jacrev(lambda x: x ** 3)(x), jacfwd(lambda x: x ** 3)(x),
                       hessian(lambda x: x ** 3)(x), vmap(grad(lambda x: x ** 3))(x.expand(2))[0],
                       grad(lambda x: grad(lambda z: z ** 3 * w)(x))(x) / 3]
            self.assertTrue(torch.is_inference_mode_enabled())
            self.assertEqual([r.item() for r in results], [12.0] * 9)
            self.assertFalse(results[0].is_inference())
            modes = []
            grad(lambda x: (modes.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled())), x * x)[1])(x)
            self.assertEqual(modes, [(False, True)])

            def without(x):
                with torch.no_grad():
                    c = x ** 2
                with torch.inference_mode():
                    d = x ** 2
                return x ** 3 - c - d

            self.assertEqual(grad(without)(x).item(), 12.0)
        compiled = torch.compile(lambda x: (grad(lambda v: v ** 3)(x), vjp(lambda v: v ** 3, x)[1](x)[0]))
        for mode in (torch.inference_mode, torch.no_grad, torch.inference_mode):
            with mode():
                self.assertEqual([r.item() for r in compiled(torch.tensor(2.0))], [12.0, 24.0])
        self.assertEqual(grad(lambda v: v ** 3 * w)(x).item(), 36.0)  # inference tensors outside of the mode
        with self.assertRaisesRegex(RuntimeError, "Inference tensors cannot be saved for backward"):
            torch.tensor(1.0, requires_grad=True) * w

    def test_results_leave_their_level(self):
        _, (value, aux) = grad_and_value(lambda x: ((x * x).sum(), x), has_aux=True)(X)
        self.assertFalse(value.requires_grad or aux.requires_grad)
        self.assertFalse(vjp(lambda x: x, X)[0].requires_grad)
        self.assertFalse(jvp(lambda x: (x, x * 2), (X,), (X,))[0][0].requires_grad)
        with self.assertRaisesRegex(RuntimeError, "only for real scalar outputs"):
            grad(lambda x: x.sum())(torch.tensor([1j]))
        with self.assertRaisesRegex(RuntimeError, "must be floating-point or complex"):
            vjp(lambda x: x > 1, X)


class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1))
        self.w = nn.Parameter(torch.ones(1))
        self.k = 5

    def forward(self, x):
        self.n = self.n + 1
        return x * self.w + getattr(self, "extra", 0)


# Modules whose weights are used otherwise than by one attribute each: their inputs.
MODULES = {
    "lstm": (lambda: nn.LSTM(3, 4, 2, bidirectional=True), (5, 2, 3)),
    "gru": (lambda: nn.GRU(3, 4, batch_first=True), (2, 5, 3)),
    "rnn": (lambda: nn.RNN(3, 4, 2, bias=False), (5, 2, 3)),
    "projected": (lambda: nn.LSTM(3, 4, proj_size=2), (5, 2, 3)),
    "cell": (lambda: nn.LSTMCell(3, 4), (2, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (5, 2, 4)),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 2, enable_nested_tensor=False), (5, 2, 4)),
    "conv": (lambda: nn.Sequential(nn.Conv1d(3, 4, 2), nn.BatchNorm1d(4), nn.PReLU(4)), (2, 3, 5)),
    "weight_norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), (2, 3)),
    "spectral_norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 4)).eval(), (2, 3)),
    "old_weight_norm": (lambda: nn.utils.weight_norm(nn.Linear(3, 4)), (2, 3)),
    "old_spectral_norm": (lambda: nn.utils.spectral_norm(nn.Linear(3, 4)).eval(), (2, 3)),
    "norm_of_lstm": (lambda: nn.utils.parametrizations.weight_norm(nn.LSTM(3, 4), "weight_hh_l0"), (5, 2, 3)),
    "old_norm_of_lstm": (lambda: nn.utils.weight_norm(nn.LSTM(3, 4), "weight_hh_l0"), (5, 2, 3)),
    "bilinear": (lambda: nn.Bilinear(3, 3, 2), (2, 3)),
}


def first_tensor(result):
    return result if isinstance(result, torch.Tensor) else first_tensor(result[0])


class Stateless(unittest.TestCase):
    def test_given_weights_are_used(self):
        for name, (make, shape) in MODULES.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                torch.manual_seed(0)
                module, other = make(), make()
                args = (torch.randn(shape),) * (2 if name == "bilinear" else 1)
                given = {key: value.detach().clone().requires_grad_(value.is_floating_point() and "." not in key or "running" not in key)
                         if value.is_floating_point() else value.clone() for key, value in other.state_dict(keep_vars=True).items()}
                before = {key: value.clone() for key, value in module.state_dict().items()}
                expected = first_tensor(other(*args))
                expected.square().sum().backward()
                found = first_tensor(functional_call(module, given, args))
                found.square().sum().backward()
                self.assertTrue(torch.equal(found, expected))
                for key, parameter in other.named_parameters():
                    self.assertTrue(torch.equal(given[key].grad, parameter.grad), key)
                for key, value in module.state_dict().items():
                    self.assertTrue(torch.equal(value, before[key]), key)
                self.assertFalse(torch.equal(first_tensor(module(*args)), expected))

    def test_recurrent_weights_follow_the_module(self):
        torch.manual_seed(0)
        x, other = torch.randn(5, 1, 3), nn.GRU(3, 4)
        expected = other(x)[0]
        assigned, loaded, converted = nn.GRU(3, 4), nn.GRU(3, 4), nn.GRU(3, 4, device="meta")
        for name, parameter in other.named_parameters():
            setattr(assigned, name, nn.Parameter(parameter.detach()))
        loaded.load_state_dict(other.state_dict(), assign=True)
        converted.to_empty(device="cpu").load_state_dict(other.state_dict())
        for module in (assigned, loaded, converted, copy.deepcopy(loaded), torch.jit.script(assigned), torch.jit.trace(loaded, (x,))):
            self.assertTrue(torch.equal(module(x)[0], expected))
        for weight, parameter in zip(loaded._flat_weights, loaded.parameters()):
            self.assertIs(weight, parameter)
        listed = [torch.zeros_like(w) for w in loaded._flat_weights]
        loaded._flat_weights = listed
        self.assertIs(loaded._flat_weights, listed)
        self.assertEqual(loaded(x)[0].abs().max().item(), 0)

    def test_assigned_buffers_come_back(self):
        module = Stateful()
        given = {"n": torch.tensor([5.0]), "extra": torch.tensor([7.0])}
        self.assertEqual(functional_call(module, given, torch.ones(1)).item(), 8)
        self.assertEqual((given["n"].item(), module.n.item(), hasattr(module, "extra")), (6, 0, False))
        self.assertEqual(functional_call(module, {"w": torch.tensor([3.0])}, torch.ones(1)).item(), 3)
        self.assertEqual(module.n.item(), 1)
        for key, kind, text in (("k", TypeError, "attribute `k`: 5 is not an instance of torch.Tensor"), ("", KeyError, "be empty string"),
                                ("a.b", AttributeError, "Stateful has no attribute `a`"), ("k.b", TypeError, "not an instance of torch.nn.Module")):
            with self.assertRaisesRegex(kind, text):
                functional_call(module, {key: torch.ones(1)}, torch.ones(1))
        with self.assertRaisesRegex(TypeError, "3 is not an instance of torch.Tensor"):
            functional_call(module, {"w": 3}, torch.ones(1))
        self.assertEqual((module.w.item(), module.k), (1, 5))
        with self.assertRaisesRegex(RuntimeError, r"Unexpected key\(s\): 'z'.\s+Missing key\(s\): 'n', 'w'"):
            functional_call(module, {"z": torch.ones(1)}, torch.ones(1), strict=True)
        with self.assertRaisesRegex(RuntimeError, "can't be used with Jitted modules"):
            functional_call(torch.jit.script(nn.Linear(1, 1)), {}, torch.ones(1))

    def test_ties(self):
        module = Stateful()
        module.tied = module.w
        self.assertEqual(functional_call(module, {"tied": torch.tensor([4.0])}, torch.ones(1)).item(), 4)
        self.assertEqual(functional_call(module, {"tied": torch.tensor([4.0])}, torch.ones(1), tie_weights=False).item(), 1)
        with self.assertRaisesRegex(ValueError, r"multiple values for keys \['tied', 'w'\]"):
            functional_call(module, {"tied": torch.ones(1), "w": torch.zeros(1)}, torch.ones(1))


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

    def test_aliases(self):
        x = torch.arange(6.0).view(2, 3)
        whole = vmap(lambda t: t, in_dims=1, out_dims=1)(x)
        self.assertEqual((whole.data_ptr(), tuple(whole.shape)), (x.data_ptr(), (2, 3)))
        self.assertEqual(vmap(torch.Tensor.neg_)(x).data_ptr(), x.data_ptr())
        self.assertEqual(x[1].tolist(), [-3, -4, -5])
        self.assertEqual(vmap(lambda t: (t, torch.ones(2)), out_dims=(0, None))(x)[1].tolist(), [1, 1])
        with self.assertRaisesRegex(ValueError, "can not return a BatchedTensor when out_dim is None"):
            vmap(lambda t: t, out_dims=None)(x)
        queue = torch.utils._pytree.tree_map(lambda v: v + 1, collections.deque([1, (2,)], 5))
        self.assertEqual((list(queue), queue.maxlen), ([2, (3,)], 5))

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
        with self.assertRaisesRegex(ValueError, r"\['weight'\] appeared in multiple dictionaries"):
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
