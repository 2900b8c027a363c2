# Lists, dicts, sets, tuples and their relatives.
import collections
import copy

Point = collections.namedtuple("Point", ["x", "y"])


@program(lambda: (t(3),), lambda: (t(4),))
def list_literal_and_index(x):
    items = [x, x + 1, x * 2]
    return items[1] + items[-1]


@program(lambda: (t(3),))
def list_append_extend_insert(x):
    items = [x]
    items.append(x + 1)
    items.extend([x + 2, x + 3])
    items.insert(0, x - 1)
    return items


@program(lambda: (t(3),))
def list_pop_remove_clear(x):
    items = [x, x + 1, x + 2, 7, 8]
    items.remove(7)
    last = items.pop()
    first = items.pop(0)
    copied = items.copy()
    items.clear()
    return first * last, copied, len(items)


@program(lambda: (t(3),))
def list_slices(x):
    items = [x + i for i in range(6)]
    items[1:3] = [x]
    del items[-1]
    items[::2] = [x, x]
    return items, items[::-1], items[1:3]


@program(lambda: (t(3),))
def list_operators(x):
    items = [x] * 3 + [x + 1]
    items += (x - 1,)
    items *= 2
    return items, [1, 2] < [1, 3], [1] == [1], 3 in [1, 2, 3]


@program(lambda: (t(3), [3, 1, 2]), lambda: (t(3), [1]))
def list_argument_read(x, items):
    for item in items:
        x = x + item
    return x


@program(lambda: (t(3), [t(3), t(3) + 1]), lambda: (t(3), [t(3)]))
def list_argument_written(x, items):
    items.append(x * 2)
    items[0] = items[0] + 1
    return len(items)


@program(lambda: (t(3), [1, 2]), lambda: (t(3), [1, 2, 3]))
def list_argument_reversed_sorted(x, items):
    items.reverse()
    items.sort()
    items.sort(reverse=True)
    return x + items[0]


@program(lambda: ([t(2), t(2) + 1, t(2) + 2],))
def sum_of_list(xs):
    return sum(xs)


@program(lambda: ([t(2), t(2) + 1],), lambda: ([t(2), t(2) + 1, t(2)],))
def stack_of_list(xs):
    return torch.stack(xs).sum(0) + torch.cat(xs).mean()


@program(lambda: (t(3),))
def list_of_lists(x):
    grid = [[x + i * j for j in range(3)] for i in range(2)]
    grid[0][1] = grid[1][2]
    return [row[0] for row in grid], grid[0][1]


@program(lambda: (t(3),))
def list_shared(x):
    inner = [x]
    return inner, inner, [inner, inner]


@program(lambda: (t(3),))
def list_contains_itself(x):
    items = [x + 1]
    items.append(items)
    return items


@program(lambda: (t(3),))
def tuple_packing(x):
    a, b = x, x + 1
    a, b = b, a
    (c, d), e = (a, b), 3
    return c - d + e


@program(lambda: (t(5),))
def tuple_star_unpack(x):
    first, *rest = x[0], x[1], x[2], x[3]
    *start, last = rest
    return first + last, start


@program(lambda: (t(3),))
def tuple_unpack_tensor(x):
    a, b, c = x
    return a * b + c


@program(lambda: (t(2, 3),))
def unbind_and_zip(x):
    return [a + b for a, b in zip(x.unbind(0), x.unbind(0)[::-1])]


@program(lambda: (t(3),))
def tuple_methods(x):
    values = (1, 2, 2, 3)
    return x + values.count(2) + values.index(3), values + (x,), values * 2, values[1:], hash(values) == hash((1, 2, 2, 3))


@program(lambda: (t(3),))
def namedtuple_made(x):
    p = Point(x, y=x + 1)
    q = p._replace(x=p.y)
    a, b = q
    return p, q, a + b, p._fields, q._asdict()


@program(lambda: (Point(t(3), 2),), lambda: (Point(t(3), 3),))
def namedtuple_argument(p):
    return p.x * p.y + p[0]


@program(lambda: (t(3),))
def dict_literal(x):
    d = {"a": x, "b": x + 1, 3: x + 2}
    d["c"] = d["a"] * 2
    del d["b"]
    return d, len(d), "a" in d, "z" in d


