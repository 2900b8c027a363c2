# ---- str_methods
def str_methods(s: str) -> List[str]:
    return [s.capitalize(), s.center(12, "*"), s.expandtabs(4), s.title(), s.swapcase(), s.ljust(10) + "|", s.rjust(10) + "|", s.zfill(8), s.lstrip("h"), s.rstrip("o"), s.upper().lower(), s[1], s[-1], s[1:-1:2], s]
# >>> "hello\tworld"
# >>> "xy"
# ---- str_tests
def str_tests(s: str) -> List[bool]:
    return [s.isalnum(), s.isalpha(), s.isdecimal(), s.isdigit(), s.isidentifier(), s.islower(), s.isnumeric(), s.isprintable(), s.isspace(), s.istitle(), s.isupper(), "a" in s, "zz" not in s, s == "abc", s < "b", s >= "a"]
# >>> "abc"
# >>> "Abc Def"
# >>> "123"
# >>> " \n"
# >>> ""
# ---- str_search
def str_search(s: str) -> Tuple[int, int, int, int, int, bool, bool]:
    return s.find("l"), s.rfind("l"), s.count("l"), s.index("l"), s.rindex("l"), s.startswith("he"), s.endswith("lo", 1, 5)
# >>> "hello"
# >>> "xyz"
# ---- str_split
def str_split(s: str) -> Tuple[List[str], List[str], List[str], List[str], Tuple[str, str, str], Tuple[str, str, str]]:
    return s.split(), s.split(","), s.split(",", 1), s.splitlines(), s.partition(","), s.rpartition(",")
# >>> "a,b,c d\ne"
# >>> ""
# ---- str_join_format
def str_join_format(a: int, b: float, c: bool, d: List[int], e: Dict[str, int], f: Tuple[int, str], g: Optional[int]) -> str:
    return ", ".join(["{} {} {}".format(a, b, c), "{}".format(d), "{}".format(e), "{}".format(f), "{}".format(g)])
# >>> 1, 2.5, True, [1, 2], {"a": 1}, (1, "x"), None
# >>> -1, 1e20, False, [], {}, (0, ""), 3
# ---- fstrings
def fstrings(a: int, s: str, x: Tensor) -> str:
    return f"{a} and {s}! {a + 1}" + f"{x.size(0)}"
# >>> 3, "hi", torch.ones(2)
# ---- percent
def percent(a: int, b: float, s: str) -> str:
    return "%d %f %s %e %c %%" % (a, b, s, b, 65)
# >>> 3, 2.5, "x"
# ---- str_iter
def str_iter(s: str) -> List[str]:
    out: List[str] = []
    for i, c in enumerate(s):
        if i % 2 == 0:
            out.append(c.upper())
    return out
# >>> "hello"
# ---- ord_chr
def ord_chr(i: int, s: str) -> Tuple[str, int, str, str, str]:
    return chr(i), ord(s), hex(i), oct(i), bin(i)
# >>> 97, "a"
# >>> 65, "ab"
# ---- numbers
def numbers(a: int, b: int, x: float, y: float):
    return a + b, a - b, a * b, a / b, a // b, a % b, x + y, x // y, x % y, x ** y, a ** 2, -a, abs(a), abs(x), round(x), divmod(a, b), divmod(x, y), min(a, b), max(x, y), pow(a, b), int(x), float(a), bool(a), bool(x), a & b, a | b, a ^ b, a << 1, a >> 1
# >>> 7, 3, 2.5, 1.5
# >>> -7, 3, -2.5, 1.5
# >>> 7, -3, 2.5, -0.5
# ---- mixed
def mixed(a: int, x: float):
    return a + x, a - x, a * x, a / x, x // a, a % x, a ** x, a < x, a == x, x >= a, min(a, x), max(x, a), a + 1.0 * x
# >>> 3, 2.5
# >>> 2, 2.0
# ---- overflow
def overflow(a: int) -> Tuple[int, int]:
    return a + 1, a * 2
# >>> 9223372036854775807
# ---- math_all
def math_all(x: float, n: int):
    return math.sin(x), math.cos(x), math.tan(x), math.asin(0.5), math.acos(0.5), math.atan(x), math.atan2(x, 2.0), math.sinh(x), math.cosh(x), math.tanh(x), math.asinh(x), math.acosh(x + 1), math.atanh(0.3), math.exp(x), math.expm1(x), math.log(x), math.log(x, 2.0), math.log10(x), math.log1p(x), math.sqrt(x), math.pow(x, 2), math.fabs(-x), math.floor(x), math.ceil(x), math.degrees(x), math.radians(x), math.erf(x), math.erfc(x), math.gamma(x), math.lgamma(x), math.factorial(n), math.gcd(n, 12), math.isnan(x), math.isinf(x), math.isfinite(x), math.copysign(x, -1.0), math.fmod(x, 0.7), math.modf(x), math.frexp(x), math.ldexp(x, n), math.remainder(x, 0.7), math.inf, math.pi, math.e
