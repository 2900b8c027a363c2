"""Observers: whoever wants to know what capture does (logs, explain, the trace page) listens here."""

import collections
import contextlib

from .. import _sconce

_listeners = []
counters = collections.defaultdict(collections.Counter)  # as sconce._dynamo.utils has them


def _tell(event, facts):
    for listener in tuple(_listeners):
        listener(event, facts)


def _count(event, facts):
    if event == "compiled":
        counters["frames"]["total"] += 1
        if facts["graph"] is not None:
            counters["stats"]["unique_graphs"] += 1
            counters["stats"]["calls_captured"] += facts["nodes"]
            counters["frames"]["ok"] += 1
        for _, reason, *_ in facts["breaks"]:
            counters["graph_break"][reason] += 1
    elif event == "recompile":
        counters["recompiles"]["total"] += 1


def _observe():
    _sconce._capture_observe(_tell if _listeners else None, any(listener is not _count for listener in _listeners))


def listen(listener):
    """listener(event, facts) hears of every compilation from now on (report.h has the facts)."""
    _listeners.append(listener)
    _observe()


def unlisten(listener):
    """The opposite."""
    _listeners.remove(listener)
    _observe()


@contextlib.contextmanager
def listening(listener):
    """Listens for the duration of a with statement."""
    listen(listener)
    try:
        yield listener
    finally:
        unlisten(listener)


listen(_count)
