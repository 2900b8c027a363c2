# Called with changing sizes, numbers and kinds: what must be compiled again, and what must not.


@program(*[lambda n=n: (t(n, 4),) for n in range(2, 9)])
def batch_sizes(x):
    return (x * 2).sum(0) + x.shape[0]


@program(*[lambda n=n: (t(n), t(n)) for n in (2, 3, 5, 7)])
def two_sizes_equal(x, y):
    return x + y


@program(*[lambda n=n, m=m: (t(n, m),) for n, m in [(2, 3), (3, 4), (5, 6), (7, 2)]])
def reshape_dynamic(x):
    return x.reshape(-1, x.shape[0] * x.shape[1]).sum(), x.view(x.size(1), x.size(0))


@program(*[lambda n=n: (t(3), n) for n in (2, 3, 4, 10, 0, 1)])
def changing_int(x, n):
    return x * n + n


@program(*[lambda n=n: (t(3), n) for n in (0.5, 1.5, 2.5, float("inf"))])
def changing_float(x, v):
    return x * v


@program(*[lambda n=n: (t(n),) for n in (2, 3, 4, 12, 30)])
def size_decides(x):
    if x.shape[0] > 10:
        return x * 2
    if x.shape[0] % 2 == 0:
        return x + 1
    return x - 1


@program(*[lambda n=n: (t(n),) for n in (3, 5, 8)])
def loop_over_size(x):
    total = 0
    for i in range(x.shape[0]):
        total = total + x[i] * i
    return total


@program(lambda: (t(0, 3),), lambda: (t(1, 3),), lambda: (t(2, 3),), lambda: (t(5, 3),))
def zero_and_one(x):
    return x.sum(0) + x.shape[0]


@program(*[lambda s=s: (s, t(2)) for s in ("add", "mul", "add", "sub")])
def changing_text(name, x):
    if name == "add":
        return x + 1
    return x * 2 if name == "mul" else x - 1


@program(lambda: (t(3),), lambda: (t(3).double(),), lambda: (t(3).int(),), lambda: (t(3),))
def changing_dtype(x):
    return x + 1


@program(lambda: (t(2, 3),), lambda: (t(2, 3).t(),), lambda: (t(2, 3, 1),), lambda: (t(6).view(2, 3),))
def changing_strides_and_rank(x):
    return x.sum(-1) * 2


@program(lambda: (t(3),), lambda: (t(3, grad=True),), lambda: (t(3),))
def changing_requires_grad(x):
    y = x * 2
    return y, y.requires_grad


@program(lambda: (t(3), [1, 2]), lambda: (t(3), [1, 2, 3]), lambda: (t(3), []), lambda: (t(3), [1, 2]))
def changing_length(x, items):
    for i in items:
        x = x + i
    return x


@program(lambda: (t(3), 1), lambda: (t(3), 1.0), lambda: (t(3), True), lambda: (t(3), None), lambda: (t(3), t(3)))
def changing_kind(x, v):
    return x + v if v is not None else x


@program(*[lambda n=n: (t(n, 2), t(2, n)) for n in (2, 3, 4, 6)])
def product_of_dynamic(x, y):
    return (x @ y).sum() + (y @ x)


@program(*[lambda n=n: (t(n),) for n in (4, 6, 8, 9)])
def halves(x):
    n = x.shape[0] // 2
    return x[:n] + x[n:2 * n], x[-n:], x[::2]


@program(*[lambda n=n: (t(n, 3),) for n in (2, 4, 5)])
def factories_of_size(x):
    return x + torch.zeros(x.shape[0], 3) + torch.arange(x.size(0)).unsqueeze(1), torch.ones(len(x))


@program(*[lambda n=n: (t(n),) for n in (2, 3, 4)])
def size_returned(x):
    return x.shape, x.shape[0], x.numel() * 2, list(x.shape), f"size {x.shape[0]}"


@program(*[lambda n=n, k=k: ([t(2)] * n, k) for n, k in [(1, 2), (2, 2), (3, 3), (4, 4)]])
def list_of_tensors_and_int(xs, k):
    return torch.stack(xs).sum(0) * k


@program(*[lambda n=n: (t(2, n), t(2, n + 1)) for n in (2, 3, 5)])
def concat_dynamic(x, y):
    z = torch.cat([x, y], 1)
    return z, z.shape[1]


@program(*[lambda n=n: (t(n), slice(0, n - 1)) for n in (3, 4, 5)])
def slice_argument(x, s):
    return x[s] + 1


@program(lambda: (t(3), {"n": 1}), lambda: (t(3), {"n": 2}), lambda: (t(3), {"n": 3}))
def int_in_dict(x, d):
    return x * d["n"]


class Holder:
    def __init__(self, n):
        self.n = n


holder = Holder(1)


@program(*[lambda n=n: (t(3), Holder(n)) for n in (1, 2, 3, 4)])
def int_in_attribute(x, h):
    return x * h.n


steps = 0


@program(*[lambda: (t(3),)] * 5)
def counting_global(x):
    global steps
    steps += 1
    holder.n += 1
    return x * steps + holder.n


@program(lambda: (t(3), torch.relu), lambda: (t(3), torch.tanh), lambda: (t(3), abs))
def changing_function(x, f):
    return f(x) + 1


@program(lambda: (t(3), (1, 2)), lambda: (t(3), (1, 3)), lambda: (t(3), [1, 2]))
def changing_tuple(x, pair):
    a, b = pair
    return x * a + b
