# What a call leaves behind: arguments, globals, cells, attributes, printed text; and what stops a graph.
import random

calls = 0
history = []
table = {"a": 1}
state = {"steps": 0, "last": None}


@program(lambda: (t(3),), lambda: (t(3),))
def global_counter(x):
    global calls
    calls += 1
    return x + calls


@program(lambda: (t(3),), lambda: (t(3),))
def global_list(x):
    history.append(x + 1)
    return x * len(history)


@program(lambda: (t(3),), lambda: (t(3),))
def global_dict(x):
    state["steps"] += 1
    state["last"] = x
    return x + state["steps"]


@program(lambda: (t(3),))
def global_made_and_deleted(x):
    global fresh
    fresh = x + 1
    y = fresh * 2
    del fresh
    return y


@program(lambda: (t(3), [1]))
def global_swapped(x, new):
    global history
    old, history = history, new
    return x + len(old), history is new


def note(text):
    history.append(text)
    return len(history)


@program(lambda: (t(3),), lambda: (t(3),))
def effects_in_order(x):
    note("first")
    x = x + 1
    note("second")
    table["b"] = note("third")
    return x


@program(lambda: (t(3),))
def effects_before_exception(x):
    history.append("before")
    x = x + 1
    raise ValueError("after effects")


@program(lambda: (t(3),))
def effects_around_break(x):
    history.append(1)
    x = x + 1
    torch._dynamo.graph_break()
    history.append(x)
    return x * 2


@program(lambda: (t(3), {}, []))
def arguments_joined(x, d, items):
    d["items"] = items
    items.append(x + 1)
    d["self"] = d
    return len(d)


@program(lambda: (t(3), [0, 1, 2]))
def list_written_by_slice(x, items):
    items[:] = [x, x + 1]
    return items[0]


@program(lambda: (t(3), {"a": 1, "b": 2}))
def dict_cleared_and_refilled(x, d):
    d.clear()
    d["z"] = x
    d.update(a=5)
    return list(d)


@program(lambda: (t(3), [3, 1]))
def written_then_read(x, items):
    items[0] = 5
    a = items[0]
    items[0] = x
    return items[0] + a


@program(lambda: (t(3), [t(3)]))
def write_undone(x, items):
    items.append(1)
    items.pop()
    return x + items[0]


class Box:
    def __init__(self, value=None):
        self.value = value


shared = Box(1)


@program(lambda: (t(3),), lambda: (t(3),))
def global_object_written(x):
    shared.value += 1
    shared.tensor = x * shared.value
    return shared.tensor + 1


@program(lambda: (lambda b: (b, b))(Box(t(2))), lambda: (Box(t(2)), Box(t(2))))
def aliased_objects(a, b):
    a.value = a.value + 1
    return b.value, a is b


@program(lambda: (Box(Box(Box(t(2)))),))
def nested_attributes(b):
    b.value.value.value = b.value.value.value * 2
    b.value.extra = b
    return b.value.value.value + 1


@program(lambda: (t(3), Box([])))
def list_of_attribute(x, b):
    b.value.append(x + 1)
    b.value = b.value + [2]
    return len(b.value)


def make_counter():
    n = 0

    def count():
        nonlocal n
        n += 1
        return n
    return count


counter = make_counter()


@program(lambda: (t(3),), lambda: (t(3),))
def cell_of_global_function(x):
    return x + counter() + counter()


@program(lambda: (t(3),))
def cells_shared_by_escaping_functions(x):
    n = x

    def read():
        return n

    def write(v):
        nonlocal n
        n = v
    write(x + 1)
    return read() + 1


@program(lambda: (t(3),))
def print_values(x):
    y = x + 1
    print("text", 1, 2.5, None, sep="-", end="!\n")
    print(y.shape, [1, 2], {"a": 1})
    return y


@program(lambda: (t(2),))
def print_tensor(x):
    y = x + 1
    print(y)
    print(f"{y.sum()}")
    return y * 2


