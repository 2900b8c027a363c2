"""sconce-real-sizes: random calls at sizes of real models, compared with a plain reference or with PyTorch.

    sconce-real-sizes --seconds 60                           all families; against the reference in NumPy
    sconce-real-sizes --calls 100000 --against torch         against PyTorch in double precision, with one thread
    sconce-real-sizes --family convolution,pool --level 2,3  some families, by the kernels of two levels
    sconce-real-sizes --repeat 'pool:0:17 eager 2 once'      one call again
    sconce-real-sizes --write FOLDER --calls 500             case files for sconce-conformance

A child process runs some hundred calls at one level of vector instructions; a call that ends it is a difference.
"""

import argparse
import json
import os
import pathlib
import selectors
import subprocess
import sys
import time

FAMILIES = ("convolution", "product", "attention", "norm", "pool", "resize", "recurrent", "reduction", "scan", "index", "order", "loss",
            "fft", "linalg", "optimizer", "draw", "pointwise", "shape", "program")
CYCLE = (*FAMILIES, "convolution", "product", "convolution", "norm", "pool", "program", "index", "attention", "convolution", "reduction")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
BATCH = 600  # calls of one child, at most
PATIENCE = 300.0  # seconds for one call


def arguments():
    parser = argparse.ArgumentParser(prog="sconce-real-sizes", description=__doc__.split("\n")[0],
                                     epilog="A difference ends with the arguments that repeat it.")
    parser.add_argument("--calls", type=int, help="number of calls [without --seconds: 1000]")
    parser.add_argument("--seconds", type=float, help="stop after so many seconds")
    parser.add_argument("--seed", type=int, default=0, help="seed of all calls [0]")
    parser.add_argument("--start", type=int, default=0, help="number of the first call [0]")
    parser.add_argument("--family", default=",".join(CYCLE), help="families, separated by commas, in turn [all]")
    parser.add_argument("--threads", default="1,2,4", help="numbers of threads [1,2,4]")
    parser.add_argument("--level", default="4,3,2", help="levels of vector instructions, turn by turn [4,3,2]")
    parser.add_argument("--mode", default="eager,planned,packed,captured", help="eager, planned, packed, captured [all]")
    parser.add_argument("--against", choices=("reference", "torch"), default="reference", help="the results to compare with [reference]")
    parser.add_argument("--device", default="cpu", help="where Sconce runs: cpu, cuda [cpu]")
    parser.add_argument("--subject", default="sconce", help="the library to check: sconce, torch [sconce]")
    parser.add_argument("--jobs", type=int, default=1, help="child processes at a time [1]")
    parser.add_argument("--repeat", action="append", default=[], metavar="CALL", help="run this call: family:seed:index[:choices] setting")
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER", help="write the calls as case files, with expected results")
    parser.add_argument("--no-shrink", action="store_true", help="leave differing calls as they are")
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each difference, and the counts as JSON")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def child(text):
    """Runs calls [first, last); prints a line before each, and its record after it."""
    o = json.loads(text)
    import warnings

    warnings.simplefilter("ignore")
    from real_sizes.runner import Runner

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    runner = Runner(o["modes"], o["threads"], o["against"], o["device"], o["subject"])
    shrunk = 0
    for index in range(o["first"], o["last"]):
        key = f"{o['families'][index % len(o['families'])]}:{o['seed']}:{index}"
        out.write(f"> {key}\n")
        out.flush()
        record = runner.run(key)
        if record["found"] and o["shrink"] and shrunk < 4 and "choices" in record and "setting" in record:
            shrunk += 1
            small = runner.shrink(record)
            record.update(smallest=small["call"], smallest_found=small["found"], choices=small["choices"])
        elif not record["found"]:
            record.pop("choices", None)
        out.write(json.dumps(record) + "\n")
        out.flush()


