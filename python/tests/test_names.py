"""Functions of the library that are written in Python: checks, trees, attention with functions, scans, substitutes for capture."""

import collections
import dataclasses
import importlib.util
import math
import typing
import unittest

import sconce as torch
from sconce.nn.attention import SDPBackend, sdpa_kernel
from sconce.nn.attention.flex_attention import and_masks, create_block_mask, create_mask, flex_attention, noop_mask, or_masks
from sconce.utils import _pytree


class Pair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any


@dataclasses.dataclass
class State:
    x: typing.Any
    y: typing.Any


class Checks(unittest.TestCase):
    def test_errors(self):
        torch._check(True)
        torch._check_is_size(3, max=3)
        torch._check_tensor_all(torch.tensor([True, True]))
        for check, kind in ((torch._check, RuntimeError), (torch._check_index, IndexError), (torch._check_value, ValueError),
                            (torch._check_type, TypeError), (torch._check_not_implemented, NotImplementedError)):
            with self.assertRaisesRegex(kind, "^why$"):
                check(False, lambda: "why")
        for wrong in (lambda: torch._check(1), lambda: torch._check_tensor_all(torch.ones(2))):
            self.assertRaises(TypeError, wrong)
        for wrong in (lambda: torch._check_is_size(-1), lambda: torch._check_is_size(4, max=3),
                      lambda: torch._check_tensor_all(torch.tensor([True, False]))):
            self.assertRaises(RuntimeError, wrong)

    def test_numbers(self):
        self.assertEqual((torch.sym_int(-2.5), torch.sym_float(2), torch.sym_not(0), torch.sym_sum([1, 2]), torch.sym_sqrt(9)), (-2, 2.0, True, 3, 3.0))
        self.assertEqual(repr((torch.sym_max(1, 2), torch.sym_max(3, 2.5), torch.sym_min(1.5, 2), torch.sym_ite(True, 1, 2))), "(2, 3.0, 1.5, 1)")


class Trees(unittest.TestCase):
    tree = {"p": Pair(1, [2, 3]), "q": (4, None)}

    def test_paths(self):
        found = _pytree.tree_leaves_with_path(self.tree)
        self.assertEqual([(_pytree.keystr(path), leaf) for path, leaf in found],
                         [("['p'].a", 1), ("['p'].b[0]", 2), ("['p'].b[1]", 3), ("['q'][0]", 4), ("['q'][1]", None)])
        self.assertEqual([_pytree.key_get(self.tree, path) for path, _ in found], [1, 2, 3, 4, None])
        self.assertEqual(_pytree.tree_map_with_path(lambda path, leaf: len(path), self.tree), {"p": Pair(2, [3, 3]), "q": (2, 2)})

    def test_leaves(self):
        self.assertEqual((_pytree.tree_any(lambda v: v == 4, self.tree), _pytree.tree_all_only(int, lambda v: v > 1, self.tree)), (True, False))
        self.assertEqual((list(_pytree.tree_iter([1, (2,)])), _pytree.tree_is_leaf([]), _pytree.tree_is_leaf(1)), ([1, 2], False, True))
        noted = []
        self.assertIs(_pytree.tree_map_only_(int, noted.append, self.tree), self.tree)
        self.assertEqual((noted, _pytree.tree_structure([1]) == _pytree.tree_structure([2])), ([1, 2, 3, 4], True))

    def test_classes(self):
        _pytree.register_dataclass(State)
        leaves, spec = _pytree.tree_flatten([State(1, {"k": 2})])
        self.assertEqual((leaves, _pytree.tree_unflatten([5, 6], spec)), ([1, 2], [State(5, {"k": 6})]))
        with self.assertRaisesRegex(ValueError, "already registered"):
            _pytree.register_pytree_node(State, None, None)
        made = _pytree.tree_map(lambda v: v + 1, collections.defaultdict(list, a=1))
        self.assertEqual((made, made["b"]), (collections.defaultdict(list, a=2, b=[]), []))


