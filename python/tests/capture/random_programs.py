"""Random programs over containers, closures, exceptions and tensors: compiled they give what they give eagerly.

    python3 random_programs.py [--count N] [--seed N] [--show] [--every-round]

A program is a function of statements from a small grammar, made from its seed; it is called five times, with other arguments and
numbers that change from call to call. One that differs is made smaller, statement by statement, and printed.
"""

import argparse
import contextlib
import io
import random
import sys
import traceback

import harness
import sconce

NAMES = ("a", "b", "c")


class Writer:
    """Writes one program: statements as nested lists, so that they can be left out one by one."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions = 0
        self.loops = 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def tensor(self, depth=0):
        if depth > 2:
            return self.pick("x", "y", "a")
        r = self.random.randrange(14)
        if r < 4:
            return self.pick("x", "y", "a")
        if r < 7:
            return f"({self.tensor(depth + 1)} {self.pick('+', '-', '*')} {self.pick(self.tensor(depth + 1), self.number(depth + 1))})"
        if r < 9:
            return f"torch.{self.pick('relu', 'tanh', 'abs', 'sigmoid')}({self.tensor(depth + 1)})"
        if r == 9:
            return f"{self.tensor(depth + 1)}.{self.pick('sum()', 'mean()', 'clone()', 'neg()', 'reshape(-1)')}"
        if r == 10:
            return f"torch.stack([{self.tensor(depth + 1)}.sum(), {self.tensor(depth + 1)}.sum()]).sum()"
        if r == 11:
            return f"sum([{self.tensor(depth + 1)}, {self.tensor(depth + 1)}])"
        if r == 12:
            return f"({self.tensor(depth + 1)} if {self.truth()} else {self.tensor(depth + 1)})"
        return self.pick(f"items[{self.pick(0, -1)}]", "x[:, :2]", "y[0]", "a.t()", "(x * rate)", "(y + ticks)", "x.view(-1)", "a.double()",
                         "y.to(torch.int64)", "x.half().float()", "(x > 0)", "x[..., : m % 3]", "torch.ones(m % 4, 3)")

    def number(self, depth=0):
        r = self.random.randrange(11)
        if depth > 2 or r < 4:
            return self.pick("n", "m", "2", "3", "k", "len(items)")
        if r < 7:
            return f"({self.number(depth + 1)} {self.pick('+', '-', '*', '//', '%')} {self.pick('2', '3', self.number(depth + 1))})"
        if r == 7:
            return f"table.get({self.key()}, {self.number(depth + 1)})"
        if r == 8:
            return f"max({self.number(depth + 1)}, {self.number(depth + 1)})"
        if r == 9:
            return f"table[{self.key()}]"
        return self.pick("obj.count", "len(text)", "len(table)", "sum(range(m))", "box[0]", "abs(m - n)", "ticks",
                         "state.count", "len(marks)", "x.shape[-1]", "int(rate * 4)", "len(state.items)", "ticks * n", "bag[m % 3]")

    def key(self):
        return self.pick("'p'", "'q'", "text", "m", "'r'")

    def truth(self):
        return self.pick(f"{self.number()} {self.pick('<', '>', '==', '!=')} {self.number()}", f"{self.key()} in table", "items", "text == 'p'",
                         "isinstance(m, int)", f"{self.number()} in marks",
                         f"1 < {self.number()} <= 9", "rate > 0.4", "ticks % 3 == 0", "m in bag", "x.dim() == 2", "x.dtype == torch.float32", f"not {self.pick('table', 'items', 'm')}", "n and m", "m is None", "hasattr(obj, 'extra')")

    def text(self):
        return self.pick("f'{n}-{m:02d}'", "text + 'z'", "text.upper()", "str(len(items))", "'%s' % (m,)", "'-'.join([text, 'q'])", "repr(table)",
                         "f'{ticks:>3}{rate:.2f}'", "str(sorted(marks, key=str))", "'{}:{}'.format(m, k)")

    def statement(self, depth):
        r = self.random.randrange(50)
        if r >= 46:
            return [self.later()]
        if r >= 30:
            return self.wider(r, depth)
        if r < 5:
            return [f"{self.pick('x', 'y', 'a')} = {self.tensor()}"]
        if r < 7:
            return [f"{self.pick('m', 'k')} = {self.number()}"]
        if r == 7:
            return [f"items.append({self.pick(self.tensor(), self.number())})"]
        if r == 8:
            return [f"table[{self.key()}] = {self.pick(self.number(), self.number(), 'len(items)')}"]
        if r == 9:
            return [self.pick("items.pop()", "items.insert(0, x)", "items.reverse()", "del items[0]", "items[0] = y", "items.extend([x, 1])",
                              "items += [m]", "items.clear()")]
        if r == 10:
            return [self.pick("table.pop('p', None)", "table.update(q=m)", "del table['p']", "table.setdefault('r', n)", "table.clear()")]
        if r == 11:
            return [self.pick("obj.count += 1", "obj.extra = x", "obj.items.append(m)", "del obj.extra", "obj.bump(m)", "seen.append(text)",
                              "box[0] += 1", "obj.count = obj.doubled")]
        if r == 12:
            return [f"log({self.pick(self.text(), self.number(), 'list(table)')})"]
        if depth < 3 and r < 17:
            block = [f"if {self.truth()}:", self.block(depth + 1)]
            return block + (["else:", self.block(depth + 1)] if self.random.random() < 0.5 else [])
        if depth < 3 and r < 20:
            self.loops += 1
            over = self.pick("range(3)", "range(m % 4)", "list(table)", "items[:3]", "zip(range(2), 'ab')", "enumerate([n, m])")
            return [f"for i{self.loops} in {over}:", self.block(depth + 1, loop=True)]
        if depth < 3 and r < 23:
            caught = self.pick("KeyError", "(IndexError, ValueError)", "Exception as error", "ZeroDivisionError")
            block = ["try:", self.block(depth + 1), f"except {caught}:", self.block(depth + 1)]
            return block + (["finally:", self.block(depth + 1)] if self.random.random() < 0.3 else [])
        if depth < 2 and r < 26:
            self.functions += 1
            name = f"f{self.functions}"
            changes = [] if self.random.random() < 0.15 else ["nonlocal a, x, y, m, k, text, items, table, marks"]
            changes = ["global ticks, rate", *changes]
            body = [*changes, *self.block(depth + 2), f"return {self.pick(self.tensor(), self.number())}"]
            return [f"def {name}(p, q=2):", body, f"{self.pick('a', 'k')} = {name}({self.pick('x', 'm')})"]
        if r == 26:
            return [self.pick(f"items = [{self.tensor()} for j in range(2)]", "items = sorted([3, n, 1], key=lambda v: -v)",
                              "table = {str(j): j * m for j in range(2)}", "items = [v for v in items if not isinstance(v, int)]",
                              "k, m = m, n", "items = list(map(lambda v: v * 2, items))", "k = sum(v for v in table.values())")]
        if depth < 3 and r == 27:
            return [f"with Manager({self.pick('log', 'seen.append')}):", self.block(depth + 1)]
        if r == 28:
            return [self.pick("raise KeyError(text)", "raise ValueError(m)", "assert m, text", "torch._dynamo.graph_break()",
                              "print(text, m)", "g = gen(m % 3, x)", "a = x + sum(gen(2, x))")]
        return [self.pick("text = " + self.text(), f"return {self.tensor()}, {self.number()}", "m -= 1", "x = x + len(items)")]

    def later(self):
        """Values of tensors and of `random` that are kept, shown, computed with, or needed at once; keys with methods of Python."""
        return self.pick("k = x.sum().item()", "text = f'{x.mean():.3f}'", "text += str(y.sum())", "items.append(float(y.max()))",
                         "k = k + x.sum().item()", "x = x * y.mean().item()", "assert (x == x).all(), text", "rate = rate + x.sum().item()",
                         "table[Key(m)] = n", "k = table.get(Key(n), 3)", "k = len({Key(m), Key(n), Key(1)})", "k = random.random()",
                         "x = x + random.uniform(0, 1)", "k = random.randint(1, 5)", "k = not x.any()", "text = '%s' % x.sum()", "k = x.tolist()",
                         "obj.extra = x.sum().item()", "k = x.sum().item() > m", "log(f'{y.sum():.2f}')", "marks.add(Key(m))",
                         "m = m + int(y.sum() > 0)", "box.append(x.numel() * y.max().item())", "k = random.choice([1, 2, 3])",
                         "bag.values[0] = x.mean().item()", "k = f'{x.sum().item():.2f}' + text", "x = x - (y.sum().item() * 2 + 1)")

    def wider(self, r, depth):
        """Numbers of the world that change, in-place operators and views, generators, finally, closures that count."""
        if r < 33:
            return [self.pick("ticks += 1", "state.count += n", "rate = rate * 0.5 + 0.125", "x = x * ticks", "x = x + rate",
                              "state.items.append(ticks)", "state.count -= ticks % 2", "m = m + ticks", "box.append(ticks)",
                              "table[ticks] = rate", "state.last = x.sum()", "k = state.bump(1).count")]
        if r < 36:
            return [self.pick("x += 1", "x.mul_(2)", "y[0, 0] = m", "y.add_(x)", "a = x[0]; a += 1", "a = x.view(-1); a.neg_()", "x.zero_()",
                              "x[:, 1:] *= 2", "y.copy_(x)", "a = y[:1]; y += 1", "items[0] = x[0]; x.sub_(1)", "x = x.clone(); x += y",
                              "a = x.detach(); x.clamp_(0, 2)", "y = y.expand(2, 3)", "x.t_()", "x = x.double()", "x = x.to(y.dtype)")]
        if r == 36:
            return [self.pick("marks.add(m)", "marks |= {k, 1}", "marks.discard(n)", "marks -= {2}", "marks.remove(m)", "marks = marks | {text}",
                              "table |= {'s': m}", "table.popitem()", "k = len(marks & {1, 2, m})", "marks.update(range(m % 3))")]
        self.functions += 1
        name = f"f{self.functions}"
        if depth < 2 and r < 39:
            call = self.pick(f"k = {name}() + {name}()", f"k = max({name}(), m)", f"items.append({name})", f"table['f'] = {name}()")
            return ["def %s(step=%s):" % (name, self.pick("1", "n", "ticks")),
                    ["nonlocal m, k", self.pick("m += step", "k = k * 2 + step", "m, k = k, m"), f"return {self.pick('m', 'k', 'm + ticks')}"], call]
        if depth < 2 and r < 42:
            over = self.pick("range(3)", "[n, m, k]", "items[:2]", "sorted(table, key=str)")
            body = [f"for v in {over}:", [self.pick("yield v", "yield x + 1", "got = yield v", "yield from [v, v]")],
                    self.pick("return m", "yield k", "raise ValueError(text)", "log('end')")]
            if self.random.random() < 0.4:
                body = ["try:", body, "finally:", [self.pick("log('closed')", "seen.append(m)")]]
            use = self.pick(f"items = list({name}())", f"k = next({name}(), 7)", f"box = [v for v in {name}()]", f"items.extend({name}())",
                            f"g = {name}(); k = next(g); g.close()", f"g = {name}(); next(g); g.send(3)", f"k, *box = {name}()",
                            f"k = dict(enumerate({name}()))", f"text = ''.join(map(str, {name}()))")
            return [f"def {name}():", body, *use.split("; ")]
        if depth < 3 and r == 42:
            caught = self.pick("KeyError as error", "ValueError", "(IndexError, TypeError) as error", "Exception")
            handler = self.pick(["raise"], [f"raise RuntimeError({self.text()}) from None"], ["log('caught')"], ["return x, m"],
                                ["raise RuntimeError(m)"])
            block = ["try:", self.block(depth + 1), f"except {caught}:", self.block(depth + 1) + handler]
            if self.random.random() < 0.5:
                block += ["else:", self.block(depth + 1)]
            return block + ["finally:", self.block(depth + 1)]
        if depth < 3 and r == 43:
            managers = self.pick("Manager(log) as h, Manager(seen.append)", "Manager(log) as h", "torch.no_grad()", "managed(m) as h",
                                 "managed(n), Manager(log)", "suppress(KeyError, ZeroDivisionError)")
            return [f"with {managers}:", self.block(depth + 1)]
        if depth < 3 and r == 44:
            self.loops += 1
            return [f"w{self.loops} = {self.pick('0', 'n % 3', 'ticks % 4')}", f"while w{self.loops} < {self.pick('3', 'm % 4', 'len(items)')}:",
                    [f"w{self.loops} += {self.pick('1', '2')}", f"if w{self.loops} > 20:", ["break"]] + self.block(depth + 1)]
        return [self.pick("k = [lambda: m + v for v in range(2)][-1]()", "k = (lambda *p, **q: len(p) + len(q))(*items, **{'u': m})",
                          "first, *rest = [*items, m]; k = len(rest)", "k = m if (t := n * 2) > 3 else t", "assert ticks < 100",
                          "obj.items = items; obj.items.append(k)", "bag.add(m)", "k = len(bag)", "k = [*bag][-1]", "del bag.values[0]",
                          "obj = bag; obj.extra = m", "k = getattr(state, text, n)", "setattr(state, 'q' + text, ticks)", "k = sum(bag)",
                          "k = bag == m", "text += f'{bag}'", "k = state.doubled + ticks", "del state.last", "k = hasattr(state, 'last')")]

    def block(self, depth, loop=False):
        statements = []
        for _ in range(self.random.randrange(1, 4)):
            statements += self.statement(depth)
        if loop and self.random.random() < 0.25:
            statements += [f"if {self.truth()}:", [self.pick("break", "continue")]]
        return statements

    def program(self):
        body = []
        for _ in range(self.random.randrange(2, 9)):
            body += self.statement(0)
        return body


PROLOGUE = """
import random
from contextlib import contextmanager, suppress