# >>> 1.5, 5
# >>> 0.25, 3
# ---- list_all
def list_all(a: List[int]):
    b = a.copy()
    b.append(4)
    b.extend([5, 6])
    b.insert(0, 9)
    b.reverse()
    c = b.pop(0)
    b.remove(9)
    d = sorted(b)
    b.sort(reverse=True)
    e = b[1:3]
    b[0] = 100
    del b[1]
    return a, b, c, d, e, b.count(100), b.index(100), len(b), 3 in b, a + b, a * 2, a == b, a != b, sum(a), max(a), min(a), any(a), all(a), list(range(3)), list("ab")
# >>> [1, 2, 3]
# ---- list_clear
def list_clear(a: List[str]) -> Tuple[int, List[str]]:
    a.clear()
    a += ["x"]
    a.extend(["y"])
    return len(a), a
# >>> ["q"]
# ---- list_errors
def list_errors(a: List[int], k: int) -> int:
    if k == 0:
        return a[10]
    if k == 1:
        a.remove(77)
    if k == 2:
        return a.index(77)
    if k == 3:
        b: List[int] = []
        return b.pop()
    if k == 4:
        a[5] = 1
    return 0
# >>> [1], 0
# >>> [1], 1
# >>> [1], 2
# >>> [1], 3
# >>> [1], 4
# ---- nested_lists
def nested_lists(n: int) -> List[List[float]]:
    m = [[0.0 for _ in range(n)] for _ in range(n)]
    for i in range(n):
        m[i][i] = 1.0
        m[i][0] += 2.0
    return m
# >>> 3
# ---- list_tensor_ops
def list_tensor_ops(xs: List[Tensor]):
    ys = sorted(xs)
    xs.sort()
    return torch.stack(xs), torch.cat(ys), len(xs), xs[0].size()
# >>> [torch.tensor([3.]), torch.tensor([1.]), torch.tensor([2.])]
# ---- dict_all
def dict_all(d: Dict[str, int]):
    e = d.copy()
    e["new"] = 5
    e.update({"a": 7, "zz": 8})
    x = e.pop("a")
    y = e.pop("nope", -1)
    z = e.get("zz")
    w = e.get("nope", 3)
    v = e.setdefault("q", 4)
    del e["q"]
    keys = list(e.keys())
    values = list(e.values())
    items = list(e.items())
    return d, e, x, y, z, w, v, keys, values, items, len(e), "a" in e, "b" in e
# >>> {"a": 1, "b": 2}
# ---- dict_types
def dict_types(x: Tensor):
    a: Dict[int, str] = {1: "a", 2: "b"}
    b: Dict[float, int] = {1.5: 1}
    c = {True: x}
    d = dict([(1, 2), (3, 4)])
    e = {i: i * i for i in range(4)}
    f: Dict[str, List[int]] = {}
    f["k"] = [1]
    f["k"].append(2)
    g = dict(x=1, y=2)
    return a, b, c, d, e, f, g
# >>> torch.ones(1)
# ---- dict_loops
def dict_loops(d: Dict[str, int]) -> Tuple[List[str], int]:
    ks: List[str] = []
    s = 0
    for k in d:
        ks.append(k)
    for k, v in d.items():
        s += v
    for v in d.values():
        s += v * 10
    return ks, s
# >>> {"x": 1, "y": 2}
# ---- dict_popitem
def dict_popitem(d: Dict[str, int]):
    a = d.popitem()
    d.clear()
    return a, d
# >>> {"x": 1, "y": 2}
# ---- tuples
def tuples(t: Tuple[int, Tuple[str, float], Tensor]):
    a, (b, c), d = t
    e = (a, b) + (c,)
    f = t[1:]
    g = t[-1]
    return e, f, g, len(t), (1, 2) == (1, 2), t[1][0]
# >>> (1, ("x", 2.5), torch.ones(2))
# ---- tuple_star
def tuple_star(a: List[int]):
    x, *y = (1, 2, 3)
    *p, q = (4, 5, 6)
    r, s = a
    return x, y, p, q, r, s
# >>> [7, 8]
# >>> [7, 8, 9]
# ---- swap
def swap(a: int, b: int):
    a, b = b, a
    c = d = a + b
    d += 1
    return a, b, c, d