class Attention(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(0)
        self.q, self.k, self.v = torch.randn(3, 2, 4, 5, 8).unbind(0)

    def test_scores_and_masks(self):
        plain = torch.nn.functional.scaled_dot_product_attention
        torch.testing.assert_close(flex_attention(self.q, self.k, self.v), plain(self.q, self.k, self.v))
        causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 5, 5)
        torch.testing.assert_close(flex_attention(self.q, self.k, self.v, block_mask=causal), plain(self.q, self.k, self.v, is_causal=True))
        self.assertEqual((causal.shape, causal.BLOCK_SIZE, round(causal.sparsity())), ((1, 1, 5, 5), (128, 128), 40))
        places = torch.arange(5)
        bias = (places[None] - places[:, None]) * 0.5
        made, lse = flex_attention(self.q, self.k, self.v, lambda s, b, h, q, k: s + (k - q) * 0.5, return_lse=True)
        torch.testing.assert_close(made, plain(self.q, self.k, self.v, attn_mask=bias))
        self.assertEqual(tuple(lse.shape), (2, 4, 5))

    def test_groups_of_heads(self):
        with self.assertRaisesRegex(ValueError, "enable_gqa=True"):
            flex_attention(self.q, self.k[:, :2], self.v[:, :2])
        made = flex_attention(self.q, self.k[:, :2], self.v[:, :2], enable_gqa=True)
        self.assertEqual(made.shape, self.q.shape)

    def test_rows_without_keys(self):
        nothing = create_block_mask(lambda b, h, q, k: (q > 0) & (k >= 0), None, None, 5, 5)
        self.assertEqual(flex_attention(self.q, self.k, self.v, block_mask=nothing)[:, :, 0].abs().sum().item(), 0)

    def test_masks_combined(self):
        window = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
        self.assertEqual(create_mask(window, None, None, 3, 3)[0, 0].tolist(), [[True, False, False], [True, True, False], [False, True, True]])
        both = or_masks(lambda b, h, q, k: q == k, lambda b, h, q, k: q == 0 * k)
        self.assertEqual(create_mask(both, 1, 1, 2, 2)[0, 0].tolist(), [[True, True], [False, True]])
        self.assertTrue(create_mask(noop_mask, 2, 1, 2, 2).all())

    def test_kernels_chosen(self):
        with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
            pass
        with self.assertRaises(AssertionError), sdpa_kernel(["math"]):
            pass


class Functions(unittest.TestCase):
    def test_associative_scan(self):
        scan = torch._higher_order_ops.associative_scan
        for n in (1, 2, 5, 8):
            x = torch.arange(1.0, n + 1)
            self.assertEqual(scan(torch.add, x).tolist(), x.cumsum(0).tolist())
            self.assertEqual(scan(torch.add, x, reverse=True).tolist(), x.flip(0).cumsum(0).flip(0).tolist())
        # h[t] = a[t] h[t-1] + b[t], as pairs
        a, b = torch.tensor([0.5, 0.25, 2.0]), torch.tensor([1.0, 2.0, 3.0])
        _, h = scan(lambda left, right: (left[0] * right[0], left[1] * right[0] + right[1]), (a, b))
        self.assertEqual(h.tolist(), [1.0, 2.25, 7.5])
        with self.assertRaisesRegex(ValueError, "Combine_mode"):
            scan(torch.add, a, combine_mode="other")

    def test_while_loop_returns_its_own(self):
        x = torch.ones(2)
        _, y = torch.while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x), (torch.tensor(0), x))
        self.assertEqual((y is x, y.tolist()), (False, [1, 1]))

    def test_substitute_in_graph(self):
        def cannot_be_followed(x):
            print("outside")
            return x * 2

        @torch.compiler.substitute_in_graph(cannot_be_followed)
        def followed(x):
            return x * 2

        compiled = torch.compile(lambda x: cannot_be_followed(x) + 1, fullgraph=True)
        self.assertEqual(compiled(torch.ones(2)).tolist(), [3, 3])
        self.assertRaises(TypeError, torch.compiler.substitute_in_graph, 3)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "no numpy")
    def test_wrap_numpy(self):
        made = torch.compiler.wrap_numpy(lambda a, k: (a * k, a.sum(keepdims=True)))(torch.ones(2), 3)
        self.assertEqual([v.tolist() for v in made], [[3, 3], [2]])

    def test_modules(self):
        norm = torch.func.replace_all_batch_norm_modules_(torch.nn.Sequential(torch.nn.BatchNorm1d(2)))[0]
        self.assertEqual((norm.running_mean, norm.track_running_stats), (None, False))
        layer = torch.nn.utils.skip_init(torch.nn.Linear, 2, 3)
        self.assertEqual((tuple(layer.weight.shape), layer.weight.device.type, layer.weight.requires_grad), ((3, 2), "cpu", True))
        self.assertRaises(RuntimeError, torch.nn.utils.skip_init, math.sqrt)
        empty = torch.nn.Linear(2, 3, device="meta")
        self.assertEqual((empty.weight.is_meta, empty.to_empty(device="cpu").weight.is_meta, empty.to("meta").bias.is_meta), (True, False, True))
        with torch.profiler.record_function("part") as part, torch.autograd.profiler.record_function("other"):
            self.assertEqual(part.name, "part")
        self.assertEqual(torch.profiler.record_function("part")(lambda v: v + 1)(1), 2)


if __name__ == "__main__":
    unittest.main()
