"""Backends that count, for tests of programs."""


class CompileCounter:
    """Counts graphs and their calls; runs them as they are."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        return gm.forward

    def clear(self):
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend:
    """The same over another backend; keeps the graphs."""

    def __init__(self, backend):
        self.backend = backend
        self.clear()

    def __call__(self, gm, example_inputs):
        from ..compiler._backends import lookup_backend

        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)
        self.graphs.append(gm)
        function = lookup_backend(self.backend)
        return gm.forward if function is None else function(gm, example_inputs)

    def clear(self):
        self.frame_count = self.op_count = 0
        self.graphs = []


class EagerAndRecordGraphs:
    """Keeps the graphs; runs them as they are."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward
