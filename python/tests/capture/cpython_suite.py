"""CPython's own tests, each test method compiled: the outcome must be that of the uncompiled run.

    python3 cpython_suite.py [--jobs N] [--seconds N] [--short | --more] [--everything] [--json FILE] [--like FILE]
                             [MODULE[.Class[.method]]...]

The modules are those that are installed with the interpreter that runs this (test.test_list ...); without names, all of MODULES,
with --short those of SHORT, with --more also those of MORE. Each module runs in processes of its own: first uncompiled, which
gives the outcomes to compare with (or takes them from what --json wrote: --like), then compiled. A test that hangs or kills its
process counts as one difference; the tests behind it run in a new process. Functions that meet no tensor run as they are when
capture has looked at them; with --everything code is made for them, too, which no program would ask for, and which finds more.
Methods that take longer than SLOW uncompiled are left out, and counted. Exit status 1 when an outcome differs, twice.
"""

import argparse
import concurrent.futures
import faulthandler
import importlib
import inspect
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

# Tests of the language and of the parts of the library that programs lean on; none needs a network or minutes.
MODULES = """
    test_grammar test_generators test_exceptions test_with test_scope test_dict test_list test_set test_functools test_itertools
    test_descr test_dataclasses test_enum test_patma test_contextlib test_fstring test_augassign test_binop test_bool
    test_builtin test_call test_class test_collections test_compare test_copy test_decorators test_defaultdict test_deque
    test_dictviews test_enumerate test_except_star test_extcall test_iter test_keywordonlyarg test_listcomps
    test_named_expressions test_operator test_ordered_dict test_positional_only_arg test_property test_raise test_richcmp
    test_super test_tuple test_types test_unpack_ex
""".split()
MORE = """
    test_abc test_bisect test_complex test_contains test_exception_group test_exception_variations test_float test_funcattrs
    test_generator_stop test_genexps test_global test_heapq test_index test_int test_isinstance test_long test_math
    test_metaclass test_numeric_tower test_opcodes test_pow test_range test_setcomps test_slice test_sort test_statistics
    test_string test_subclassinit test_textwrap test_typing test_unary test_unpack test_userdict test_userlist test_userstring
    test_weakref test_weakset test_yield_from
""".split()
LONG = "test_set test_builtin test_itertools test_exceptions test_enum test_deque test_descr test_fstring test_tuple".split()
SHORT = [name for name in MODULES if name not in LONG]
SLOW = 5.0  # seconds: methods that take longer uncompiled are left out
SHOWN = 14  # lines of a traceback


class Outcomes(unittest.TestResult):
    """Writes a line of JSON when a test begins and one when it has ended, so that a process that dies tells which test it was."""

    def __init__(self, out, prepare, limit):
        super().__init__()
        self.out, self.prepare, self.limit = out, prepare, limit

    def write(self, *row):
        self.out.write(json.dumps(row) + "\n")
        self.out.flush()

    def startTest(self, test):
        super().startTest(test)
        self.write(name_of(test), "begun", 0, "")
        if self.limit:
            faulthandler.dump_traceback_later(self.limit, exit=True, file=sys.__stderr__)
        for found in (self.errors, self.failures, self.skipped, self.expectedFailures, self.unexpectedSuccesses):
            found.clear()
        self.prepare(test)
        self.started = time.perf_counter()

    def stopTest(self, test):
        took = time.perf_counter() - self.started
        faulthandler.cancel_dump_traceback_later()
        outcome, trace = "ok", ""
        for kind, found in (("error", self.errors), ("failure", self.failures)):
            if found:
                lines = found[0][1].strip().splitlines()
                raised = [line for line in lines if line and not line[0].isspace() and ":" in line or line.isidentifier()]
                outcome, trace = f"{kind}: {raised[-1].split(':')[0] if raised else '?'}", found[0][1]
                break
        else:
            if self.skipped:
                outcome = "skipped"
            elif self.unexpectedSuccesses:
                outcome = "unexpected success"
            elif self.expectedFailures:
                outcome = "expected failure"
        self.write(name_of(test), outcome, round(took, 2), trace)
        super().stopTest(test)


def name_of(test):
    return test.id().removeprefix("test.")


