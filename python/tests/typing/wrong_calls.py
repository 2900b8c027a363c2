"""Calls that type checkers refuse: every line with a comment `# mypy: CODE` is an error of this kind, and no other is."""

import sconce

x = sconce.ones(2)
sconce.add(x, "text")  # mypy: call-overload
sconce.relu(1)  # mypy: call-overload
x.no_such_method()  # mypy: attr-defined
sconce.no_such_function(x)  # mypy: attr-defined
x.sum(keep=True)  # mypy: call-overload
sconce.sort(x).values.append(1)  # mypy: attr-defined
number: int = x.sum()  # mypy: assignment
sconce.cat(x, x)  # mypy: call-overload
sconce.zeros(2, dtype="float32")  # mypy: call-overload
