# ---- nested_breaks
def nested_breaks(rows: List[List[int]], stop: int) -> Tuple[int, int, List[int]]:
    seen: List[int] = []
    total = 0
    at = -1
    for i, row in enumerate(rows):
        for x in row:
            if x == stop:
                at = i
                break
            if x < 0:
                continue
            total += x
        if at >= 0:
            break
        seen.append(total)
    return total, at, seen
# >>> [[1, 2, -3], [4, 5, 6], [7]], 5
# >>> [[1, 2, -3], [4]], 100
# >>> [], 1
# ---- return_in_with
class Guard:
    def __init__(self, log: List[str]):
        self.log = log
    def __enter__(self) -> "Guard":
        self.log.append("in")
        return self
    def __exit__(self, type: Any, value: Any, tb: Any) -> None:
        self.log.append("out")
def return_in_with(n: int) -> Tuple[int, List[str]]:
    log: List[str] = []
    k = 0
    for i in range(n):
        with Guard(log) as g:
            if i % 2 == 0:
                g.log.append("even")
                k += 10
            else:
                k += 1
    with Guard(log):
        k += 100
    return k, log
# >>> 0
# >>> 3
# ---- while_conditions
def while_conditions(xs: List[int], limit: int) -> Tuple[int, int]:
    i = 0
    s = 0
    while i < len(xs) and (s < limit or xs[i] == 0) and not (xs[i] == 99):
        s += xs[i]
        i += 1
    return i, s
# >>> [1, 2, 3, 0, 5], 6
# >>> [1, 99, 3], 100
# >>> [], 1
# ---- union_lists
def union_lists(x: Union[List[int], Dict[str, int], float]) -> float:
    if isinstance(x, float):
        return x * 2
    if torch.jit.isinstance(x, List[int]):
        return float(sum(x))
    else:
        return float(len(x))
# >>> 1.5
# >>> [1, 2]
# >>> {"a": 1, "b": 2, "c": 3}
# ---- union_changes
def union_changes(k: int) -> Union[int, str]:
    x: Union[int, str] = k
    if k > 2:
        x = "big" + str(k)
    return x
# >>> 1
# >>> 5
# ---- optional_chain
def optional_chain(a: Optional[int], b: Optional[int]) -> int:
    if a is not None and b is not None and a < b:
        return b - a
    if a is None and b is None:
        return -1
    if a is None or b is None:
        return 0
    return a * b
# >>> 1, 5
# >>> None, None
# >>> 1, None
# >>> 7, 2
# ---- optional_in_loop
def optional_in_loop(xs: List[int]) -> Tuple[Optional[int], int]:
    best: Optional[int] = None
    changes = 0
    for x in xs:
        if best is None or x > best:
            best = x
            changes += 1
    return best, changes
# >>> [3, 1, 7, 2, 9]
# >>> []
# ---- optional_unwrap_error
def optional_unwrap_error(x: Optional[int]) -> int:
    y = torch.jit._unwrap_optional(x)
    return y + 1
# >>> 4
# >>> None
# ---- refine_assert
def refine_assert(x: Any, y: Optional[str]) -> str:
    assert isinstance(x, int)
    assert y is not None, "y is needed"
    return y * 1 if False else y + str(x + 1)
# >>> 1, "a"
# >>> 1, None
# ---- tuple_compare
def tuple_compare(a: Tuple[int, int], b: Tuple[int, int]) -> Tuple[bool, bool, int]:
    x, y = a
    return (x, y) == b, a != b, max(x, b[0])
# >>> (1, 2), (1, 2)
# >>> (1, 2), (3, 2)
# ---- tuple_nested
def tuple_nested(xs: List[Tuple[int, Tuple[str, float]]]) -> Tuple[List[str], float, int]:
    names: List[str] = []
    s = 0.0
    n = 0
    for i, (name, v) in xs:
        names.append(name)
        s += v
        n += i
    for k, (i, pair) in enumerate(xs):
        s += k * pair[1]
    return names, s, n
# >>> [(1, ("a", 0.5)), (2, ("b", 1.5))]
# >>> []
# ---- tuple_slices
def tuple_slices(t: Tuple[int, str, float, bool]):
    a = t[1:]
    b = t[:2]
    c = t[::2]
    d = t[-2:]
    e = t[1:3][1]
    f = a + b
    for x in t[:1]:
        e += x
    g, h = t[2:]
    return a, b, c, d, e, f, g, h, len(t[1:])
# >>> (1, "x", 2.5, True)
# ---- list_of_lists
def list_of_lists(n: int):
    a = [[i * j for j in range(i)] for i in range(n)]
    b = [x for x in a]
    b[0].append(7)
    b[-1] = [1]
    c = a[1:] + [[5]]
    a.insert(1, [8, 8])
    d = [len(x) for x in a]
    return a, b, c, d, a[0] is b[0], a[0] == b[0]
