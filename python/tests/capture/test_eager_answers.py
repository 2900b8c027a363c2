"""What a program may see beside its results: the exception that is being handled, finalisers, warnings, methods that run once, errors
in functions that were called before a break. Each program runs eagerly, and compiled with code made for it."""

import collections
import contextlib
import enum
import functools
import io
import itertools
import sys
import unittest
import warnings
import weakref

import sconce
from sconce._dynamo import config


def handled():
    return sys.exc_info()[1]


class Fails:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return weakref.ref(Fails)() is Fails  # a break in the exit: the exception is swallowed behind it


class Counts:
    hashed = 0

    def __init__(self, n):
        self.n = n

    def __hash__(self):
        Counts.hashed += 1
        return self.n

    def __eq__(self, other):
        return self.n == other.n


class Season(enum.Enum):
    SPRING = 1
    AUTUMN = 2


class Level(enum.IntEnum):
    LOW = 1


class Meta(type):
    pass


class EagerAnswers(unittest.TestCase):
    def both(self, function, *args):
        expected = function(*args)
        with config.patch(capture_without_tensors=True):
            compiled = sconce.compile(function)
            for _ in range(2):
                self.assertEqual(compiled(*args), expected)
                self.assertIsNone(sys.exc_info()[1])
        return expected

    def test_handled_exceptions_end_behind_breaks(self):
        def swallowed():
            with Fails():
                Fails().missing
            return repr(sys.exc_info()[1])

        def in_handler():
            try:
                weakref.ref(3)
            except TypeError:
                first = repr(handled())
                weakref.ref(Fails)
            return first, repr(handled())

        def inner_in_handler():
            try:
                raise KeyError(1)
            except KeyError:
                weakref.ref(Fails)
                try:
                    raise ValueError(2)
                except ValueError:
                    weakref.ref(Fails)
                    second = repr(handled())
                weakref.ref(Fails)
                return second, repr(handled())

        self.assertEqual(self.both(swallowed), "None")
        self.assertEqual(self.both(in_handler)[1], "None")
        self.assertEqual(self.both(inner_in_handler), ("ValueError(2)", "KeyError(1)"))

    def test_handled_exceptions_of_callers(self):
        def f(x):
            return x + 1, repr(sys.exc_info()[1])

        compiled = sconce.compile(f)
        self.assertEqual(compiled(sconce.ones(1))[1], "None")
        try:
            raise ValueError(1)
        except ValueError:
            self.assertEqual(compiled(sconce.ones(1))[1], "ValueError(1)")
        self.assertEqual(compiled(sconce.ones(1))[1], "None")

    def test_handlers_of_callers_of_callers(self):
        def innermost():
            weakref.ref(Fails)
            raise ValueError("from the innermost")

        def middle():
            return innermost()

        def f():
            try:
                return middle()
            except ValueError as error:
                return str(error)

        self.assertEqual(self.both(f), "from the innermost")

    def test_finalisers_run_once(self):
        log = []

        class Ends:
            def __del__(self):
                log.append("ended")

        def f(x):
            Ends()
            return (x + 1).tolist()

        sconce.compile(f)(sconce.ones(1))
        self.assertEqual(log, ["ended"])

    def test_warnings_come_as_eagerly(self):
        def f(x):
            return (x + 1).tolist(), "abc".encode().decode("unicode_escape"), b"\\x4"[:1] and int("1")

        def warned(x):
            import datetime
            return (x + 1).tolist(), str(b"abc") if sys.flags.bytes_warning else 0, datetime.MINYEAR

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            before = list(warnings.filters)
            sconce.compile(f)(sconce.ones(1))
            sconce.compile(warned)(sconce.ones(1))
            self.assertEqual(warnings.filters, before)
        self.assertEqual([str(w.message) for w in caught], [])

    def test_keys_are_hashed_once(self):
        def f(n):
            Counts.hashed = 0
            held = {Counts(i): i for i in range(n)}
            weakref.ref(Fails)
            return len(held), Counts.hashed

        self.assertEqual(self.both(f, 5), (5, 5))

    def test_members_of_enums_stay_themselves(self):
        def f():
            members = list(Season)
            weakref.ref(Fails)
            return members[0] is Season.SPRING, str(Level.LOW), f"{Level.LOW}", repr(Level.LOW)

        self.both(f)

    def test_attributes_of_classes_with_a_metaclass(self):
        class Has(metaclass=Meta):
            pass

        def f():
            Has.value = 3
            weakref.ref(Fails)
            return Has.value

        self.assertEqual(self.both(f), 3)

    def test_methods_of_subclasses_of_containers_run_once(self):
        class Logs(collections.OrderedDict):
            stores = 0

            def __setitem__(self, key, value):
                self.stores += 1
                super().__setitem__(key, value)

        def f(held):
            held.clear()
            held.stores = 0
            held["a"] = 1
            weakref.ref(Fails)
            return held.stores, list(held)

        self.assertEqual(self.both(f, Logs()), (1, ["a"]))

    def test_locals_keep_their_objects(self):
        def f():
            held = Fails()
            seen = weakref.ref(held)
            weakref.ref(Fails)
            return seen() is not None

        self.assertTrue(self.both(f))

    def test_generators_are_closed_in_their_turn(self):
        def f(x):
            log = []

            def numbers(name):
                try:
                    for i in range(3):
                        yield i
                finally:
                    log.append(name)

            def last():
                kept = numbers("local of a function that returns"), numbers("and the second")
                return next(kept[1]), next(kept[0])

            for i in numbers("loop"):
                if i == 1:
                    break
                log.append("body")
            held = numbers("overwritten")
            next(held)
            log.append("before")
            held = None
            last()
            held = [numbers("element")]
            next(held[0])
            held.clear()
            del held
            log.append("end")
            return x + len(log), log

        counters = sconce._dynamo.utils.counters
        counters.clear()
        x = sconce.ones(2)
        compiled = sconce.compile(f)
        for _ in range(2):
            self.assertEqual(compiled(x)[1], f(x)[1])
        self.assertEqual(dict(counters["graph_break"]), {})

    def test_dict_of_an_instance_replaced(self):
        state = {"n": 1}

        class Shares:
            def __init__(self):
                self.__dict__ = state

        def f(x):
            Shares().n += 1
            return (x * Shares().n).tolist()

        self.assertEqual(sconce.compile(f)(sconce.ones(1)), [2.0])
        self.assertEqual(state, {"n": 2})

    def test_classes_of_numbers_as_keys(self):
        def f(x, n):
            groups = {kind.__name__: len(list(group)) for kind, group in itertools.groupby([n, 1, x, 2.0], type)}
            return groups, sorted([n, "a"], key=lambda v: type(v).__name__)[0]

        compiled = sconce.compile(f)
        for n in (3, 4, 5, 6):
            self.assertEqual(compiled(sconce.ones(1), n), f(sconce.ones(1), n))

    def test_operators_that_fail_on_values(self):
        log = []

        def retried(k):
            log.append("tried")
            try:
                return sconce.linalg.cholesky(k)
            except RuntimeError as error:
                log.append(type(error).__name__)
                return sconce.linalg.cholesky(k + 10 * sconce.eye(2))

        def direct(k):
            return sconce.linalg.cholesky(k)

        def many_arguments(k, *rest, shift=1, **more):
            log.append((shift, sorted(more), len(rest)))
            try:
                k = sconce.linalg.cholesky(k + rest[0])
            finally:
                log.append("finally")
            return k * shift

        def made(scale):
            def closure(k):
                log.append(scale)
                try:
                    return sconce.linalg.cholesky(k)
                except RuntimeError:
                    return k * scale
            return closure

        def behind_a_break(k):
            log.append("one")
            print("between")
            log.append("two")
            try:
                return sconce.linalg.cholesky(k)
            except RuntimeError:
                return k

        def written(k):
            log.append("written")
            k.add_(1)
            return sconce.linalg.cholesky(k)

        def written_and_caught(k):
            log.append("written")
            k.mul_(2)
            noise = sconce.rand(2, 2)
            try:
                k = sconce.linalg.cholesky(k)
            except RuntimeError:
                log.append("caught")
                k[0] = 7
            return k + noise

        def written_among_many(k):
            view = k[0]
            for i in range(8):
                view.add_(0.5)
                k = (k @ k).softmax(-1)
            k.t_()
            try:
                return sconce.linalg.cholesky(k - 1)
            except RuntimeError:
                log.append("caught")
            return k

        def unused(k):
            log.append("unused")
            for _ in range(8):
                k = (k * 1.1).tanh()
            sconce.linalg.cholesky(k)
            sconce.rand(2).uniform_()
            return k

        def write_fails(k):
            log.append("write")
            try:
                k.index_add_(0, sconce.tensor([5]), k[:1])
            except IndexError:
                log.append("caught")
            return k

        def outcome(function, make, keywords):
            log.clear()
            args = make()
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    result = function(*args, **keywords).tolist()
            except Exception as error:  # noqa: BLE001
                result = type(error), str(error)
            return result, list(log), [a.tolist() for a in args], sconce.get_rng_state().tolist()

        def seeded(function, make, keywords):
            sconce.manual_seed(3)
            return outcome(function, make, keywords)

        good, bad = (lambda: (sconce.eye(2),)), (lambda: (-sconce.eye(2),))
        more = [lambda: (sconce.eye(2), sconce.eye(2)), lambda: (-sconce.eye(2), -sconce.eye(2), sconce.ones(1))]
        for function, calls, keywords in [
                (retried, [good, bad, good, bad], {}), (direct, [good, good, good, bad, good], {}), (made(3), [good, bad], {}),
                (many_arguments, more, {"shift": 2, "a": 1, "b": 2}), (behind_a_break, [good, bad, bad], {}),
                (written, [good, bad, good], {}), (written_and_caught, [good, bad, bad], {}), (unused, [good, bad], {}),
                (written_among_many, [good, bad], {}), (write_fails, [good, bad], {})]:
            compiled = sconce.compile(function)
            for make in calls:
                with self.subTest(function=function.__name__):
                    self.assertEqual(seeded(compiled, make, keywords), seeded(function, make, keywords))

    def test_tensors_of_inference_mode_are_restored(self):
        def written(k):
            k.mul_(2)
            noise = sconce.rand(2)
            try:
                return sconce.linalg.cholesky(k) + noise
            except RuntimeError:
                return k + noise

        for sign in (1, -1, -1):
            with sconce.inference_mode():
                results = []
                for function in (written, sconce.compile(written)):
                    sconce.manual_seed(1)
                    k = sign * sconce.eye(2)
                    results.append((function(k).tolist(), k.tolist(), sconce.rand(1).tolist()))
            self.assertEqual(results[0], results[1])

    def test_results_are_differentiated_one_by_one(self):
        def two(x, w):
            h = x
            for _ in range(6):
                h = (h * w).tanh()
            return h, (h.detach() @ h.detach() * w).sum()

        def grads(function):
            x, w = sconce.eye(3).requires_grad_(), sconce.ones(3, 3).requires_grad_()
            h, d = function(x, w)
            d.backward()
            h.sum().backward()
            return x.grad.tolist(), w.grad.tolist()

        compiled = sconce.compile(two)
        for _ in range(3):
            self.assertEqual(grads(compiled), grads(two))

    def test_ordered_dicts_keep_their_order(self):
        def f(x, table):
            return list(table), next(reversed(table)), x + len(table)

        class Table(collections.OrderedDict):
            pass

        for kind in (collections.OrderedDict, Table):
            table = kind(a=1, b=2)
            compiled = sconce.compile(f)
            for key in ("a", "b", "a", "a"):
                table.move_to_end(key)
                self.assertEqual(compiled(sconce.ones(1), table)[:2], f(sconce.ones(1), table)[:2])

    def test_functions_of_a_class_by_their_descriptor(self):
        class Handler:
            @functools.singledispatchmethod
            def handle(self, value):
                return "other"

            @handle.register
            def _(self, value: int):
                return value + 1

        def f(x, value):
            return x + 1, Handler().handle(value), Handler().handle

        compiled = sconce.compile(f)
        for value in (1, "a", 2):
            self.assertEqual(compiled(sconce.ones(1), value)[1], f(sconce.ones(1), value)[1])
        Handler.__dict__["handle"].register(str, lambda self, value: value * 2)
        self.assertEqual(compiled(sconce.ones(1), "a")[1], "aa")

    def test_tuples_that_hold_themselves(self):
        def f(x):
            held = []
            ring = (held, x + 1)
            held.append(ring)
            return ring

        def printed(x):
            held = []
            ring = (held, x)
            held.append(ring)
            print(end="")
            return ring

        for function in (f, printed):
            ring = sconce.compile(function)(sconce.ones(1))
            self.assertIs(ring[0][0], ring)

    def test_functions_without_tensors_are_left_alone(self):
        def f(n):
            weakref.ref(Fails)
            return sys._getframe().f_code

        self.assertIs(sconce.compile(f)(1), f.__code__)


if __name__ == "__main__":
    unittest.main()
