# Texts, numbers, and standard modules over them.
import math
import re
import string


@program(lambda: (t(3), "abc"), lambda: (t(3), "xyz"))
def f_strings(x, s):
    n = 5
    return x + len(f"{s}-{n:03d}-{3.14159:.2f}-{s!r:>8}"), f"{s}{n}{{}}", f"{n=}", f"{'a' + 'b'}", f"{n:{n}}"


@program(lambda: (t(3), "Hello World"), lambda: (t(3), ""))
def string_methods(x, s):
    return (x, s.lower(), s.upper(), s.split(), s.replace("l", "L"), s.startswith("He"), s.find("o"), s.strip("d"), s.title(), s.center(20, "*"),
            s.count("l"), s.partition(" "), s.encode(), s.isalpha(), s.zfill(15), s[::-1], s * 2, "-".join(s), s.rsplit("o", 1), s.swapcase())


@program(lambda: (t(3), "a"), lambda: (t(3), "b"))
def string_comparison(x, s):
    return x + 1 if s == "a" else x - 1, s < "b", s in "abc", hash(s) == hash("a")


@program(lambda: (t(3), 3, 2.5), lambda: (t(3), -3, 0.5))
def string_formatting(x, n, v):
    return x, "%d %5.2f %s %r" % (n, v, "s", "r"), "{:>5}|{:<5}|{:^5}".format(n, "a", v), "{0}{1}{0}".format(n, v), "{a}".format(a=n), format(v, ".3e")


@program(lambda: (t(3), 10), lambda: (t(3), 7))
def integer_arithmetic(x, n):
    return x + n // 3 + n % 4 + n ** 2 + (n << 2) + (n >> 1) + (n & 6) + (n | 1) + (n ^ 5) + ~n + -n, n.bit_length(), n / 4, divmod(-n, 3), pow(n, 3, 7)


@program(lambda: (t(3), 10 ** 20), lambda: (t(3), 2 ** 70))
def big_integers(x, n):
    return x + n % 7, n * n, str(n), int(str(n)) == n, n // 10 ** 18


@program(lambda: (t(3), 2.5), lambda: (t(3), -0.0), lambda: (t(3), float("nan")))
def float_arithmetic(x, v):
    return x * 1, v * 2, v // 1, v.is_integer(), math.isnan(v), math.copysign(1, v), v == v, repr(v)


@program(lambda: (t(3), 2.0), lambda: (t(3), 9.0))
def math_functions(x, v):
    return x * math.sqrt(v) + math.pi, math.floor(v + 0.5), math.ceil(v), math.log(v), math.sin(v), math.gcd(12, 18), math.prod([1, 2, 3]), math.inf > v


@program(lambda: (t(3), 1.7), lambda: (t(3), -1.2))
def conversions(x, v):
    return x + int(v) + round(v) + float("2.5") + bool(v), str(v), int("0x1f", 16), complex(v, 1), float(3), int(True), str(None), bytes([65])


@program(lambda: (t(3),))
def errors_of_numbers(x):
    out = []
    for f in (lambda: int("x"), lambda: 1 / 0, lambda: math.sqrt(-1), lambda: "a" + 1, lambda: [1][5], lambda: float("q")):
        try:
            f()
        except Exception as error:  # noqa: BLE001
            out.append((type(error).__name__, str(error)))
    return x, out


@program(lambda: (t(3), "k1=v1;k2=v2"), lambda: (t(3), ""))
def parsing(x, text):
    d = {}
    for part in filter(None, text.split(";")):
        k, _, v = part.partition("=")
        d[k] = v
    return x + len(d), d


@program(lambda: (t(3), "a1b22"), lambda: (t(3), "none"))
def regular_expressions(x, text):
    return x + len(re.findall(r"\d+", text)), re.sub(r"\d", "#", text), bool(re.match("a", text))


@program(lambda: (t(3),))
def string_module(x):
    return x, string.ascii_lowercase[:3], string.Template("$a b").substitute(a=1), string.capwords("a b")


@program(lambda: (t(3), b"ab\x00"), lambda: (t(3), b""))
def bytes_and_arrays(x, b):
    a = bytearray(b)
    a.append(7)
    a[0] = 1
    return x + len(a), bytes(a), b.hex(), list(b), b + b"z", a


@program(lambda: (t(3), 3), lambda: (t(3), 4))
def chained_comparison(x, n):
    return x if 1 < n < 4 else -x, 1 <= n == 3, n in (1, 3), n not in [4]


@program(lambda: (t(3), "x"), lambda: (t(3), "y"))
def dispatch_table(x, key):
    table = {"x": lambda v: v + 1, "y": lambda v: v * 2}
    return table[key](x), table.get("z", lambda v: v)(x)


@program(lambda: (t(3),))
def json_round_trip(x):
    import json
    return x + 1, json.loads(json.dumps({"a": [1, 2.5, None, "s"]}))


@program(lambda: (t(3),))
def fractions_and_decimals(x):
    import decimal
    import fractions
    return x + float(fractions.Fraction(1, 4) + fractions.Fraction(1, 4)), str(decimal.Decimal("0.1") + decimal.Decimal("0.2"))


@program(lambda: (t(3),))
def typing_constructs(x):
    from typing import List, Optional, cast
    y: Optional[List[int]] = [1]
    return cast(int, 5) + x, y, isinstance(y, list)


@program(lambda: (t(3), "é漢"), lambda: (t(3), "a"))
def unicode_texts(x, s):
    return x, [ord(c) for c in s], s.encode("utf-8"), s.isascii(), ascii(s), len(s)


@program(lambda: (t(3),))
def heap_and_bisect(x):
    import bisect
    import heapq
    h = [5, 1, 4]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    return x + heapq.heappop(h), bisect.bisect([1, 3, 5], 4), heapq.nsmallest(2, [3, 1, 2]), heapq.nlargest(1, [3, 1, 2], key=lambda v: -v)


@program(lambda: (t(3),))
def operator_module_sort(x):
    import operator
    rows = [("b", 2), ("a", 2), ("c", 1)]
    return x, sorted(rows, key=operator.itemgetter(1, 0)), max(rows, key=operator.itemgetter(1))


@program(lambda: (t(3), 5), lambda: (t(3), 6))
def datetime_values(x, n):
    import datetime
    d = datetime.date(2024, 1, n)
    return x + d.day, (d + datetime.timedelta(days=30)).isoformat()