# >>> 3
# ---- list_slices
def list_slices(a: List[int], i: int, j: int):
    b = a.copy()
    c = a[i:j]
    d = a[::-1] if False else a[::2]
    e = a[-2:]
    f = a[:-1]
    g = a[i:]
    del b[0]
    return b, c, d, e, f, g, a[j:i]
# >>> [1, 2, 3, 4, 5], 1, 3
# >>> [1, 2], 0, 100
# >>> [1, 2, 3], -2, -1
# ---- list_alias
def list_alias(n: int):
    a = [1, 2]
    b = a
    b.append(n)
    c = list(a)
    c.append(5)
    d = [a, a]
    d[0].append(6)
    return a, b, c, d, a is b, a is c
# >>> 3
# ---- list_reductions
def list_reductions(a: List[float], b: List[int], c: List[bool], s: List[str]):
    return sum(a), min(a), max(b), sum(b), any(c), all(c), sorted(a), sorted(s), min(b), len(s), max(a)
# >>> [1.5, -2.0, 3.25], [4, 2, 8], [True, False], ["b", "a"]
# ---- dict_ints
def dict_ints(xs: List[int]):
    count: Dict[int, int] = {}
    first: Dict[int, List[int]] = {}
    for i, x in enumerate(xs):
        if x in count:
            count[x] += 1
            first[x].append(i)
        else:
            count[x] = 1
            first[x] = [i]
    best = -1
    for k, v in count.items():
        if best == -1 or v > count[best]:
            best = k
    return count, first, best, [k for k in count], [v for v in count.values()], len(count), 3 in count
# >>> [1, 2, 2, 3, 2, 1]
# >>> []
# ---- dict_missing
def dict_missing(d: Dict[str, int], k: int) -> int:
    if k == 0:
        return d["nope"]
    if k == 1:
        return d.pop("nope")
    if k == 2:
        del d["nope"]
    return d.get("nope", 5)
# >>> {"a": 1}, 3
# ---- dict_nested
def dict_nested(names: List[str]):
    d: Dict[str, Dict[str, int]] = {}
    for n in names:
        if n[0] not in d:
            fresh: Dict[str, int] = {}
            d[n[0]] = fresh
        d[n[0]][n] = len(n)
    total = 0
    for k, inner in d.items():
        for k2, v in inner.items():
            total += v
    e = {k: len(v) for k, v in d.items()}
    return d, total, e
# >>> ["ab", "ac", "b"]
# ---- dict_order
def dict_order(n: int):
    d: Dict[str, int] = {}
    for i in range(n):
        d[str(n - i)] = i
    d["1"] = 100
    x = d.pop(str(n))
    d[str(n)] = x
    return list(d.keys()), list(d.values()), sorted(d.keys())
# >>> 4
# ---- dict_tensors
def dict_tensors(d: Dict[str, Tensor]) -> Tuple[Tensor, Dict[str, Tensor]]:
    s = torch.zeros(2)
    out: Dict[str, Tensor] = {}
    for k, v in d.items():
        s = s + v
        out[k + "2"] = v * 2
    out["s"] = s
    return s, out
# >>> {"a": torch.ones(2), "b": torch.arange(2.)}
# ---- str_building
def str_building(n: int, sep: str) -> Tuple[str, str, str, str]:
    s = ""
    for i in range(n):
        s += str(i) + sep
    t = sep.join([str(i * i) for i in range(n)])
    u = sep.rjust(n, "-")
    v = "{}|{}|{}".format(s, t, n)
    return s, t, u, v
# >>> 3, ", "
# >>> 0, "x"
# ---- str_parse
def str_parse(s: str):
    words = s.split(" ")
    counts: Dict[str, int] = {}
    for w in words:
        w = w.strip().lower().replace(".", "")
        if len(w) == 0:
            continue
        counts[w] = counts.get(w, 0) + 1 if w in counts else 1
    return counts, s.replace("a", "b"), s.strip("xA"), s[::-1] if False else s[:3], [int(c) for c in "123"]
# >>> "A cat. a  dog. A bird"
# ---- str_escapes
def str_escapes(s: str):
    return s + "\n\t\\", 'single "quoted"', "it's", r"raw\n", """triple
line""", "a" "b", len(s), s == "\x41", "\u0041"
# >>> "A"
# ---- str_compare
def str_compare(a: str, b: str):
    return a < b, a <= b, a > b, a == b, a != b, a + b, a in b, len(a + b), a * 2 if False else a
# >>> "abc", "abd"
# >>> "", "a"
# ---- int_limits
def int_limits(a: int):
    return a // 3, a % 3, -a // 3, -a % 3, a / 2, a * a, a ** 3, abs(-a), a & 6, a | 9, a ^ 5, ~a if False else a, a << 3, a >> 1
