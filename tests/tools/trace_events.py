"""Checks a trace-event file and prints its slices as a tree. Usage: trace_events.py FILE"""

import json
import sys

document = json.load(open(sys.argv[1]))
assert document["displayTimeUnit"] in ("ms", "ns")
events = document["traceEvents"]
slices = [e for e in events if e["ph"] == "X"]
names = [e for e in events if e["ph"] == "M"]
assert len(slices) + len(names) == len(events)
assert {e["name"] for e in names} == {"process_name", "thread_name"}
assert {e["tid"] for e in slices} <= {e["tid"] for e in names if e["name"] == "thread_name"}
for e in slices:
    assert e["pid"] == 1 and e["ts"] >= 0 and e["dur"] >= 0 and e["cat"] in ("method", "module", "operator"), e
    assert e["cat"] != "operator" or "inputs" in e["args"], e
for thread in sorted({e["tid"] for e in slices}):
    open_slices = []
    for e in (e for e in slices if e["tid"] == thread):
        while open_slices and open_slices[-1]["ts"] + open_slices[-1]["dur"] <= e["ts"] + 1e-6:
            open_slices.pop()
        if open_slices:  # inside of the one around it, whole
            outer = open_slices[-1]
            assert e["ts"] + e["dur"] <= outer["ts"] + outer["dur"] + 1e-3, (e, outer)
        print(f"thread {thread}: " + "  " * len(open_slices) + f"{e['cat']} {e['name']}")
        open_slices.append(e)
