"""Ray: a Serve deployment of a model file, and a class for Ray Data's map_batches.

Ray places replicas and workers, starts more of them under load, and starts those anew that died; requests and blocks of
rows that they held are tried again by it. What it needs from here is pickled as the file's path and options."""

import json
import pathlib

import numpy

import ray
from ray import serve
from ray.exceptions import RayActorError

from .array_model import ArrayModel
from .inference_protocol import decode_request, encode_response


class Predictor:
    """For Ray Data: `dataset.map_batches(Predictor, fn_constructor_args=["model.pt"], concurrency=2)`.

    Batches are dicts of arrays (batch_format="numpy", the default). The model's results come beside the columns that were
    there; keep=False leaves these away."""

    def __init__(self, path, keep=True, **options):
        self.model, self.keep = ArrayModel(path, **options).load(), keep

    def __call__(self, batch):
        results = self.model.by_name(batch)
        return {**batch, **results} if self.keep else results


def _batched(model, max_batch_size, batch_wait_timeout_s):
    """A coroutine that runs requests which wait together."""

    @serve.batch(max_batch_size=max_batch_size, batch_wait_timeout_s=batch_wait_timeout_s)
    async def run(requests):
        return model.run_together(requests)

    return run


class _Replica:
    def __init__(self, path, max_batch_size, batch_wait_timeout_s, options):
        self.model = ArrayModel(path, **options).load()
        self.run = _batched(self.model, max_batch_size, batch_wait_timeout_s)

    async def infer(self, columns):
        """Arrays by name to results by name: for other deployments, through a handle."""
        missing = [name for name in self.model.inputs if name not in columns]
        if missing:
            raise KeyError(f"{self.model.path}: absent inputs: {', '.join(missing)}")
        results = await self.run([numpy.asarray(columns[name]) for name in self.model.inputs])
        if isinstance(results, Exception):
            raise results
        return dict(zip(self.model.output_names(len(results)), results))

    async def __call__(self, request):
        return await _answer(request, self.model.path, self.infer)


async def _answer(request, path, infer):
    """HTTP: the Open Inference Protocol's JSON, as `sconce serve` takes it."""
    from starlette.responses import JSONResponse
    try:
        columns = decode_request(await request.json())
        return JSONResponse(encode_response(pathlib.Path(path).stem, await infer(columns)))
    except (json.JSONDecodeError, KeyError, TypeError, ValueError, RuntimeError) as error:
        return JSONResponse({"error": str(error)}, status_code=400)


class _Retrying:
    """In front of replicas: asks another one where the one that had a request died. A call of a model may be repeated."""

    def __init__(self, replicas, path, retries):
        self.replicas, self.path, self.retries = replicas, path, retries

    async def infer(self, columns):
        for left in range(self.retries, -1, -1):
            try:
                return await self.replicas.infer.remote(columns)
            except RayActorError:
                if left == 0:
                    raise

    async def __call__(self, request):
        return await _answer(request, self.path, self.infer)


def deployment(path, *, max_batch_size=8, batch_wait_timeout_s=0.002, model=None, retries=0, **options):
    """A Serve application: `serve.run(deployment("model.pt", num_replicas=2))`.

    `model` has the options of ArrayModel; all others are those of serve.deployment (num_replicas, autoscaling_config,
    max_ongoing_requests, ray_actor_options, ...). Requests that wait are run together, up to max_batch_size at a time.

    Serve starts a replica anew that died, and fails the requests that it had. With `retries`, a small deployment in front of
    the replicas asks another one for these, that many times."""
    options.setdefault("name", pathlib.Path(path).stem)
    replicas = serve.deployment(_Replica, **options).bind(str(path), max_batch_size, batch_wait_timeout_s, model or {})
    if not retries:
        return replicas
    front = serve.deployment(_Retrying, name=f"{options['name']}-retries", ray_actor_options={"num_cpus": 0}, max_ongoing_requests=1000)
    return front.bind(replicas, str(path), retries)


class _Multiplexed:
    def __init__(self, folder, options):
        self.folder, self.options = pathlib.Path(folder), options

    async def load(self, name):
        path = self.folder / f"{name}.pt"
        if not name or path.parent != self.folder or not path.is_file():
            raise KeyError(f"there is no model '{name}' in {self.folder}")
        return ArrayModel(path, **self.options).load()

    async def infer(self, columns):
        """Arrays by name to results by name, of the model that the handle's multiplexed_model_id names."""
        model = await self.get_model(serve.get_multiplexed_model_id())
        return model.by_name({name: numpy.asarray(value) for name, value in columns.items()})


def multiplexed(folder, *, models_per_replica=4, model=None, **options):
    """A Serve application for all .pt files of a folder: each replica keeps the last few that were asked for.

    Callers name one: `handle.options(multiplexed_model_id="resnet").infer.remote({"x": array})`. Ray sends a request where
    its model is loaded already."""
    loader = serve.multiplexed(max_num_models_per_replica=models_per_replica)

    class Models(_Multiplexed):
        @loader
        async def get_model(self, name):
            return await self.load(name)

    options.setdefault("name", pathlib.Path(folder).name)
    return serve.deployment(Models, **options).bind(str(folder), model or {})


__all__ = ["Predictor", "deployment", "multiplexed", "ray"]
