"""Random programs over containers, closures, exceptions and tensors: compiled they give what they give eagerly.

    python3 random_programs.py [--count N] [--seed N] [--show]

A program is a function of statements from a small grammar, made from its seed; it is called three times, with other arguments. One
that differs is made smaller, statement by statement, and printed.
"""

import argparse
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
        return f"items[{self.pick(0, -1)}]"

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
        return self.pick("obj.count", "len(text)", "len(table)", "sum(range(m))", "box[0]", "abs(m - n)")

    def key(self):
        return self.pick("'p'", "'q'", "text", "m", "'r'")

    def truth(self):
        return self.pick(f"{self.number()} {self.pick('<', '>', '==', '!=')} {self.number()}", f"{self.key()} in table", "items", "text == 'p'",
                         "isinstance(m, int)", f"not {self.pick('table', 'items', 'm')}", "n and m", "m is None", "hasattr(obj, 'extra')")

    def text(self):
        return self.pick("f'{n}-{m:02d}'", "text + 'z'", "text.upper()", "str(len(items))", "'%s' % (m,)", "'-'.join([text, 'q'])", "repr(table)")

    def statement(self, depth):
        r = self.random.randrange(30)
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
            changes = [] if self.random.random() < 0.15 else ["nonlocal a, x, y, m, k, text, items, table"]
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


seen = []


def log(value):
    seen.append(value)


def f(x, y, n, items, table, obj):
    m, k, text, a, box = n, 2, "p", x, [n]
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
    return PROLOGUE + "\n".join(lines(statements)) + "\n    return x, y, a, n, m, k, text, items, table, obj, box, seen\n"


def calls():
    for n in (2, 0, 3):
        base = sconce.tensor([[1.0, -2.0, 0.5]]) * (n + 1)
        yield lambda: (base.clone(), base * 0.5, n, [base + 1], {"p": n, "q": 1}, None)


def run(text, wrap):
    """Descriptions of what the three calls come to, or why the text is no program."""
    namespace = {"torch": sconce, "__name__": "random_program"}
    exec(compile(text, "<random program>", "exec"), namespace)
    function = wrap(namespace["f"])
    results = []
    for make in calls():
        args = list(make())
        args[-1] = namespace["Thing"]()
        error = value = None
        try:
            value = function(*args)
        except Exception as raised:  # noqa: BLE001
            error = (type(raised).__name__, str(raised))
        seen = {}
        results.append((harness.describe(value, sconce, seen), error, harness.describe(args, sconce, seen),
                        harness.describe(namespace["seen"], sconce, seen)))
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
    parser.add_argument("--stop-after", type=int, default=20, help="failures")
    options = parser.parse_args()
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