# >>> 1, 2
# ---- while_else_break
def while_else_break(n: int) -> int:
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i == 3:
            continue
        j = 0
        while j < i:
            j += 2
            if j == 4:
                break
        i += j
    return i
# >>> 5
# >>> 50
# ---- for_return
def for_return(xs: List[int]) -> Optional[int]:
    for x in xs:
        for y in range(x):
            if y * x == 12:
                return y
            elif y > 10:
                break
    return None
# >>> [1, 2, 3]
# >>> [3, 4, 6]
# >>> []
# ---- early_exits
def early_exits(x: int) -> str:
    if x == 0:
        return "zero"
    elif x == 1:
        return "one"
    if x < 0:
        raise ValueError("neg")
    while x > 10:
        if x % 7 == 0:
            return "seven"
        x -= 3
    return "rest"
# >>> 0
# >>> 1
# >>> 5
# >>> 24
# >>> 20
# >>> -1
# ---- zips
def zips(a: List[int], b: List[str], x: Tensor):
    out: List[Tuple[int, int, str]] = []
    for i, (p, q) in enumerate(zip(a, b)):
        out.append((i, p, q))
    s = 0
    for i, j in zip(range(5), range(10, 0, -3)):
        s += i * j
    t = torch.zeros(1)
    for r in x:
        t = t + r.sum()
    for i, r in enumerate(x, 5):
        t = t + r.sum() * i
    return out, s, t
# >>> [1, 2, 3], ["a", "b"], torch.ones(3, 2)
# ---- ranges
def ranges(n: int):
    a = [i for i in range(n)]
    b = [i for i in range(2, n)]
    c = [i for i in range(n, 0, -2)]
    d: List[int] = []
    for i in range(1, 0):
        d.append(i)
    return a, b, c, d, list(range(n))[1:]
# >>> 5
# ---- range_zero_step
def range_zero_step(n: int) -> int:
    s = 0
    for i in range(0, n, 0):
        s += i
    return s
# >>> 5
# ---- comps
def comps(xs: List[int], x: Tensor):
    a = [x * i for i in xs]
    b = [str(i) for i in xs]
    c = [(i, float(i)) for i in xs]
    d = {str(i): i for i in xs}
    e = [[i, j] for i, j in zip(xs, range(9))]
    f = [r.item() for r in x]
    return a, b, c, d, e, len(f)
# >>> [1, 2], torch.ones(2)
# ---- bools
def bools(a: bool, b: bool, x: int, s: str, l: List[int]):
    return a and b, a or b, not a, a and x > 1 or b, x if a else x + 1, (1 if b else 2) if a else 3, a == b, a != b, a & b, a | b, a ^ b, True if s else False, not l, bool(x)
# >>> True, False, 2, "", [1]
# >>> False, True, 0, "a", []
# ---- chains
def chains(a: int, b: int, c: int) -> Tuple[bool, bool, bool]:
    return a < b < c, a <= b == c, a != b != c
# >>> 1, 2, 3
# >>> 1, 1, 1
# ---- opt
def opt(x: Optional[Tensor], y: Optional[int], z: Optional[List[int]]) -> Tensor:
    if x is None:
        x = torch.zeros(2)
    assert x is not None
    if y is not None and z is not None:
        return x + y + len(z)
    elif y is None or z is None:
        return x - 1
    return x
# >>> None, None, None
# >>> torch.ones(2), 3, [1]
# ---- opt_loop
def opt_loop(xs: List[Optional[int]]) -> int:
    s = 0
    for x in xs:
        if x is not None:
            s += x
    last: Optional[int] = None
    for x in xs:
        last = x
    if last is not None:
        s += last * 100
    return s
# >>> [1, None, 3]
# >>> [None]
# ---- unions
def unions(x: Union[int, str, List[int], None]) -> str:
    if x is None:
        return "none"
    if isinstance(x, int):
        return "int" + str(x + 1)
    elif isinstance(x, str):
        return x + "!"
    else:
        return str(len(x))
# >>> 1
# >>> "a"
# >>> [1, 2]
# >>> None
# ---- anys
def anys(x: Any) -> int:
    if isinstance(x, int):
        return x
    if isinstance(x, (float, str)):
        return 2
    if torch.jit.isinstance(x, List[int]):
        return sum(x)
    if torch.jit.isinstance(x, Dict[str, int]):
        return x["a"]
    if torch.jit.isinstance(x, Tuple[int, str]):
        return x[0]
    if isinstance(x, Tensor):
        return x.dim()
    return -1