class Child:
    def __init__(self, options, first, last, level):
        self.first, self.last, self.level = first, last, level
        environment = {**os.environ, **ONE_THREAD, "SCONCE_CPU_LEVEL": level}
        self.errors = os.memfd_create("errors")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--child", json.dumps({**options, "first": first, "last": last})],
            stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.rest = b""
        self.key, self.since, self.done = None, time.monotonic(), 0

    def lines(self):
        data = self.process.stdout.read()
        if data is None:
            return []
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.ended = not data
        return [line.decode() for line in lines]

    def tail(self):
        size = os.fstat(self.errors).st_size
        return os.pread(self.errors, 2000, max(0, size - 2000)).decode(errors="replace")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        os.close(self.errors)


class Totals:
    def __init__(self, as_json):
        self.by_family, self.by_mode, self.by_level, self.by_dtype, self.refused = {}, {}, {}, {}, {}
        self.calls = self.differ = self.pytorch = 0
        self.as_json = as_json
        self.begin = self.shown = time.monotonic()

    def add(self, record, level):
        family = record["key"].split(":")[0]
        row = self.by_family.setdefault(family, [0, 0, 0, 0.0])
        row[0] += 1
        row[3] += record["seconds"]
        self.calls += 1
        for table, name in ((self.by_mode, record["mode"]), (self.by_level, f"v{level}"), (self.by_dtype, record["dtype"])):
            table[name] = table.get(name, 0) + 1
        self.pytorch += record.get("pytorch", False)
        if record["refused"]:
            row[2] += 1
            self.refused[record["reason"]] = self.refused.get(record["reason"], 0) + 1
        if record["found"]:
            row[1] += 1
            self.differ += 1
            self.show(record, level)

    def show(self, record, level):
        if self.as_json:
            print(json.dumps({**record, "level": level}), flush=True)
            return
        print(f"\nDIFFERS {record['key']}, {record.get('setting', '')}, level {level}: {record.get('call', '')}")
        for text in record["found"]:
            print(f"    {text}")
        if record.get("trace"):
            print("    " + "\n    ".join(record["trace"].strip().split("\n")[-4:]))
        choices = ""
        if record.get("smallest"):
            print(f"  smallest: {record['smallest']}")
            for text in record["smallest_found"]:
                print(f"    {text}")
            choices = ":" + ",".join(map(str, record["choices"]))
        print(f"  again: --level {level} --repeat '{record['key']}{choices} {record.get('setting', '')}'", flush=True)

    def progress(self, last=False):
        now = time.monotonic()
        if last or now - self.shown > 30 and not self.as_json:
            self.shown = now
            print(f"{self.calls} calls in {now - self.begin:.0f} s, {self.differ} differ", flush=True)

    def summary(self):
        if self.as_json:
            print(json.dumps({"calls": self.calls, "differ": self.differ, "families": self.by_family, "modes": self.by_mode,
                              "levels": self.by_level, "dtypes": self.by_dtype, "refused": self.refused, "pytorch": self.pytorch}))
            return
        print(f"\n{'family':<14}{'calls':>9}{'differ':>8}{'refused':>9}{'ms a call':>11}")
        for name, (calls, differ, refused, seconds) in sorted(self.by_family.items()):
            print(f"{name:<14}{calls:>9}{differ:>8}{refused:>9}{seconds / calls * 1e3:>11.1f}")
        for table in (self.by_mode, self.by_level, self.by_dtype):
            print(", ".join(f"{name} {n}" for name, n in sorted(table.items())))
        for reason, n in sorted(self.refused.items(), key=lambda e: -e[1])[:10]:
            print(f"refused {n} times: {reason}")
        if self.pytorch:
            print(f"{self.pytorch} differ from PyTorch and agree with the plain reference")
        self.progress(last=True)


