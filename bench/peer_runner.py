"""One peer of peers.py: runs one model in PyTorch or ONNX Runtime, in a process of its own.

Reads one command a line, words apart by tabs, and answers each with one line of JSON:
  prepare MODEL BATCH FOLDER             writes what all sides share: program.pt, and input0.npy, input1.npy, ...
  start PEER MODEL BATCH THREADS FOLDER  makes the peer ready: its version, how it runs, seconds that took, one call's seconds
  time SECONDS RUNS                      times call by call, for SECONDS but at least RUNS calls: least, median, runs
  result FILE                            writes the result of a call as .npy
An answer that begins with "error" says why there is none.
"""
import json
import os
import pathlib
import statistics
import sys
import time
import warnings

warnings.simplefilter("ignore")

import numpy as np
import torch

import peer_models


def load_inputs(folder):
    return [torch.from_numpy(np.load(path)) for path in sorted(folder.glob("input*.npy"))]


def prepare(name, batch, folder):
    folder.mkdir(parents=True, exist_ok=True)
    module, inputs = peer_models.make(name, batch)
    scripted = name in peer_models.SCRIPTED
    program = torch.jit.script(module) if scripted else torch.jit.trace(module, tuple(inputs), check_trace=False)
    for number, tensor in enumerate(inputs):
        np.save(folder / f"input{number}.npy", tensor.numpy())
    program.save(folder / "program.pt")  # last: what is there is whole


def module_of(name, batch, folder):
    """The module with the weights of program.pt: statistics of batch norms depend on the number of threads that made them."""
    module, _ = peer_models.make(name, batch)
    module.load_state_dict(torch.jit.load(folder / "program.pt").state_dict())
    return module


def seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


class Eager:
    def __init__(self, name, batch, threads, folder):
        module, inputs = module_of(name, batch, folder), load_inputs(folder)
        self.call = lambda: module(*inputs)
        self.how = "eager"
        self.version = torch.__version__

    def result(self):
        return self.call().numpy()


class TorchScript(Eager):
    """Frozen, and optimize_for_inference where that is the faster of the two: for small layers it is not."""

    def __init__(self, name, batch, threads, folder):
        inputs = load_inputs(folder)
        frozen = torch.jit.freeze(torch.jit.load(folder / "program.pt").eval())
        optimised = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.load(folder / "program.pt").eval()))
        programs = {"frozen": frozen, "optimize_for_inference": optimised}
        calls = {how: lambda program=program: program(*inputs) for how, program in programs.items()}
        for call in calls.values():
            for _ in range(3):  # the executor profiles the first and compiles at the second
                call()
        times = {how: min(seconds_of(call) for _ in range(5)) for how, call in calls.items()}
        self.how = min(times, key=times.get)
        self.call = calls[self.how]
        self.version = torch.__version__


class Inductor(Eager):
    def __init__(self, name, batch, threads, folder):
        import torch._inductor.config

        torch._inductor.config.freezing = True
        module, inputs = torch.compile(module_of(name, batch, folder), dynamic=False), load_inputs(folder)
        self.call = lambda: module(*inputs)
        self.how = "torch.compile, dynamic=False, freezing"
        self.version = torch.__version__


class OnnxRuntime:
    """Inputs and outputs are bound once: a call converts and allocates nothing."""

    def __init__(self, name, batch, threads, folder):
        import onnxruntime

        inputs = load_inputs(folder)
        path = folder / "model.onnx"
        if not path.exists():
            self.export(name, batch, folder, inputs, path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = session.io_binding()
        feed = {at.name: tensor.numpy() for at, tensor in zip(session.get_inputs(), inputs, strict=True)}
        self.values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in feed.values()]
        self.values += [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in session.run(None, feed)]
        for at, value in zip(feed, self.values):
            self.binding.bind_ortvalue_input(at, value)
        for at, value in zip(session.get_outputs(), self.values[len(feed):], strict=True):
            self.binding.bind_ortvalue_output(at.name, value)
        self.call = lambda: session.run_with_iobinding(self.binding)
        self.how = "inputs and outputs bound"
        self.version = onnxruntime.__version__

    @staticmethod
    def export(name, batch, folder, inputs, path):
        unfinished = folder / "unfinished.onnx"
        if name in peer_models.SCRIPTED:  # the exporter that keeps loops
            program = torch.jit.load(folder / "program.pt")
            torch.onnx.export(program, tuple(inputs), unfinished, dynamo=False, opset_version=17)
        else:
            module = module_of(name, batch, folder)
            torch.onnx.export(module, tuple(inputs), unfinished, dynamo=True, external_data=False, verbose=False)
        unfinished.rename(path)

    def result(self):
        self.call()
        return self.binding.copy_outputs_to_cpu()[0]


PEERS = {"PyTorch": Eager, "TorchScript": TorchScript, "ONNX Runtime": OnnxRuntime, "Inductor": Inductor}


class Session:
    def __init__(self):
        self.peer = None

    def prepare(self, name, batch, folder):
        prepare(name, int(batch), pathlib.Path(folder))
        return {}

    def start(self, peer, name, batch, threads, folder):
        torch.set_num_threads(int(threads))
        begin = time.perf_counter()
        self.peer = PEERS[peer](name, int(batch), int(threads), pathlib.Path(folder))
        with torch.inference_mode():
            self.peer.call()
            ready = time.perf_counter() - begin
            once = min(seconds_of(self.peer.call) for _ in range(2))
        return {"version": self.peer.version, "how": self.peer.how, "ready_seconds": ready, "call_seconds": once}

    @torch.inference_mode()
    def time(self, seconds, runs):
        self.peer.call()  # caches are the other sides' still
        times, until = [], time.perf_counter() + float(seconds)
        while len(times) < int(runs) or time.perf_counter() < until:
            times.append(seconds_of(self.peer.call))
        return {"least": min(times), "median": statistics.median(times), "runs": len(times)}

    @torch.inference_mode()
    def result(self, path):
        np.save(path, self.peer.result())
        return {}


def main():
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes to the log
    session = Session()
    with torch.no_grad():  # tracing and exporting refuse inference mode
        for line in sys.stdin:
            command, *words = line.rstrip("\n").split("\t")
            try:
                answers.write(json.dumps(getattr(session, command)(*words)) + "\n")
            except Exception as error:  # the others go on
                answers.write(f"error {type(error).__name__}: {' '.join(str(error).split())[:300]}\n")


if __name__ == "__main__":
    main()
