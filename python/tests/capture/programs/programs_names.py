# Functions of the library that programs about compilers, trees, attention and loops use by name.
import collections
import dataclasses
import functools
import math
import operator
import typing


@program(lambda: (t(4), 2), lambda: (t(4), 3), lambda: (t(4), 9))
def checks_of_numbers(x, n):
    torch._check(n > 0, lambda: f"n is {n}")
    torch._check_is_size(n)
    torch._check_value(n < 8, lambda: f"too large: {n}")
    return x[:n], torch.sym_max(n, 3), torch.sym_min(n, 2.5), torch.sym_int(n / 2), torch.sym_not(n > 2), torch.sym_float(n)


def plain_sum(xs):
    return functools.reduce(operator.add, xs)


def slow_sum(xs):
    total = 0
    for x in xs:
        total = total + x
    return total


@program(lambda: (t(3),))
def regions_and_substitutes(x):
    @torch.compiler.nested_compile_region
    def region(y):
        return y.sin() * 2

    return region(x) + region(x + 1), plain_sum([x, x])


class Pair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any


@program(lambda: ({"p": Pair(t(2), [t(3), 4]), "q": (t(1), "s")},), lambda: ({"p": Pair(t(2), []), "q": ()},))
def trees_with_paths(nest):
    tree = torch.utils._pytree
    leaves, spec = tree.tree_flatten(nest)
    n = sum(1 for leaf in leaves if torch.is_tensor(leaf))
    doubled = tree.tree_map_only(torch.Tensor, lambda v: v * 2, nest)
    return doubled, n, tree.tree_any(lambda v: v == "s", [v for v in leaves if isinstance(v, str)]), spec.num_leaves, tree.tree_leaves(doubled)[0] is doubled["p"].a


@dataclasses.dataclass
class State:
    x: typing.Any
    y: typing.Any = None


@program(lambda: (State(t(2), t(3)),))
def trees_of_registered_classes(state):
    tree = torch.utils._pytree
    flat, spec = tree.tree_flatten([state.x, {"y": state.y}])
    back = tree.tree_unflatten([v + 1 for v in flat], spec)
    return back, tree.tree_all(torch.is_tensor, flat), tree.tree_structure(back) == spec


@program(lambda: (t(1, 2, 3, 4), t(1, 2, 3, 4)), lambda: (t(2, 2, 5, 4), t(2, 2, 5, 4)))
def attention_with_chosen_kernels(q, k):
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        a = F.scaled_dot_product_attention(q, k, k, is_causal=True)
    with torch.nn.attention.sdpa_kernel([torch.nn.attention.SDPBackend.MATH, torch.nn.attention.SDPBackend.FLASH_ATTENTION]):
        b = F.scaled_dot_product_attention(q, k, k, scale=0.5)
    return a, b


@program(lambda: (t(4, 3),), lambda: (t(5, 3),))
def scans_by_pairs(x):
    scan = torch._higher_order_ops.associative_scan
    sums = scan(operator.add, x, dim=0, combine_mode="generic")
    products = scan(lambda a, b: a * b, x, dim=1, combine_mode="generic")
    return sums, products, scan(torch.maximum, x, 0, reverse=True, combine_mode="generic")


@program(lambda: (t(3), torch.tensor(3)), lambda: (t(3), torch.tensor(0)))
def loops_by_name(x, n):
    i, y = torch.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 2), (torch.tensor(0), x))
    return i, y


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.bn(x)


@program(lambda: (torch.func.replace_all_batch_norm_modules_(Norm()), t(4, 3)),)
def norms_without_statistics(m, x):
    return m(x).detach(), m.bn.running_mean is None


@program(lambda: (t(2, 3),), lambda: (t(4, 3),))
def functionalized_parts(x):
    def f(x):
        y = x.clone()
        y.add_(1)
        y[0] = 0
        return y.view(-1)

    return torch.func.functionalize(f)(x), torch.func.functionalize(f, remove="mutations_and_views")(x)


@program(lambda: (t(2, 3),))
def wrapped_numpy_functions(x):
    def norm(a):
        return (a * a).sum(axis=1)

    return torch.compiler.wrap_numpy(norm)(x) + 1


def causal(b, h, q, k):
    return q >= k


def bias(score, b, h, q, k):
    return score + (q - k) * 0.1


@program(lambda: (t(1, 2, 4, 4), t(1, 2, 4, 4)),)
def attention_with_functions(q, k):
    flex = torch.nn.attention.flex_attention
    mask = flex.create_block_mask(causal, None, None, 4, 4, device="cpu")
    return flex.flex_attention(q, k, k, score_mod=bias), flex.flex_attention(q, k, k, block_mask=mask)