def search(options, calls, seconds, start, levels, jobs, totals):
    """Children over batches of calls, until the calls or the seconds are used up."""
    watch = selectors.DefaultSelector()
    end = time.monotonic() + seconds if seconds else None
    next_, turn, running = start, 0, set()
    last = start + calls if calls else None
    batch = min(BATCH, -(-calls // (2 * len(levels) * jobs))) if calls else BATCH

    def begin(first, until, level):
        one = Child(options, first, until, level)
        running.add(one)
        watch.register(one.process.stdout, selectors.EVENT_READ, one)

    def over():
        return end is not None and time.monotonic() > end

    def finish(one, why=None):
        watch.unregister(one.process.stdout)
        running.discard(one)
        if why is not None and one.key is None:
            print(one.tail(), file=sys.stderr)
            sys.exit("sconce-real-sizes: a child process ended before its first call")
        at = one.first + one.done
        if why is not None:
            totals.add({"key": one.key, "mode": "", "dtype": "", "refused": False, "seconds": 0.0,
                        "found": [why, *one.tail().strip().split("\n")[-3:]]}, one.level)
            at += 1
        one.close()
        if why is not None and at < one.last and not over():
            begin(at, one.last, one.level)

    try:
        while True:
            while len(running) < jobs and not over() and (last is None or next_ < last):
                until = next_ + batch if last is None else min(next_ + batch, last)
                begin(next_, until, levels[turn % len(levels)])
                next_, turn = until, turn + 1
            if not running:
                break
            for event, _ in watch.select(1.0):
                one = event.data
                for line in one.lines():
                    one.since = time.monotonic()
                    if line.startswith("> "):
                        one.key = line[2:]
                    else:
                        totals.add(json.loads(line), one.level)
                        one.done += 1
                if one.ended:
                    code = one.process.wait()
                    finish(one, f"the process ended with {code}" if code or one.done < one.last - one.first else None)
            for one in list(running):
                if time.monotonic() - one.since > PATIENCE:
                    finish(one, f"no answer in {PATIENCE:.0f} s")
                elif over():
                    finish(one)
            totals.progress()
    finally:
        for one in list(running):
            one.close()


def repeat(o, options):
    """Calls again, in this process; PyTorch and the plain reference both, where they are."""
    from real_sizes.runner import Runner, Setting

    status = 0
    runner = Runner(options["modes"], options["threads"], o.against, o.device, o.subject)
    for text in o.repeat:
        key, *words = text.split()
        parts = key.split(":")
        choices = [int(c) for c in parts[3].split(",")] if len(parts) > 3 else None
        record = runner.run(":".join(parts[:3]), choices, Setting.read(words) if words else None)
        print(f"{record['key']}: {record.get('call') or runner.make(record['key'], choices)[0]}")
        for line in record["found"] or [record.get("reason", "refused") if record["refused"] else "right"]:
            print(f"    {line}")
        if record.get("trace"):
            print(record["trace"])
        status |= bool(record["found"])
    return status


def main():
    o = arguments()
    if o.child:
        child(o.child)
        return 0
    unknown = [f for f in o.family.split(",") if f not in FAMILIES]
    if unknown:
        sys.exit(f"sconce-real-sizes: unknown family {', '.join(unknown)}; there are {', '.join(FAMILIES)}")
    families = [f for f in o.family.split(",") if f != "draw" or o.device == "cpu"]  # test_cuda_draws.py compares the device's draws
    options = {"families": families, "seed": o.seed, "modes": o.mode.split(","),
               "threads": [int(n) for n in o.threads.split(",")], "against": o.against, "device": o.device, "subject": o.subject,
               "shrink": not o.no_shrink}
    if o.repeat:
        level = o.level.split(",")[0]
        if os.environ.get("SCONCE_CPU_LEVEL") != level:
            os.execve(sys.executable, [sys.executable, "-W", "ignore", __file__, *sys.argv[1:]],
                      {**os.environ, **ONE_THREAD, "SCONCE_CPU_LEVEL": level})
        return repeat(o, options)
    calls = o.calls if o.calls or o.seconds else 1000
    if o.write:
        from real_sizes.write import write
        return write(o.write, options, calls, o.start)
    totals = Totals(o.json)
    search(options, calls, o.seconds, o.start, o.level.split(","), o.jobs, totals)
    totals.summary()
    return 1 if totals.differ else 0


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
    sys.exit(main())
