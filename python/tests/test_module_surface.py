"""nn.Module's hooks, state dicts and messages, nn.utils, parametrisations, lazy modules. All expectations hold for PyTorch 2.13, too."""

import collections
import copy
import pickle
import unittest
import warnings

import sconce as torch
from sconce import nn
from sconce.nn.utils import parametrizations, parametrize, rnn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([2.0]))
        self.register_buffer("offset", torch.tensor([1.0]))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x, *, twice=False):
        return x * self.weight * (2 if twice else 1) + self.offset


class Positive(nn.Module):
    def forward(self, x):
        return x.exp()

    def right_inverse(self, x):
        return x.log()


class Pick(nn.Module):
    def forward(self, x, y):
        return x * 2


class Hooks(unittest.TestCase):
    def test_forward(self):
        m, seen = Scale(), []
        m.register_forward_pre_hook(lambda mod, args: seen.append("a"))
        m.register_forward_pre_hook(lambda mod, args: (args[0] + 1,), prepend=True)
        m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"twice": True}), with_kwargs=True)
        h = m.register_forward_hook(lambda mod, args, kwargs, out: seen.append((args[0].item(), kwargs["twice"], out.item())), with_kwargs=True)
        self.assertEqual(m(torch.tensor([1.0])).item(), 9)
        self.assertEqual(seen, ["a", (2.0, True, 9.0)])
        h.remove()
        m.register_forward_hook(lambda mod, args, out: -out)
        with m.register_forward_hook(lambda mod, args, out: out * 10, prepend=True):
            self.assertEqual(m(torch.tensor([1.0])).item(), -90)
        self.assertEqual(m(torch.tensor([1.0])).item(), -9)

    def test_always_called(self):
        class Fails(nn.Module):
            def forward(self, x):
                raise KeyError("inside")

        m, seen = Fails(), []
        m.register_forward_hook(lambda mod, args, out: seen.append(out), always_call=True)
        m.register_forward_hook(lambda mod, args, out: seen.append("never"))
        with self.assertRaises(KeyError):
            m(1)
        self.assertEqual(seen, [None])

    def test_bad_result(self):
        m = Scale()
        m.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
        with self.assertRaisesRegex(RuntimeError, r"forward pre-hook must return None or a tuple of \(new_args, new_kwargs\), but got 3"):
            m(torch.ones(1))

    def test_backward(self):
        m, seen = nn.Linear(2, 2, bias=False), []
        nn.init.ones_(m.weight)
        m.register_full_backward_pre_hook(lambda mod, grad: (grad[0] * 2,))
        m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi[0].tolist(), go[0].tolist())))
        m.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
        x = torch.ones(1, 2, requires_grad=True)
        m(x).sum().backward()
        self.assertEqual(seen, [([[4.0, 4.0]], [[2.0, 2.0]])])
        self.assertEqual(x.grad.tolist(), [[40.0, 40.0]])
        self.assertEqual(m.weight.grad.tolist(), [[2.0, 2.0], [2.0, 2.0]])

    def test_backward_through_containers(self):
        pair = collections.namedtuple("pair", "a b")

        class Pair(nn.Module):
            def forward(self, x, y):
                self.flags = x.requires_grad, y.requires_grad
                return pair(x * y, y)

        class Listed(nn.Module):
            def forward(self, x):
                return [x * 2]

        m, seen = Pair(), []
        m.register_full_backward_hook(lambda module, given, produced: seen.append((given, produced)))
        out = m(torch.ones(2, requires_grad=True), torch.ones(2))
        self.assertEqual((type(out), out.b.requires_grad, m.flags), (pair, False, (True, False)))
        out.a.sum().backward()
        self.assertEqual((seen[0][1][0].tolist(), seen[0][1][1]), ([1, 1], None))
        listed = Listed()
        listed.register_full_backward_hook(lambda *args: seen.append(args))
        listed(torch.ones(2, requires_grad=True))[0].sum().backward()
        self.assertEqual(len(seen), 1)  # gradients did not come through a tensor that the hook could see

    def test_backward_without_input_gradients(self):
        m, seen = nn.Linear(2, 1), []
        m.register_full_backward_hook(lambda mod, gi, go: seen.append((gi, go[0].item())))
        m.register_full_backward_hook(lambda mod, gi, go: gi)
        m(torch.ones(1, 2)).sum().backward()
        self.assertEqual(seen, [((None,), 1.0)])
        unused, first = torch.ones(2, requires_grad=True), Pick()
        first.register_full_backward_pre_hook(lambda mod, go: None)
        first(torch.ones(2, requires_grad=True), unused).sum().backward()
        self.assertEqual(unused.grad.tolist(), [0, 0])

    def test_instance_forward_and_call(self):
        m = Scale()
        m.forward = lambda x: x + 100
        self.assertEqual(m(torch.tensor([1.0])).item(), 101)

        class Called(Scale):
            def __call__(self, x):
                return super().__call__(x) * 1000

        self.assertEqual(Called()(torch.tensor([1.0])).item(), 3000)
        Called.__call__ = lambda self, x: "replaced"
        self.assertEqual(Called()(1), "replaced")

    def test_global_hooks(self):
        seen = []
        with nn.modules.module.register_module_forward_hook(lambda mod, args, out: seen.append(type(mod).__name__)):
            nn.Sequential(nn.ReLU(), nn.Tanh())(torch.ones(1))
        nn.ReLU()(torch.ones(1))
        self.assertEqual(seen, ["ReLU", "Tanh", "Sequential"])


