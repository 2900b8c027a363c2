"""ArrayModel: a model file as a function from arrays of numpy to arrays of numpy."""

import threading

import numpy

import sconce


def _arguments(schema):
    """Names of a method's arguments: "forward(C self, Tensor x, (Tensor, int) y=None) -> Tensor" has x and y."""
    inside, depth, names, word = schema[schema.index("(") + 1:], 1, [], ""
    for letter in inside:
        depth += (letter in "([") - (letter in ")]")
        if depth == 0 or (depth == 1 and letter == ","):
            names.append(word.partition("=")[0].strip().rpartition(" ")[2])
            word = ""
            if depth == 0:
                break
        else:
            word += letter
    return [name for name in names if name and name not in ("self", "*")]


class ArrayModel:
    """Loads a model file in the process that first calls it; what is pickled to workers is the path and the options.

    Args:
        path: a file that sconce.jit.load takes. Workers on other machines need it under the same path.
        method: which method runs.
        outputs: names of the results; "output_0", "output_1", ... if they are not given.
        device: where it runs, as for map_location.
        threads: threads of a call, of the whole process."""

    def __init__(self, path, *, method="forward", outputs=None, device="cpu", threads=1):
        self.path, self.method, self.device, self.threads = str(path), method, device, threads
        self.given_outputs = list(outputs) if outputs is not None else None
        self._function, self._lock = None, threading.Lock()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in ("_function", "_lock", "_inputs", "_module")}

    def __setstate__(self, state):
        vars(self).update(state, _function=None, _lock=threading.Lock())

    def load(self):
        """Loads the file now, if it is not."""
        with self._lock:
            if self._function is None:
                sconce.set_num_threads(self.threads)
                self._module = sconce.jit.load(self.path, map_location=self.device)
                self._module.eval()
                function = getattr(self._module, self.method, None)
                if function is None or not hasattr(function, "schema"):
                    raise AttributeError(f"{self.path} has no method '{self.method}'")
                self._inputs, self._function = _arguments(function.schema), function
        return self

    @property
    def inputs(self):
        """Names of the method's arguments."""
        return self.load()._inputs

    def __call__(self, *arrays):
        """Arrays for the arguments in their order; a list of the results' arrays."""
        self.load()
        tensors = [sconce.from_numpy(numpy.ascontiguousarray(a)).to(self.device) for a in arrays]
        with sconce.inference_mode():
            result = self._function(*tensors)
        results = result if isinstance(result, (list, tuple)) else [result]
        for value in results:
            if not isinstance(value, sconce.Tensor):
                raise TypeError(f"{self.path}: {self.method} returns {type(value).__name__}; engines take tensors, and lists and "
                                "tuples of them")
        return [value.cpu().numpy() for value in results]

    def by_name(self, columns):
        """The same with names: {"x": array} to {"output_0": array}. Columns that are no argument are left out."""
        absent = [name for name in self.inputs if name not in columns]
        if absent:
            raise KeyError(f"{self.path}: {self.method} takes {', '.join(self.inputs)}; absent: {', '.join(absent)} "
                           f"(given: {', '.join(map(str, columns))})")
        results = self(*(columns[name] for name in self.inputs))
        return dict(zip(self.output_names(len(results)), results))

    def output_names(self, count):
        """Names of that many results."""
        if self.given_outputs is None:
            return [f"output_{i}" for i in range(count)]
        if len(self.given_outputs) != count:
            raise ValueError(f"{self.path}: {self.method} gives {count} results; names for {len(self.given_outputs)} were given: "
                             f"{', '.join(self.given_outputs)}")
        return self.given_outputs
