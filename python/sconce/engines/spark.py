"""Spark: a model file as a function over columns of a DataFrame.

Spark splits the rows, sends each part to a worker as Arrow batches, and computes a part anew whose worker died. Each worker's
process loads the file once."""

import functools

from pyspark.ml.functions import predict_batch_udf as _predict_batch_udf

from .array_model import ArrayModel

_models = {}  # of this worker's process


def _model(path, options):
    key = (path, tuple(sorted(options.items())))
    if key not in _models:
        _models[key] = ArrayModel(path, **options).load()
    return _models[key]


def _make_predict(path, options):
    model = _model(path, options)

    def predict(*columns):
        results = model(*columns)
        return results[0] if len(results) == 1 else dict(zip(model.output_names(len(results)), results))

    # Spark gives a function as many columns as it has arguments.
    names = model.inputs
    wrapper = f"def predict_named({', '.join(names)}):\n    return predict({', '.join(names)})"
    scope = {"predict": predict}
    exec(compile(wrapper, "<columns>", "exec"), scope)  # names of arguments, which are identifiers
    return scope["predict_named"]


def predict_batch_udf(path, *, return_type, batch_size=256, input_tensor_shapes=None, **options):
    """`df.select(predict_batch_udf("model.pt", return_type=ArrayType(FloatType()))("x"))`.

    A column per argument of the model's method, in its order. return_type, batch_size and input_tensor_shapes (shapes of
    rows that are flat arrays) are those of pyspark.ml.functions.predict_batch_udf; other options are ArrayModel's."""
    return _predict_batch_udf(functools.partial(_make_predict, str(path), options), return_type=return_type, batch_size=batch_size,
                              input_tensor_shapes=input_tensor_shapes)


__all__ = ["predict_batch_udf"]