@program(lambda: (t(3),), lambda: (t(3),))
def random_numbers(x):
    a = random.random()
    b = random.randint(1, 10)
    return x + a, b, random.choice([1, 2, 3])


@program(lambda: (t(3),), lambda: (t(3),))
def random_tensors(x):
    return x + torch.rand(3), torch.randn(2), torch.randint(0, 5, (2,)), F.dropout(x, 0.5)


@program(lambda: (t(3),))
def in_place_argument(x):
    x.add_(1)
    x.mul_(2)
    return x + 1


@program(lambda: (lambda a: (a, a))(t(3)), lambda: (t(3), t(3)))
def in_place_aliased(x, y):
    x.add_(1)
    return x * y


@program(lambda: (t(3, 3),))
def in_place_view(x):
    row = x[0]
    row.zero_()
    x[1, 2] = 5
    x[:, 0] += 1
    return x.sum() + row


@program(lambda: (t(3),))
def in_place_local(x):
    y = x.clone()
    y += 1
    y[0] = 7
    y.clamp_(max=3)
    return y, x


@program(lambda: (t(3),))
def out_argument(x):
    y = torch.empty(3)
    torch.add(x, 1, out=y)
    return y


@program(lambda: (t(3), t(3) * 0))
def copy_into_argument(x, y):
    y.copy_(x * 2)
    y.resize_(3)
    return y.sum()


@program(lambda: (t(3),))
def attribute_of_tensor(x):
    x.note = "kept"
    y = x + 1
    y.tag = [1, 2]
    return y, x.note, hasattr(y, "tag")


@program(lambda: (t(3),))
def returns_argument(x):
    y = x
    return y, x + 0, x is y


@program(lambda: (t(3), 5))
def returns_constants(x, n):
    return None, 1, "text", (1, [2]), x, n, ..., 1.5, b"x", frozenset({1})


@program(lambda: (t(3),))
def nothing_to_capture(x):
    return len(x.shape) + 2


@program(lambda: (3, [1, 2]), lambda: (4, []))
def no_tensors_at_all(n, items):
    items.append(n)
    return [i * 2 for i in items]


@program(lambda: (t(3),))
def item_used(x):
    y = x.sum().item()
    return x + y, y > 0, float(x[0]), int(x[1])


@program(lambda: (t(4),))
def nonzero_sizes(x):
    y = x[x > 0]
    return y * 2, torch.nonzero(x), y.shape[0]


@program(lambda: (t(3),))
def numpy_and_back(x):
    a = x.numpy()
    return torch.from_numpy(a * 2) + 1


@program(lambda: (t(3),))
def numpy_scalar(x):
    import numpy
    s = numpy.float32(2.5)
    return x * float(s), s


@program(lambda: (t(3),))
def time_and_ids(x):
    import time
    start = time.time()
    y = x + 1
    return y, time.time() >= start


@program(lambda: (t(3), []))
def deep_inline_effects(x, log):
    def a(y):
        log.append("a")
        return b(y) + 1

    def b(y):
        log.append("b")
        history.extend(log)
        return y * 2
    return a(x)


@torch._dynamo.disable
def not_followed(x):
    history.append("disabled")
    return x * 3


@program(lambda: (t(3),))
def disabled_function(x):
    y = x + 1
    z = not_followed(y)
    return z - 1


@program(lambda: (t(3),))
def is_compiling_says(x):
    return x + (1 if isinstance(torch.compiler.is_compiling(), bool) else 2)


@program(lambda: (t(3),))
def string_io(x):
    import io
    out = io.StringIO()
    out.write("text")
    print("more", file=out)
    return x + 1, out.getvalue()


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def star_locals(x, n):
    acc = []
    for i in range(n):
        y = x + i
        acc.append(y)
        if i == 2:
            torch._dynamo.graph_break()
    return acc, i, y