@program(lambda: (t(3), {"k": 2, "w": t(3)}), lambda: (t(3), {"k": 3, "w": t(3)}), lambda: (t(3), {"w": t(3), "k": 3}))
def dict_argument_read(x, d):
    return x * d["k"] + d["w"] + d.get("missing", 1)


@program(lambda: (t(3), {}), lambda: (t(3), {"k": t(3)}), lambda: (t(3), {}))
def dict_key_absent(x, d):
    if "k" in d:
        return x * d["k"]
    return x + 1


@program(lambda: (t(3), {"a": 1}), lambda: (t(3), {"a": 1, "b": 2}))
def dict_argument_written(x, d):
    d["new"] = x + len(d)
    d["a"] += 1
    d.pop("b", None)
    d.setdefault("list", []).append(x)
    return d["new"]


@program(lambda: (t(3),))
def dict_methods(x):
    d = dict(a=1, b=2)
    d.update({"c": 3}, e=5)
    e = d | {"a": 9}
    d |= {"z": 0}
    popped = d.pop("b")
    item = d.popitem()
    return x + popped, item, e, list(d), d.copy(), dict.fromkeys("ab", 1)


@program(lambda: ({"a": t(2), "b": t(2) + 1},), lambda: ({"b": t(2), "a": t(2) + 1},))
def dict_iteration(d):
    total = 0
    names = []
    for key, value in d.items():
        total = total + value * len(names)
        names.append(key)
    return total, names, list(d.values())[0] + 1


@program(lambda: (t(3),))
def dict_views(x):
    d = {"a": 1, "b": 2}
    keys, values, items = d.keys(), d.values(), d.items()
    d["c"] = 3
    return x + sum(values), "c" in keys, ("a", 1) in items, keys & {"a", "z"}, sorted(keys | {"q"}), list(reversed(d))


@program(lambda: (t(3),))
def dict_comprehension(x):
    return {str(i): x * i for i in range(4) if i != 2}


@program(lambda: (t(3), {1: {2: {3: t(3)}}}))
def dict_nested(x, d):
    d[1][2][4] = x
    return d[1][2][3] + x


@program(lambda: (t(3), {"b": 1, "a": 2}))
def dict_sorted_items(x, d):
    return [x + v for k, v in sorted(d.items())], max(d, key=d.get), min(d.values())


@program(lambda: (t(3),))
def dict_tensor_keys(x):
    y = x + 1
    d = {x: 1, y: 2}
    return d[x], d[y], x in d


@program(lambda: (t(3),))
def dict_with_tuple_keys(x):
    d = {(1, 2): x, (2, 3): x + 1}
    return d[1, 2] + d[(2, 3)]


@program(lambda: (t(3), {"a": t(3)}), lambda: (t(3), {"b": t(3)}))
def dict_missing_key_error(x, d):
    return x + d["a"]


@program(lambda: (t(3),))
def set_operations(x):
    s = {1, 2, 3}
    s.add(4)
    s.discard(9)
    s.remove(1)
    u = s | {7} - {2} ^ {3}
    return x + len(u), sorted(s & u), s <= u, frozenset(s) == s, {1}.isdisjoint({2}), s.issuperset({2})


@program(lambda: (t(3), {1, 2}), lambda: (t(3), {1, 2, 3}))
def set_argument(x, s):
    s.add(10)
    return x + len(s) + (2 in s)


@program(lambda: (t(3),))
def set_comprehension(x):
    return x + sum({i % 3 for i in range(10)})


@program(lambda: (t(3), frozenset({"a"})), lambda: (t(3), frozenset({"b"})))
def frozenset_argument(x, flags):
    return x + 1 if "a" in flags else x - 1


@program(lambda: (t(3),))
def deque_rotates(x):
    d = collections.deque([x, x + 1, x + 2], maxlen=3)
    d.append(x + 3)
    d.appendleft(x - 1)
    d.rotate(1)
    return list(d), d.pop(), d.popleft(), len(d), d.maxlen


@program(lambda: (t(3), collections.deque([t(3)])))
def deque_argument(x, d):
    d.append(x + 1)
    return d[0] + d[-1]


@program(lambda: (t(3),))
def ordered_dict(x):
    d = collections.OrderedDict(a=x, b=x + 1)
    d.move_to_end("a")
    d["c"] = 3
    return list(d), d, d.popitem(last=False)


