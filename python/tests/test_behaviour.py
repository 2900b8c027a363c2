"""Ctrl-C, threads, the lock of Python, fork, the end of the interpreter."""

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import sconce as torch
from sconce import jit


class Interrupted(unittest.TestCase):
    """Ctrl-C ends long calls soon."""

    def interrupt(self, work, after=0.3, most=3.0):
        timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            work()
        self.assertLess(time.monotonic() - begin, after + most)
        timer.join()
        self.assertEqual((torch.ones(3) + 1).sum().item(), 6)  # calls work as before

    def test_operator(self):
        x = torch.ones(3500, 3500, dtype=torch.float64)
        torch.set_num_threads(1)
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        self.interrupt(lambda: [x @ x for _ in range(30)])

    def test_program(self):
        unit = jit.CompilationUnit("""
def forever(n: int) -> int:
    i = 0
    while i < n:
        i += 1
    return i
""")
        self.interrupt(lambda: unit.forever(2 ** 62))

    def test_backward(self):
        def work():
            x = torch.ones(300, 300, requires_grad=True)
            y = x
            for _ in range(3000):
                y = y @ x * 1e-3
            while True:
                y.sum().backward(retain_graph=True)

        self.interrupt(work, after=1.5)

    def test_handlers_of_the_user_are_left_alone(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        try:
            x = torch.ones(1500, 1500)
            threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            begin = time.monotonic()
            while time.monotonic() - begin < 0.3:
                y = x @ x  # goes on
            self.assertEqual(y[0, 0].item(), 1500)
        finally:
            signal.signal(signal.SIGINT, before)
        self.assertEqual(seen, [signal.SIGINT])


class Threads(unittest.TestCase):
    def test_long_operators_let_others_run(self):
        """While one thread multiplies, another counts: it is not stopped for the length of a product."""
        gaps, stop = [], threading.Event()

        def count():
            last = time.perf_counter()
            while not stop.is_set():
                now = time.perf_counter()
                gaps.append(now - last)
                last = now
                time.sleep(0)

        x = torch.ones(2500, 2500, dtype=torch.float64)
        thread = threading.Thread(target=count)
        thread.start()
        begin = time.perf_counter()
        x @ x
        took = time.perf_counter() - begin
        stop.set()
        thread.join()
        self.assertLess(max(gaps), max(0.5 * took, 0.2))

    def test_many(self):
        errors = []

        def work(number):
            try:
                for i in range(300):
                    x = torch.full((8,), float(number), requires_grad=True)
                    x.note = number
                    (x * x).sum().backward()
                    assert x.grad.tolist() == [2.0 * number] * 8
                    assert torch.cat([x, x])[0].item() == number and x.note == number
                    try:
                        torch.ones(2) @ torch.ones(3)
                    except RuntimeError:
                        pass
            except BaseException as error:  # noqa: B902  reported below
                errors.append(error)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])

    def test_grad_mode_is_of_the_thread(self):
        modes = []
        with torch.no_grad():
            thread = threading.Thread(target=lambda: modes.append(torch.is_grad_enabled()))
            thread.start()
            thread.join()
        self.assertEqual(modes, [True])

    def test_objects_die_in_any_thread(self):
        tensors = [torch.ones(3) for _ in range(100)]
        for t in tensors:
            t.note = object()
        _thread.start_new_thread(tensors.clear, ())
        while tensors:
            time.sleep(0.01)


class Processes(unittest.TestCase):
    def test_fork(self):
        x = torch.ones(300, 300)
        x @ x  # threads exist
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                y = torch.ones(300, 300, requires_grad=True)
                (y @ x).sum().backward()
                os.write(write, str(y.grad[0, 0].item()).encode())
            finally:
                os._exit(0)
        os.close(write)
        self.assertEqual(os.read(read, 100), b"300.0")
        os.close(read)
        os.waitpid(child, 0)

    def run_python(self, text):
        done = subprocess.run([sys.executable, "-B", "-c", text], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_end(self):
        """Tensors with attributes, hooks and functions that live until the end."""
        self.assertEqual(self.run_python("""
import sconce, threading
class F(sconce.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.x = x; return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2
x = sconce.ones(3, requires_grad=True)
x.me = x
x.register_hook(lambda g: g)
y = F.apply(x)
y.grad_fn.register_hook(lambda a, b: None)
y.sum().backward()
sconce.kept = [x, y, x.grad, y.grad_fn, x.untyped_storage(), sconce.Generator()]
print(x.grad.tolist())
"""), "[2.0, 2.0, 2.0]\n")

    def test_import_is_lazy(self):
        self.assertEqual(self.run_python("""
import sys, sconce
print([name for name in ("sconce.nn.module", "sconce.optim.lr_scheduler", "ast", "inspect", "numpy") if name in sys.modules])
import sconce.nn.functional, sconce.optim
from sconce import nn
print(sconce.nn is nn, nn.functional is sconce.nn.functional, isinstance(nn.Linear(1, 1), sconce.nn.Module))
"""), "[]\nTrue True True\n")

    def test_reading_all_modules_imports_no_other_package(self):
        """As unittest's assertWarns does, which asks each module for its registry of warnings."""
        self.assertEqual(self.run_python("""
import sys, sconce
for name in ("numpy", "torch"):
    sys.modules[name] = None  # importing it is an error
for module in list(sys.modules.values()):
    getattr(module, "__warningregistry__", None)
print("read")
"""), "read\n")


if __name__ == "__main__":
    unittest.main()