class Attributes(unittest.TestCase):
    def test_messages(self):
        m = Scale()
        for action, kind, text in (
                (lambda: m.register_parameter("a.b", None), KeyError, r'parameter name can.*t contain "\."'),
                (lambda: m.register_parameter("", None), KeyError, r'parameter name can.*t be empty string ""'),
                (lambda: m.register_parameter("forward", None), KeyError, "attribute 'forward' already exists"),
                (lambda: m.register_parameter("p", torch.ones(1)), TypeError,
                 r"cannot assign 'torch.FloatTensor' object to parameter 'p' \(torch.nn.Parameter or None required\)"),
                (lambda: m.register_buffer("b", 3), TypeError, r"cannot assign 'int' object to buffer 'b' \(torch Tensor or None required\)"),
                (lambda: m.register_buffer(3, None), TypeError, "buffer name should be a string. Got int"),
                (lambda: m.add_module("m", 3), TypeError, "int is not a Module subclass"),
                (lambda: setattr(m, "weight", torch.ones(1)), TypeError,
                 r"cannot assign 'torch.FloatTensor' as parameter 'weight' \(torch.nn.Parameter or None expected\)"),
                (lambda: setattr(m, "offset", 3), TypeError, "cannot assign 'int' as buffer 'offset'"),
                (lambda: m.nothing, AttributeError, "'Scale' object has no attribute 'nothing'"),
                (lambda: m.get_submodule("x.y"), AttributeError, "Scale has no attribute `x`"),
                (lambda: m.get_parameter("offset"), AttributeError, "`offset` is not an nn.Parameter"),
                (lambda: m.get_buffer("weight"), AttributeError, "`weight` is not a buffer"),
                (lambda: m.to(torch.int64), TypeError, "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64"),
                (lambda: m.train(1), ValueError, "training mode is expected to be boolean"),
                (lambda: nn.Module()(1), NotImplementedError, r'Module \[Module\] is missing the required "forward" function')):
            with self.subTest(text=text), self.assertRaisesRegex(kind, text):
                action()

    def test_user_getattr(self):
        class Wrapper(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner = inner

            def __getattr__(self, name):
                try:
                    return super().__getattr__(name)
                except AttributeError:
                    return getattr(self.inner, name)

        w = Wrapper(Scale())
        self.assertEqual(w.weight.item(), 2)
        self.assertIsInstance(w.inner, Scale)
        with self.assertRaises(AttributeError):
            w.nothing

    def test_replacing(self):
        m = Scale()
        m.weight = None
        self.assertEqual(list(m.parameters()), [])
        m.weight = nn.Parameter(torch.ones(3))
        del m.weight
        self.assertFalse(hasattr(m, "weight"))
        m.child = nn.ReLU()
        m.child = nn.Parameter(torch.ones(1))
        self.assertEqual([n for n, _ in m.named_parameters()], ["child"])
        self.assertEqual(list(m.named_children()), [])
        m.extra = nn.Buffer(torch.ones(2), persistent=False)
        self.assertEqual([n for n, _ in m.named_buffers()], ["offset", "scratch", "extra"])
        self.assertNotIn("extra", m.state_dict())

    def test_property_errors_name_the_attribute(self):
        class Broken(nn.Module):
            @property
            def size(self):
                return self.missing_thing

        with self.assertRaisesRegex(AttributeError, "has no attribute"):
            Broken().size

    def test_copies(self):
        m = nn.Sequential(Scale(), nn.Linear(1, 1))
        m.register_forward_hook(print)
        twin = copy.deepcopy(m)
        twin[0].weight.data.fill_(5)
        self.assertEqual((m[0].weight.item(), twin[0].weight.item(), len(twin._forward_hooks)), (2, 5, 1))
        again = pickle.loads(pickle.dumps(nn.Linear(2, 3)))
        self.assertEqual(tuple(again(torch.ones(1, 2)).shape), (1, 3))

    def test_set_submodule(self):
        m = nn.Sequential(nn.Sequential(nn.ReLU()))
        m.set_submodule("0.0", nn.Tanh())
        self.assertIsInstance(m.get_submodule("0.0"), nn.Tanh)


class State(unittest.TestCase):
    def test_strict_message(self):
        m = nn.Sequential(nn.Linear(1, 2))
        state = m.state_dict()
        state["0.more"] = torch.ones(1)
        del state["0.bias"]
        state["0.weight"] = torch.ones(3, 3)
        with self.assertRaises(RuntimeError) as caught:
            m.load_state_dict(state)
        self.assertEqual(str(caught.exception), 'Error(s) in loading state_dict for Sequential:\n\tMissing key(s) in state_dict: "0.bias". \n'
                         '\tUnexpected key(s) in state_dict: "0.more". \n\tsize mismatch for 0.weight: copying a param with shape '
                         "torch.Size([3, 3]) from checkpoint, the shape in current model is torch.Size([2, 1]).")
        with self.assertRaisesRegex(TypeError, "Expected state_dict to be dict-like, got <class 'int'>."):
            m.load_state_dict(3)

    def test_assign_and_keep(self):
        m = nn.Linear(1, 1)
        weight = torch.full((1, 1), 7.0)
        m.load_state_dict({"weight": weight, "bias": torch.zeros(1)}, assign=True)
        self.assertEqual(m.weight.data_ptr(), weight.data_ptr())
        self.assertIsInstance(m.weight, nn.Parameter)
        self.assertTrue(m.state_dict(keep_vars=True)["weight"].requires_grad)
        self.assertFalse(m.state_dict()["weight"].requires_grad)
        self.assertEqual(m.state_dict()._metadata[""], {"version": 1})

    def test_scalars(self):
        m = nn.Module()
        m.t = nn.Parameter(torch.tensor(0.0))
        m.load_state_dict({"t": torch.tensor([3.0])})
        self.assertEqual(m.t.item(), 3)
        with self.assertRaisesRegex(RuntimeError, r"shape torch.Size\(\[2\]\) from checkpoint"):
            m.load_state_dict({"t": torch.tensor([1.0, 2.0])})

    def test_hooks_and_extra_state(self):
        class Extra(Scale):
            count = 0

            def get_extra_state(self):
                return {"count": self.count}

            def set_extra_state(self, state):
                self.count = state["count"]

        a, b, seen = Extra(), Extra(), []
        a.count = 4
        a.register_state_dict_pre_hook(lambda mod, prefix, keep: seen.append("pre"))
        a.register_state_dict_post_hook(lambda mod, state, prefix, meta: state.update(more=1))
        state = a.state_dict()
        self.assertEqual((seen, list(state)), (["pre"], ["weight", "offset", "_extra_state", "more"]))
        b.register_load_state_dict_pre_hook(lambda mod, state, *others: state.pop("more"))
        b.register_load_state_dict_post_hook(lambda mod, keys: seen.append(tuple(map(len, keys))))
        b.load_state_dict(state)
        self.assertEqual((b.count, seen[-1]), (4, (0, 0)))


class Utils(unittest.TestCase):
    def test_clipping(self):
        p = [torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)]
        p[0].grad, p[1].grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
        self.assertAlmostEqual(nn.utils.clip_grad_norm_(p, 1.0).item(), 5.0, places=6)
        self.assertAlmostEqual(p[1].grad.item(), 0.8, places=5)
        nn.utils.clip_grad_value_(p, 0.5)
        self.assertEqual(p[0].grad.tolist(), [0.5, 0.0])
        p[0].grad = torch.tensor([float("inf"), 0.0])
        with self.assertRaisesRegex(RuntimeError, "The total norm of order 2.0 for gradients from `parameters` is non-finite"):
            nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)

    def test_vectors(self):
        m = nn.Linear(2, 2)
        v = nn.utils.parameters_to_vector(m.parameters())
        nn.utils.vector_to_parameters(torch.arange(6.0), m.parameters())
        self.assertEqual((v.numel(), m.weight.tolist(), m.bias.tolist()), (6, [[0, 1], [2, 3]], [4, 5]))

    def test_packed(self):
        rows = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0, 5.0]), torch.tensor([6.0])]
        packed = rnn.pack_sequence(rows, enforce_sorted=False)
        self.assertEqual((packed.data.tolist(), packed.batch_sizes.tolist(), packed.sorted_indices.tolist()),
                         ([3, 1, 6, 4, 2, 5], [3, 2, 1], [1, 0, 2]))
        self.assertEqual([r.tolist() for r in rnn.unpack_sequence(packed)], [r.tolist() for r in rows])
        padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1.0, total_length=4)
        self.assertEqual((padded[0].tolist(), lengths.tolist()), ([1, 2, -1, -1], [2, 3, 1]))
        self.assertEqual(rnn.pad_sequence(rows, padding_value=9.0)[2].tolist(), [9, 5, 9])
        torch.manual_seed(0)
        lstm = nn.LSTM(1, 2, bidirectional=True)
        out, (h, _) = lstm(rnn.pack_sequence([r.unsqueeze(1) for r in rows], enforce_sorted=False))
        alone, _ = lstm(rows[0].unsqueeze(1))
        whole, _ = rnn.pad_packed_sequence(out)
        self.assertLess((whole[:2, 0] - alone).abs().max().item(), 1e-6)

    def test_parametrize(self):
        m = nn.Linear(2, 1, bias=False)
        m.weight.data.fill_(3.0)
        parametrize.register_parametrization(m, "weight", Positive())
        self.assertAlmostEqual(m.weight[0, 0].item(), 3.0, places=5)
        self.assertEqual(type(m).__name__, "ParametrizedLinear")
        self.assertEqual(list(m.state_dict()), ["parametrizations.weight.original"])
        m(torch.ones(1, 2)).sum().backward()
        self.assertAlmostEqual(m.parametrizations.weight.original.grad[0, 0].item(), 3.0, places=5)
        m.weight = torch.full((1, 2), 5.0)
        self.assertAlmostEqual(m.weight[0, 1].item(), 5.0, places=5)
        with parametrize.cached():
            self.assertIs(m.weight, m.weight)
        parametrize.remove_parametrizations(m, "weight")
        self.assertEqual(type(m), nn.Linear)
        self.assertFalse(parametrize.is_parametrized(m))
        self.assertAlmostEqual(m.weight[0, 0].item(), 5.0, places=5)

    def test_several_parametrizations(self):
        class Double(nn.Module):
            def forward(self, x):
                return x * 2

            def right_inverse(self, x):
                return x / 2

        m = nn.Linear(1, 1)
        m.weight.data.fill_(8.0)
        for expected in (8, 16):  # only the first one keeps the value
            parametrize.register_parametrization(m, "weight", Double())
            self.assertEqual((m.weight.item(), m.parametrizations.weight.original.item()), (expected, 4))
        m.weight = torch.ones(1, 1)
        self.assertEqual((m.weight.item(), m.parametrizations.weight.original.item()), (1, 0.25))

    def test_norms(self):
        torch.manual_seed(0)
        m = parametrizations.weight_norm(nn.Linear(3, 2))
        self.assertEqual([n for n, _ in m.named_parameters()], ["bias", "parametrizations.weight.original0", "parametrizations.weight.original1"])
        lengths = m.parametrizations.weight.original0.view(-1)
        self.assertLess((m.weight.norm(dim=1) - lengths).abs().max().item(), 1e-6)
        s = parametrizations.spectral_norm(nn.Linear(3, 3), n_power_iterations=20)
        self.assertAlmostEqual(torch.linalg.svdvals(s.weight)[0].item(), 1.0, places=3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old = nn.utils.weight_norm(nn.Linear(3, 2), dim=None)
        self.assertEqual([n for n, _ in old.named_parameters()], ["bias", "weight_g", "weight_v"])
        before = old(torch.ones(1, 3))
        nn.utils.remove_weight_norm(old)
        self.assertLess((old(torch.ones(1, 3)) - before).abs().max().item(), 1e-6)
        sn = nn.utils.spectral_norm(nn.Conv2d(1, 2, 3))
        self.assertEqual(sorted(sn.state_dict()), ["bias", "weight_orig", "weight_u", "weight_v"])
        sn(torch.ones(1, 1, 4, 4)).sum().backward()
        self.assertIsNotNone(sn.weight_orig.grad)

    def test_functional_call(self):
        m = nn.Sequential(Scale(), nn.ReLU())
        out = torch.func.functional_call(m, {"0.weight": torch.tensor([10.0])}, (torch.ones(1),))
        self.assertEqual((out.item(), m[0].weight.item()), (11.0, 2.0))


class Lazy(unittest.TestCase):
    def test_sizes(self):
        m = nn.Sequential(nn.LazyConv2d(3, 2), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
        with self.assertRaises(RuntimeError):
            m[3].weight.shape
        self.assertEqual(tuple(m(torch.ones(2, 1, 4, 4)).shape), (2, 2))
        self.assertEqual([type(x) for x in m], [nn.Conv2d, nn.BatchNorm2d, nn.Flatten, nn.Linear])
        self.assertEqual(m[3].in_features, 27)

    def test_same_values_as_eager(self):
        torch.manual_seed(1)
        lazy = nn.LazyLinear(4)
        torch.manual_seed(1)
        lazy(torch.ones(1, 3))
        torch.manual_seed(1)
        self.assertEqual(lazy.weight.tolist(), nn.Linear(3, 4).weight.tolist())

    def test_state(self):
        lazy = nn.LazyLinear(2)
        lazy.load_state_dict(nn.Linear(5, 2).state_dict())
        self.assertEqual(tuple(lazy.weight.shape), (2, 5))


if __name__ == "__main__":
    unittest.main()