# >>> 7
# >>> -8
# >>> 0
# ---- zero_division
def zero_division(a: int, b: int) -> int:
    return a // b
# >>> 7, 2
# ---- float_text
def float_text(x: float) -> List[str]:
    return [str(x), "{}".format(x), str(x * 1e10), str(x / 3), str(int(x)), str(x > 1)]
# >>> 1.5
# >>> 1e16
# >>> 0.1
# >>> 100.0
# ---- float_special
def float_special(x: float):
    return x == 2.0, x > 0.0, math.isnan(x), math.isinf(x), x < float("inf"), float("-inf"), -x
# >>> 1.0
# >>> float("nan")
# >>> float("inf")
# ---- math_constants
def math_constants(x: int) -> Tuple[float, bool]:
    return x * math.pi, x < math.inf
# >>> 2
# ---- calls_between
def inner_most(x: int, scale: float = 2.0) -> float:
    return x * scale
def middle(xs: List[int]) -> List[float]:
    return [inner_most(x) for x in xs]
def calls_between(xs: List[int]) -> Tuple[List[float], float]:
    ys = middle(xs)
    total = 0.0
    for y in middle([len(ys), 1]):
        total += y + inner_most(2, scale=0.5)
    return ys, total
# >>> [1, 2, 3]
# ---- error_in_callee
def deep(x: int) -> int:
    if x > 2:
        raise ValueError("too deep: {}".format(x))
    return x
def shallow(x: int) -> int:
    y = 0
    for i in range(x):
        y += deep(i)
    return y
def error_in_callee(x: int) -> int:
    return shallow(x) + 1
# >>> 2
# >>> 5
# ---- ternaries
def ternaries(a: int, b: Optional[int], s: str):
    x = a if a > 0 else -a
    y = b if b is not None else 7
    z = "pos" if a > 0 else ("zero" if a == 0 else "neg")
    w = [1, 2] if s == "a" else [3]
    v = (1, "a") if a > 1 else (2, s)
    return x, y, z, w, v
# >>> 3, None, "a"
# >>> -3, 4, "b"
# >>> 0, 0, ""
# ---- multi_assign
def multi_assign(x: Tensor):
    a = b = c = 1
    a += 1
    (d, e), f = (2, 3), 4
    g, h = [5, 6]
    d, e = e, d
    y = z = x
    y = y + 1
    return a, b, c, d, e, f, g, h, y, z
# >>> torch.ones(1)
# ---- aug_all
def aug_all(a: int, x: float, l: List[int], t: Tensor):
    a += 2
    a -= 1
    a *= 3
    a |= 8
    a &= 12
    a ^= 3
    a <<= 1
    a >>= 1
    x /= 2
    x *= a
    l += [a]
    l[0] += 5
    t -= 1
    t[0] *= 3
    return a, x, l, t
# >>> 5, 3.0, [1], torch.ones(2)
# ---- loop_types
def loop_types(x: Tensor, n: int):
    s = 0
    for i in range(n):
        s += i
    y = x
    for i in range(n - 1, -1, -1):
        y = y * 2 + i
    rows: List[Tensor] = []
    for r in x.unbind(0):
        rows.append(r * s)
    for i, (a, b) in enumerate(zip(rows, [1, 2, 3])):
        y = y + a * b * i
    for c in "abc":
        s += ord(c)
    for k in [True, False]:
        if k:
            s += 1000
    return s, y, rows
# >>> torch.ones(2), 3
# >>> torch.ones(2), 0
# ---- unrolled_tuple
def unrolled_tuple(t: Tuple[int, float, str]) -> str:
    out = ""
    for x in t:
        out += str(x) + ";"
    for i, x in enumerate(t):
        out += str(i) + str(x)
    return out
# >>> (1, 2.5, "q")
# ---- ignored_values
def ignored_values(x: List[int]) -> int:
    _, b, *_ = (1, 2, 3, 4)
    x.pop()
    _ = x.pop()
    for _ in range(2):
        b += 1
    return b + len(x)
# >>> [1, 2, 3]
# ---- type_of_none
def type_of_none(flag: bool) -> Optional[Tensor]:
    x: Optional[Tensor] = None
    if flag:
        x = torch.ones(1)
    if x is None:
        return None
    return x + 1
# >>> True
# >>> False
# ---- shapes
def shapes(x: Tensor) -> Tuple[List[int], int, int, List[int]]:
    b, c = x.shape
    n, m = x.size()
    assert b == n
    s = x.shape[-1] * x.size(0)
    return x.shape, c, s, x.view(-1).shape + [1]
# >>> torch.ones(2, 3)
# >>> torch.ones(2, 3, 4)
# ---- aug_mod
def aug_mod(a: int, x: float, t: Tensor):
    a %= 5
    x %= 2.0
    t %= 3
    return a, x, t
# >>> 7, 5.5, torch.arange(5.)
# >>> -7, -5.5, torch.arange(5.)
