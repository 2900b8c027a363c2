"""What tests of programs ask: counters["stats"]["unique_graphs"], counters["graph_break"]."""

from ..compiler._watch import counters  # noqa: F401
