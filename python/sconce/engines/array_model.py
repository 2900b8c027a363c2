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

    def run_together(self, requests):
        """Requests, each a list of arrays with the batch in front, with as few calls as there are shapes and dtypes. Of each, the list
        of its results, or the exception that it raised: where a joined call fails, its requests are run one by one."""
        answers, alike = [None] * len(requests), {}
        for number, arrays in enumerate(requests):
            alike.setdefault(tuple((a.dtype.str, a.shape[1:]) for a in arrays), []).append(number)
        for numbers in alike.values():
            try:
                joined = self(*(numpy.concatenate(parts) for parts in zip(*(requests[n] for n in numbers))))
                ends = numpy.cumsum([len(requests[n][0]) for n in numbers])[:-1]
                for number, *parts in zip(numbers, *(numpy.split(a, ends) for a in joined)):
                    answers[number] = parts
            except Exception as error:  # the engine tells the one who asked
                if len(numbers) == 1:
                    answers[numbers[0]] = error
                    continue
                for number in numbers:
                    [answers[number]] = self.run_together([requests[number]])
        return answers

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