@program(lambda: (t(3), collections.OrderedDict(a=1, b=2)))
def ordered_dict_argument(x, d):
    d.move_to_end("a")
    for key, value in d.items():
        x = x + value
    return x


@program(lambda: (t(3),))
def default_dict(x):
    d = collections.defaultdict(list)
    for i in range(4):
        d[i % 2].append(x + i)
    return d, sum(d[0]), d["none"]


@program(lambda: (t(3), collections.defaultdict(int)), lambda: (t(3), collections.defaultdict(int, a=2)))
def default_dict_argument(x, d):
    d["a"] += 1
    return x + d["a"]


@program(lambda: (t(3),))
def default_dict_lambda(x):
    d = collections.defaultdict(lambda: x * 2)
    return d["a"] + d["b"], len(d)


@program(lambda: (t(3), "hello"), lambda: (t(3), "abcab"))
def counter(x, text):
    c = collections.Counter(text)
    c.update("l")
    return x + c["l"], c.most_common(1), c["q"], sum(c.values())


@program(lambda: (t(3),))
def chain_map(x):
    c = collections.ChainMap({"a": x}, {"a": 1, "b": x + 1})
    return c["a"] + c["b"], sorted(c)


@program(lambda: (t(3),))
def user_dict_subclass(x):
    class Config(dict):
        def __getattr__(self, name):
            return self[name]

    c = Config(a=x, b=2)
    c.c = 5
    return c.a * c.b, c["a"], len(c), c.c


@program(lambda: (t(3),))
def list_subclass(x):
    class Stack(list):
        def top(self):
            return self[-1]

    s = Stack([x])
    s.append(x + 1)
    return s.top(), len(s), s


@program(lambda: (t(3),))
def copies(x):
    items = [x, [1, 2], {"a": x + 1}]
    shallow, deep = copy.copy(items), copy.deepcopy([1, [2, {"k": 3}]])
    shallow[1].append(3)
    return items, shallow, deep


@program(lambda: (t(3),))
def enumerate_zip_reversed(x):
    out = []
    for i, (a, b) in enumerate(zip([1, 2, 3], reversed([4, 5, 6])), start=2):
        out.append(x * i + a - b)
    return out


@program(lambda: (t(3),))
def nested_comprehensions(x):
    return [[x + a * b for b in range(a)] for a in range(3)], [a for b in [[1, 2], [3]] for a in b if a > 1]


@program(lambda: (t(3), (1, (2, (3, t(3))))), lambda: (t(3), (1, (2, (4, t(3))))))
def nested_tuple_argument(x, nest):
    a, (b, (c, d)) = nest
    return x * a + b + c * d


@program(lambda: (t(3), [[1, 2], [3]]), lambda: (t(3), [[1, 2], [3, 4]]))
def nested_list_argument(x, rows):
    rows[0].append(9)
    rows[1][0] += 1
    return x + sum(len(r) for r in rows)


@program(lambda: ([t(2), t(2)],))
def same_list_twice(xs):
    ys = xs
    ys.append(xs[0] + 1)
    return xs is ys, len(xs), ys


@program(lambda: (lambda l: (l, l))([t(2)]), lambda: ([t(2)], [t(2)]))
def aliased_list_arguments(a, b):
    a.append(a[0] + 1)
    return len(b), a is b


@program(lambda: (t(3), [5, 3, 4]), lambda: (t(3), [1, 1, 1]))
def min_max_sorted_any_all(x, items):
    return x + max(items) - min(items), sorted(items), any(i > 4 for i in items), all(items), sorted(items, key=lambda i: -i)


@program(lambda: (t(6),))
def slice_objects(x):
    s = slice(1, 5, 2)
    return x[s], s.start, s.stop, s.step, s.indices(4), list(range(6))[s]


@program(lambda: (t(3),))
def ranges(x):
    r = range(10, 0, -3)
    return x + r[1], len(r), list(r), 4 in r, r[::-1], list(range(3)[1:])


@program(lambda: (t(3),))
def iter_and_next(x):
    it = iter([x, x + 1])
    a = next(it)
    b = next(it)
    return a * b, next(it, "done")


@program(lambda: (t(3), iter([1, 2, 3])))
def iterator_argument(x, it):
    x = x + next(it)
    return x, list(it)