# >>> 4
# >>> 4.0
# >>> [1, 2, 3]
# >>> {"a": 9}
# >>> (5, "x")
# >>> torch.ones(1, 2)
# >>> None
# ---- tensor_index
def tensor_index(x: Tensor, i: int, idx: Tensor):
    return x[i], x[-1], x[i, :], x[:, i], x[..., i], x[None], x[:, None], x[i:], x[:i], x[::2], x[1:2, ::2], x[idx], x[:, idx], x[idx, idx], x[x > 0.5], x[[0, 1]], x[i][0], x[0, ..., None, 1:]
# >>> torch.arange(12.).reshape(3, 4) / 6, 1, torch.tensor([0, 2])
# ---- tensor_store
def tensor_store(x: Tensor, idx: Tensor):
    y = x.clone()
    y[0] = 1
    y[1, 1:] = 5.5
    y[:, 0] = torch.arange(3.)
    y[idx, 1] = 9
    y[y > 8] = -1
    y[2] += 10
    y[idx] *= 2
    y[..., -1] = y[..., 0]
    return y
# >>> torch.zeros(3, 4), torch.tensor([0, 2])
# ---- tensor_math
def tensor_math(x: Tensor, y: Tensor):
    return x + y, x - 1, 2 * x, x / y, 3 - x, 1 / (x + 1), x ** 2, 2 ** x, x @ y.t(), x // 2, x % 2, -x, x > y, x == y, ~(x > 0), (x > 0) & (y > 0), (x > 0) | (y > 0), abs(x), x.abs().sqrt(), torch.add(x, y, alpha=2), x.add(1).mul(2), x.sum(), x.mean(dim=0), x.max(dim=1), x.argmax(), x.std(), torch.clamp(x, 0, 1), x.t().contiguous(), x.view(-1), x.reshape(3, 2), x.permute(1, 0), torch.cat([x, y]), torch.stack([x, y], 1), x.unsqueeze(0).squeeze(), x.to(torch.int64), x.float(), x.type_as(y), x.size(), x.size(0), x.shape[1], x.dim(), x.numel(), x.is_floating_point(), x.new_zeros(2), torch.where(x > 0, x, y), x.chunk(2), x.split(1), torch.softmax(x, 0)
# >>> torch.arange(6.).reshape(2, 3), torch.ones(2, 3)
# ---- inplace
def inplace(x: Tensor):
    x += 1
    x -= 0.5
    x *= 2
    x /= 3
    y = x
    y.add_(1).mul_(2)
    x.zero_()
    return x, y
# >>> torch.ones(2)
# ---- implicit
def implicit(x: Tensor, n: int):
    return torch.zeros(2, n), torch.ones((n,)), x.view(2, -1), x.expand(2, 3), x.repeat(2, 1), torch.full([n], 1.5), x.sum(0), x.sum([0, 1]), torch.rand(n).size(), x.transpose(0, 1).size(), torch.randint(0, 5, (2,)).size(), torch.arange(n), torch.arange(0, n, 2), torch.tensor([1, 2, n]), torch.tensor([[1.0], [2.0]]), torch.empty(n, dtype=torch.int32).dtype == torch.int32
# >>> torch.ones(2, 3), 3
# ---- conversions
def conversions(x: Tensor):
    i = int(x[0])
    f = float(x[1])
    b = bool(x[2])
    s = x[0].item()
    if x[0] > 0:
        i += 1
    return i, f, b, s, x.tolist() if False else 0, complex(f, 1.0), str(i), int("12"), float("1.5"), int(2.7), bool("a" == "a")
# >>> torch.tensor([1., 2., 0.])
# ---- raising
def raising(k: int) -> int:
    if k == 0:
        raise RuntimeError("zero {}".format(k))
    if k == 1:
        raise Exception("plain")
    if k == 2:
        raise NotImplementedError
    if k == 3:
        assert False, "asserted"
    if k == 4:
        assert k > 10
    if k == 5:
        raise KeyError("key")
    return k
# >>> 0
# >>> 1
# >>> 2
# >>> 3
# >>> 4
# >>> 5
# >>> 6
# ---- defaults
def helper(a: int, b: int = 2, *, c: int) -> int:
    return a * 100 + b * 10 + c
def defaults(x: int, y: float = 1.5, z: Optional[int] = None, s: str = "q", t: bool = True) -> str:
    return str(helper(x, c=1)) + str(helper(a=x, b=3, c=4)) + str(y) + str(z) + s + str(t)
# >>> 1
# >>> 1, 2.5, 3, "w", False
# ---- type_comments
def type_comments(a, b, c):
    # type: (int, List[str], Optional[float]) -> Tuple[int, str]
    x = torch.jit.annotate(List[int], [])
    x.append(a)
    return len(x), b[0]
# >>> 1, ["z"], None
