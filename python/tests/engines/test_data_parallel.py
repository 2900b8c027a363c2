"""Training over processes (sconce.distributed, DistributedDataParallel), started by mpirun."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import sconce

import model_file

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples" / "engines" / "data_parallel.py"
# Open MPI asks for a yes before it runs as root or on fewer cores than processes.
_ALLOWED = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMP_NUM_THREADS": "1"}


def start(processes, *command):
    return subprocess.Popen(["mpirun", "-n", str(processes), sys.executable, *map(str, command)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env={**os.environ, **_ALLOWED}, start_new_session=True)


def run(processes, *command):
    process = start(processes, *command)
    out, error = process.communicate(timeout=120)
    if process.returncode != 0:
        raise RuntimeError(f"ended with {process.returncode}:\n{error[-3000:]}")
    return out


class Collectives(unittest.TestCase):
    PROGRAM = """
import sconce, sconce.distributed as dist
dist.init_process_group(backend="mpi")
rank, size = dist.get_rank(), dist.get_world_size()
for dtype in (sconce.float32, sconce.float64, sconce.int64, sconce.bfloat16, sconce.float16):
    t = sconce.full((2, 3), rank + 1, dtype=dtype).t()
    version = t._version
    dist.all_reduce(t)
    assert t.dtype == dtype and t.tolist() == [[6, 6]] * 3 and t._version > version, t
t = sconce.tensor([float(rank)])
dist.all_reduce(t, dist.ReduceOp.AVG); assert t.item() == 1
t = sconce.tensor([rank]); dist.all_reduce(t, op=dist.ReduceOp.MAX); assert t.item() == 2
t = sconce.tensor([rank]); dist.broadcast(t, 2); assert t.item() == 2
t = sconce.tensor([rank]); dist.reduce(t, 1); assert t.item() == (3 if rank == 1 else rank)
parts = [sconce.zeros(2) for _ in range(3)]
work = dist.all_gather(parts, sconce.full((2,), float(rank)), async_op=True); work.wait()
assert [p[0].item() for p in parts] == [0, 1, 2]
if rank == 0: dist.send(sconce.ones(4), 1)
if rank == 1:
    t = sconce.zeros(4); assert dist.recv(t) == 0 and t.sum() == 4
objects = [None] * 3; dist.all_gather_object(objects, {"rank": rank}); assert objects[2] == {"rank": 2}
def refused(call, *words):
    try: call()
    except Exception as error: assert all(w in str(error) for w in words), error
    else: raise AssertionError("not refused")
refused(lambda: dist.init_process_group(), "twice")
refused(lambda: dist.all_reduce(sconce.tensor([1]), dist.ReduceOp.AVG), "an average is a float")
refused(lambda: dist.all_reduce(sconce.ones(1), group="some"), "only the group of all")
refused(lambda: dist.all_gather(parts[:1], sconce.ones(2)), "1 tensors for the results of 3")
dist.barrier(); dist.destroy_process_group()
assert not dist.is_initialized() and dist.get_world_size() == 1
print("fine")
"""

    def test_all(self):
        self.assertEqual(run(3, "-c", self.PROGRAM).count("fine"), 3)

    def test_other_backends_are_refused(self):
        with self.assertRaisesRegex(ValueError, "Invalid backend: 'gloo'. Sconce talks through 'mpi'"):
            sconce.distributed.init_process_group("gloo")
        with self.assertRaisesRegex(ValueError, "has not been initialized"):
            sconce.distributed.all_reduce(sconce.ones(1))


class DataParallel(unittest.TestCase):
    CHECKS = """
import sconce, sconce.distributed as dist
from sconce.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("mpi")
rank = dist.get_rank()
sconce.manual_seed(rank)
net = sconce.nn.Sequential(sconce.nn.Linear(3, 5), sconce.nn.BatchNorm1d(5), sconce.nn.Linear(5, 2))
model = DDP(net, bucket_cap_mb=0)                       # a bucket per parameter
same = net[0].weight.detach().clone(); dist.broadcast(same, 0); assert sconce.equal(same, net[0].weight)
model(sconce.randn(4, 3)).sum().backward()
grad = net[2].weight.grad.clone(); dist.all_reduce(grad, dist.ReduceOp.AVG); assert sconce.allclose(grad, net[2].weight.grad)
model.zero_grad()
with model.no_sync():
    model(sconce.full((4, 3), rank + 1.0)).sum().backward()
    mine = net[2].bias.grad.clone()
model(sconce.ones(4, 3)).sum().backward()
assert sconce.equal(net[2].bias.grad, mine * 2), net[2].bias.grad
class Two(sconce.nn.Module):
    def __init__(self):
        super().__init__(); self.a, self.b = sconce.nn.Linear(1, 1), sconce.nn.Linear(1, 1)
    def forward(self, x): return self.a(x)
two = DDP(Two()); two(sconce.ones(1, 1)).sum().backward()
try: two(sconce.ones(1, 1))
except RuntimeError as error: assert "parameters that were not used" in str(error)
else: raise AssertionError("not refused")
try: DDP(sconce.nn.Linear(1, 1 + rank))
except RuntimeError as error: assert "the parameters of process" in str(error), error
else: raise AssertionError("not refused")
dist.destroy_process_group(); print("fine")
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def weights(self, name):
        return sconce.load(str(self.folder / name))["model"]

    def train(self, processes, name, *options):
        return run(processes, "-m", "sconce", EXAMPLE, "--checkpoint", self.folder / name, *options)

    def test_gradients_and_refusals(self):
        self.assertEqual(run(2, "-c", self.CHECKS).count("fine"), 2)

    def test_four_processes_train_as_one(self):
        self.train(1, "one.pth")
        self.train(4, "four.pth")
        one, four = self.weights("one.pth"), self.weights("four.pth")
        start = run(1, "-c", "import sconce; sconce.manual_seed(0); print(sconce.nn.Linear(2, 64).weight.sum().item())")
        self.assertGreater(abs(one["module.0.weight"].sum().item() - float(start)), 0.1)  # it was trained
        for name, value in one.items():
            self.assertLess((value - four[name]).abs().max().item(), 2e-5, name)

    def test_a_killed_run_goes_on(self):
        self.train(2, "whole.pth", "--epochs", "40")
        path = self.folder / "killed.pth"
        process = start(2, "-m", "sconce", EXAMPLE, "--checkpoint", path, "--epochs", "40")
        try:
            ends = time.monotonic() + 60
            while not path.exists() and time.monotonic() < ends:
                time.sleep(0.01)
            worker = subprocess.run(["pgrep", "-f", "-n", f"sconce .*data_parallel.py --checkpoint {path}"], capture_output=True, text=True,
                                    check=True).stdout
            os.kill(int(worker), signal.SIGKILL)
            process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        self.assertNotEqual(process.returncode, 0)
        self.assertLess(sconce.load(str(path))["epoch"], 39, "it had ended before it was killed")
        self.assertIn("goes on with epoch", self.train(2, "killed.pth", "--epochs", "40"))
        whole, killed = self.weights("whole.pth"), self.weights("killed.pth")
        for name, value in whole.items():
            self.assertTrue(sconce.equal(value, killed[name]), name)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun (Debian: openmpi-bin)")
        sys.exit(model_file.UNAVAILABLE)
    model_file.main("mpi4py", "there is no mpi4py (Debian: python3-mpi4py)")
