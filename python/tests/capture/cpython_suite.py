"""CPython's own tests, each test method compiled: the outcome must be that of the uncompiled run.

    python3 cpython_suite.py [--jobs N] [--seconds N] [--short] [MODULE[.Class[.method]]...]

The modules are those that are installed with the interpreter that runs this (test.test_list ...); without names, all of MODULES, with
--short the few of SHORT. Each module runs in processes of its own: first uncompiled, which gives the outcomes to compare with, then
compiled. Methods that fail, are skipped or take long uncompiled are left out. Exit status 1 when an outcome differs or a process dies.
"""

import argparse
import concurrent.futures
import importlib
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

MODULES = """
    test_grammar test_generators test_exceptions test_with test_scope test_dict test_list test_set test_functools test_itertools test_descr
    test_dataclasses test_enum test_patma test_contextlib test_fstring
    test_tuple test_iter test_raise test_operator test_math test_int test_float test_string test_str test_class test_ordered_dict
    test_defaultdict test_range test_slice test_sort test_heapq test_bool test_builtin test_call test_collections test_complex test_copy
    test_decorators test_deque test_dictviews test_enumerate test_extcall test_funcattrs test_userdict test_userlist test_generator_stop
    test_genexps test_global test_index test_isinstance test_keywordonlyarg test_lambda test_listcomps test_long test_named_expressions
    test_numeric_tower test_opcodes test_positional_only_arg test_property test_richcmp test_setcomps test_super test_syntax test_types
    test_unary test_unpack test_unpack_ex test_userstring test_weakref test_yield_from test_zip test_bisect test_compare test_augassign
    test_binop test_contains test_exception_group test_except_star test_statistics test_textwrap test_typing test_metaclass test_pow
""".split()
SHORT = "test_with test_unpack_ex test_named_expressions test_positional_only_arg".split()
SLOW = 2.0  # seconds: methods that take longer uncompiled are left out


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        else:
            yield item


def outcome_of(test):
    """'ok', 'skipped', or the exception that ended it."""
    result = unittest.TestResult()
    test.run(result)
    for kind, found in (("error", result.errors), ("failure", result.failures)):
        if found:
            return f"{kind}: {found[0][1].strip().splitlines()[-1][:300]}"
    if result.skipped:
        return "skipped"
    if result.unexpectedSuccesses:
        return "unexpected success"
    return "expected failure" if result.expectedFailures else "ok"


def run_module(name, out, only, compiled):
    """One process: runs the tests of a module and writes a line for each when it begins and when it has ended."""
    try:
        module = importlib.import_module(f"test.{name}")
    except (ImportError, unittest.SkipTest):
        return
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000))
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    if compiled:
        import sconce
        from sconce import _dynamo  # noqa: F401
    for test in tests_of(suite):
        identity = test.id().removeprefix("test.")
        if (only is not None and identity not in only) or not hasattr(test, "_testMethodName"):
            continue
        out.write(json.dumps([identity, "begun", 0]) + "\n")
        out.flush()
        method = getattr(test, test._testMethodName)
        if compiled and inspect.ismethod(method):
            setattr(test, test._testMethodName, sconce.compile(method))
        start = time.perf_counter()
        try:
            outcome = outcome_of(test)
        except BaseException:  # noqa: BLE001
            outcome = "escaped: " + traceback.format_exc().strip().splitlines()[-1][:300]
        out.write(json.dumps([identity, outcome, round(time.perf_counter() - start, 2)]) + "\n")
        out.flush()


def in_process(name, compiled, only, seconds):
    """Outcomes of a module's tests, from processes of their own; a test that kills its process has the outcome 'died'."""
    outcomes = {}
    remaining = only
    paths = os.pathsep.join(os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
    while True:
        with tempfile.TemporaryDirectory() as folder:
            path, chosen = pathlib.Path(folder) / "outcomes", pathlib.Path(folder) / "chosen"
            chosen.write_text(json.dumps(sorted(remaining) if remaining is not None else None))
            command = [sys.executable, "-B", __file__, "--run", name, str(path), str(chosen), str(int(compiled))]
            try:
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds, errors="replace",
                                      env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": paths})
                why = f"died: status {done.returncode}; {' | '.join(done.stderr.strip().splitlines()[-3:])[-300:]}"
                ended = done.returncode == 0
            except subprocess.TimeoutExpired:
                why, ended = "died: took too long", False
            lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        last = None
        for identity, outcome, took in lines:
            if outcome == "begun":
                last = identity
            else:
                outcomes[identity] = (outcome, took)
                last = None
        if ended or last is None:
            return outcomes, "" if ended else why
        outcomes[last] = (why, 0.0)
        if not compiled:
            remaining = None
            return outcomes, ""
        remaining = {identity for identity in remaining if identity not in outcomes}
        if not remaining:
            return outcomes, ""


def compare(name, seconds, names):
    plain, _ = in_process(name, False, None, seconds)
    only = {identity for identity, (outcome, took) in plain.items() if outcome in ("ok", "expected failure") and took < SLOW}
    if names:
        only = {i for i in only if any(i == n or i.startswith(n + ".") for n in names)}
    if not only:
        return name, 0, []
    compiled, why = in_process(name, True, only, seconds * 3)
    wrong = [(identity, plain[identity][0], compiled[identity][0] if identity in compiled else f"not run: {why}")
             for identity in sorted(only) if compiled.get(identity, ("",))[0] != plain[identity][0]]
    return name, len(only), wrong


def main():
    if sys.argv[1:2] == ["--run"]:
        name, path, chosen, compiled = sys.argv[2:]
        with open(path, "w") as out:
            only = json.loads(pathlib.Path(chosen).read_text())
            run_module(name, out, None if only is None else set(only), compiled == "1")
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120, help="limit of one module, uncompiled")
    parser.add_argument("--short", action="store_true")
    options = parser.parse_args()
    names = options.names or (SHORT if options.short else MODULES)
    modules = list(dict.fromkeys(n.split(".")[0] for n in names))
    total = different = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(compare, m, options.seconds, [n for n in names if n.startswith(m + ".")]) for m in modules]
        for job in jobs:
            name, count, wrong = job.result()
            total += count
            different += len(wrong)
            print(f"{name}: {count} tests, {len(wrong)} differ", flush=True)
            for identity, plain, compiled in wrong:
                print(f"  {identity}: {plain} uncompiled, {compiled}", flush=True)
    print(f"{total} tests, {different} differ")
    sys.exit(1 if different or not total else 0)


if __name__ == "__main__":
    main()