random.seed(5)


class Key:
    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return isinstance(other, Key) and self.n == other.n

    def __hash__(self):
        return hash(self.n)

    def __repr__(self):
        return f"Key({self.n})"


class Thing:
    def __init__(self):
        self.count = 1
        self.items = []

    def bump(self, n):
        self.count += n
        return self

    @property
    def doubled(self):
        return self.count * 2


class Bag:
    def __init__(self, values):
        self.values = values

    def add(self, value):
        self.values.append(value)

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return self.values[i]

    def __contains__(self, value):
        return value in self.values

    def __eq__(self, other):
        return self.values[0] == other

    def __str__(self):
        return f"Bag{self.values}"


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log("in")
        return self

    def __exit__(self, kind, value, trace):
        self.log(kind.__name__ if kind else "out")
        return kind is KeyError


def gen(n, x):
    for i in range(n):
        yield x + i


@contextmanager
def managed(n):
    global ticks
    ticks += 1
    try:
        yield n
    except KeyError:
        log("key")
    finally:
        log(n)


seen = []
ticks = 0
rate = 0.5
state = Thing()


def log(value):
    seen.append(value)


def f(x, y, n, items, table, obj):
    global ticks, rate
    m, k, text, a, box, marks, bag = n, 2, "p", x, [n], {1, n}, Bag([n, 1, 2])
    ticks += 1