def tests_of(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_of(item)
        elif hasattr(item, "_testMethodName"):
            yield item


def run_module(name, path, only, compiled, limit):
    """One process: runs the tests of a module. `compiled`: "compiled", "everything", or "" for neither."""
    try:
        module = importlib.import_module(f"test.{name}")
    except (ImportError, unittest.SkipTest):
        return
    if compiled:
        import sconce
        from sconce._dynamo import config

        config.capture_without_tensors = compiled == "everything"

    def prepare(test):
        method = getattr(test, test._testMethodName)
        if inspect.ismethod(method):  # the cycle that this makes is there in both runs
            setattr(test, test._testMethodName, sconce.compile(method) if compiled else method)

    everything = tests_of(unittest.defaultTestLoader.loadTestsFromModule(module))
    chosen = [test for test in everything if only is None or name_of(test) in only]
    with open(path, "w") as out:
        unittest.TestSuite(chosen).run(Outcomes(out, prepare, limit))


def in_process(name, compiled, only, seconds, limit):
    """{test: (outcome, seconds, trace)}, from as many processes as it takes. A test that kills its process, or takes longer than
    `limit`, has the outcome 'died'."""
    outcomes = {}
    paths = os.pathsep.join(os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
    left = only
    while True:
        with tempfile.TemporaryDirectory() as folder:
            path, chosen = pathlib.Path(folder) / "outcomes", pathlib.Path(folder) / "chosen"
            chosen.write_text(json.dumps(sorted(left) if left is not None else None))
            command = [sys.executable, "-B", __file__, "--run", name, str(path), str(chosen), compiled, str(limit)]
            with open(pathlib.Path(folder) / "errors", "w+b") as errors:
                process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                           start_new_session=True, env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": paths})
                try:
                    status = process.wait(seconds)
                except subprocess.TimeoutExpired:
                    status = "took too long"
                try:
                    os.killpg(process.pid, signal.SIGKILL)  # also what the tests may have started
                except ProcessLookupError:
                    pass
                process.wait()
                errors.seek(0)
                said = errors.read().decode(errors="replace")
            rows = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("]")] if path.exists() else []
        begun = None
        for identity, outcome, took, trace in rows:
            if outcome == "begun":
                begun = identity
            else:
                outcomes[identity] = (outcome, took, trace)
                begun = None
        if begun is None:
            return outcomes, "" if status == 0 else f"{status}; {said[-2000:]}"
        outcomes[begun] = (f"died: {'took too long' if 'Timeout' in said else status}", 0.0, said)
        # Those behind it: of a run of all tests only the order tells which they are, and they have not been listed.
        if left is None:
            left = set(list_tests(name)) - outcomes.keys()
        else:
            left = left - outcomes.keys()
        if not left:
            return outcomes, ""


def list_tests(name):
    code = ("import sys, json, unittest, importlib; sys.path.insert(0, sys.argv[2]); import cpython_suite as s; "
            "m = importlib.import_module('test.' + sys.argv[1]); "
            "print('\\n' + json.dumps([s.name_of(t) for t in s.tests_of(unittest.defaultTestLoader.loadTestsFromModule(m))]))")
    command = [sys.executable, "-B", "-c", code, name, str(pathlib.Path(__file__).parent)]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(name, seconds, names, how, known):
    """(module, {test: (uncompiled, compiled, trace)}, how many were left out, seconds)"""
    start = time.perf_counter()
    if known:
        plain = {identity: (row[0], 0.0, "") for identity, row in known.items()}
    else:
        plain, _ = in_process(name, "", None, seconds, 30)
    only = {identity for identity, (outcome, took, _) in plain.items() if not outcome.startswith("died") and took < SLOW}
    left_out = len(plain) - len(only)
    if names:
        only = {i for i in only if any(i == n or i.startswith(n + ".") for n in names)}
    if not only:
        return name, {}, left_out, time.perf_counter() - start
    compiled, why = in_process(name, how, only, seconds * 4, 60)
    again = {identity for identity in only if identity not in compiled or compiled[identity][0] != plain[identity][0]}
    if again:  # some tests depend on time: a difference counts when it is there a second time
        plain.update(in_process(name, "", again, seconds, 30)[0])
        compiled.update(in_process(name, how, again, seconds * 4, 60)[0])
    return name, {identity: (plain[identity][0], *(compiled[identity][::2] if identity in compiled else ("not run", why)))
                  for identity in sorted(only)}, left_out, time.perf_counter() - start


def main():
    if sys.argv[1:2] == ["--run"]:
        name, path, chosen, compiled, limit = sys.argv[2:]
        only = json.loads(pathlib.Path(chosen).read_text())
        run_module(name, path, None if only is None else set(only), compiled, int(limit))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=int, default=120, help="limit of one module, uncompiled; compiled four times that")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--more", action="store_true")
    parser.add_argument("--everything", action="store_true")
    parser.add_argument("--json", help="a file for all outcomes")
    parser.add_argument("--like", help="a file of --json with the uncompiled outcomes")
    options = parser.parse_args()
    names = options.names or (SHORT if options.short else MODULES + MORE if options.more else MODULES)
    modules = list(dict.fromkeys(n.split(".")[0] for n in names))
    total = different = 0
    everything = {}
    known = json.loads(pathlib.Path(options.like).read_text()) if options.like else {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(compare, m, options.seconds, [n for n in names if n.startswith(m + ".")],
                            "everything" if options.everything else "compiled", known.get(m)) for m in modules]
        for job in jobs:
            name, tests, left_out, took = job.result()
            wrong = {identity: row for identity, row in tests.items() if row[0] != row[1]}
            total += len(tests)
            different += len(wrong)
            everything[name] = tests
            left = f", {left_out} left out" if left_out else ""
            print(f"{name}: {len(tests)} tests, {len(wrong)} differ{left}, {took:.1f} s", flush=True)
            for identity, (plain, compiled, trace) in wrong.items():
                lines = trace.strip().splitlines()
                print(f"  {identity}: {plain} uncompiled, {compiled}", flush=True)
                for line in lines[:2] + ["..."] * (len(lines) > SHOWN) + lines[2:][-SHOWN:]:
                    print("      " + line[:200], flush=True)
            if options.json:
                pathlib.Path(options.json).write_text(json.dumps(everything, indent=1))
    print(f"{total} tests of {len(modules)} modules, {different} differ")
    sys.exit(1 if different or not total else 0)


if __name__ == "__main__":
    main()