"""


def lines(statements, indent="    "):
    out = []
    for item in statements:
        if isinstance(item, list):
            out += lines(item, indent + "    ") or [indent + "    pass"]
        else:
            out.append(indent + item)
    return out


def source(statements):
    return PROLOGUE + "\n".join(lines(statements)) + "\n    return x, y, a, n, m, k, text, items, table, obj, box, seen, marks, bag\n"


def calls():
    for n in (2, 0, 3, 5, 8):
        base = sconce.tensor([[1.0, -2.0, 0.5]]) * (n + 1)
        yield lambda: (base.clone(), base * 0.5, n, [base + 1], {"p": n, "q": 1}, None)


def run(text, wrap):
    """Descriptions of what the calls come to, or why the text is no program."""
    namespace = {"torch": sconce, "__name__": "random_program"}
    exec(compile(text, "<random program>", "exec"), namespace)
    function = wrap(namespace["f"])
    results = []
    for make in calls():
        args = list(make())
        args[-1] = namespace["Thing"]()
        error = value = None
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                value = function(*args)
        except Exception as raised:  # noqa: BLE001
            error = (type(raised).__name__, harness.without_addresses(str(raised)), type(raised.__cause__).__name__, type(raised.__context__).__name__)
        seen = {}
        results.append((harness.describe(value, sconce, seen), error, harness.describe(args, sconce, seen),
                        harness.describe([namespace[name] for name in ("seen", "ticks", "rate", "state")], sconce, seen)))
    return results


def differs(statements, wrap):
    """How the compiled program differs from the eager one; empty when it does not, or is none."""
    text = source(statements)
    try:
        compile(text, "<random program>", "exec")
    except SyntaxError:
        return ""
    eager = run(text, lambda function: function)
    sconce.compiler.reset()
    try:
        compiled = run(text, wrap)
    except BaseException:  # noqa: BLE001
        return "fails to compile: " + traceback.format_exc()[-600:]
    return harness.difference(eager, compiled)


def smaller(statements):
    """All programs with one statement left out, or a block in place of its head."""
    for i, item in enumerate(statements):
        if isinstance(item, list):
            for less in smaller(item):
                yield statements[:i] + [less] + statements[i + 1:]
        elif item.endswith(":") and i + 1 < len(statements):
            end = i + 2
            while end + 1 < len(statements) and statements[end].endswith(":") and statements[end].split()[0].strip(":") in (
                    "else", "except", "finally"):
                end += 2
            yield statements[:i] + statements[end:]
            yield statements[:i] + statements[i + 1] + statements[end:]
        else:
            yield statements[:i] + statements[i + 1:]


def shrink(statements, wrap):
    shrunk = True
    while shrunk:
        shrunk = False
        for less in smaller(statements):
            try:
                if differs(less, wrap):
                    statements, shrunk = less, True
                    break
            except Exception:  # noqa: BLE001
                continue
    return statements


def check(seed, wrap=None, show=False):
    """An empty text, or the smallest program made from this seed's that differs, with how."""
    wrap = wrap or sconce.compile
    statements = Writer(seed).program()
    if show:
        print(source(statements))
    if not differs(statements, wrap):
        return ""
    least = shrink(statements, wrap)
    return f"seed {seed}: {differs(least, wrap)}\n{chr(10).join(lines(least))}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--every-round", action="store_true", help="capture loops with breaks in them round by round")
    parser.add_argument("--stop-after", type=int, default=20, help="failures")
    options = parser.parse_args()
    sconce._dynamo.config.capture_every_round = options.every_round
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        if found := check(seed, show=options.show):
            print(found, flush=True)
            failures += 1
            if failures >= options.stop_after:
                break
    print(f"{options.count} programs from seed {options.seed}: {failures} differ")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
