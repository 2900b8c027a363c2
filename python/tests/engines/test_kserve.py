"""KServe: its clients against `sconce serve`, and the manifest of server/deploy by the schema of its package."""

import asyncio
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import numpy

import model_file

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("PYTHONPATH", ".")).parent / "bin"  # tools/test_engines: BUILD/python


class Server:
    """A server process on ports of its own."""

    def __init__(self, folder, *arguments):
        self.log = pathlib.Path(folder) / "log.json"
        with self.log.open("w") as log:
            self.process = subprocess.Popen([BIN / "sconce-server", *arguments], stderr=log, cwd=folder)
        deadline = time.monotonic() + 60
        while '"ready"' not in (text := self.log.read_text()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the server does not start: {text}")
            time.sleep(0.01)
        first = json.loads(text.splitlines()[0])
        self.http, self.grpc = "http://" + first["http"], first.get("grpc")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


class Clients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        path, expected = model_file.write(cls.folder.name)
        cls.expected = staticmethod(expected)
        cls.server = Server(cls.folder.name, path, "--port", "0", "--grpc-port", "0")

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.folder.cleanup()
        assert status == 0, f"the server ended with {status}"

    def request(self, binary, rows=2):
        """A request of KServe, and what its answer holds."""
        from kserve import InferInput, InferRequest
        x = numpy.random.default_rng(rows).standard_normal((rows, 4)).astype(numpy.float32)
        tensor = InferInput("x", list(x.shape), "FP32")
        tensor.set_data_from_numpy(x, binary_data=binary)
        return InferRequest(model_name="layer", infer_inputs=[tensor], request_id="7"), self.expected(x)

    def check(self, answer, expected):
        self.assertEqual((answer.model_name, answer.id), ("layer", "7"))
        numpy.testing.assert_allclose(answer.get_output_by_name("output").as_numpy(), expected, rtol=1e-5, atol=1e-6)

    def test_rest(self):
        from kserve import InferenceRESTClient, RESTConfig
        import httpx

        async def ask():
            url = self.server.http
            async with InferenceRESTClient(RESTConfig(protocol="v2")) as client:
                self.assertTrue(await client.is_server_live(url))
                self.assertTrue(await client.is_server_ready(url))
                self.assertTrue(await client.is_model_ready(url, "layer"))
                self.assertFalse(await client.is_model_ready(url, "none"))
                for binary in (True, False):
                    request, expected = self.request(binary)
                    self.check(await client.infer(url, request, model_name="layer"), expected)
                from kserve.protocol.infer_type import RequestedOutput
                request, expected = self.request(True)
                request.request_outputs = [RequestedOutput("output", {"binary_data": True})]
                self.check(await client.infer(url, request, model_name="layer"), expected)
                request = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": [0, 0, 0, 0]}]}
                answer = await client.infer(url, request, model_name="layer")
                numpy.testing.assert_allclose(answer.outputs[0].as_numpy(), self.expected(numpy.zeros((1, 4), numpy.float32)), rtol=1e-5)
                with self.assertRaisesRegex(httpx.HTTPStatusError, "there is no model 'none'"):
                    await client.infer(url, request, model_name="none")

        asyncio.run(ask())

    def test_grpc(self):
        if not self.server.grpc:
            self.skipTest("the server is built without gRPC")
        import grpc
        from kserve import InferenceGRPCClient

        async def ask():
            async with InferenceGRPCClient(self.server.grpc) as client:
                self.assertTrue(await client.is_server_live())
                self.assertTrue(await client.is_server_ready())
                self.assertTrue(await client.is_model_ready("layer"))
                for binary in (True, False):
                    request, expected = self.request(binary)
                    if not binary:
                        request.inputs[0].data = numpy.ravel(request.inputs[0].data).tolist()
                    self.check(await client.infer(request), expected)
                request, _ = self.request(True)
                request.model_name = "none"
                with self.assertRaises(grpc.RpcError) as raised:
                    await client.infer(request)
                self.assertEqual(raised.exception.code(), grpc.StatusCode.NOT_FOUND)

        asyncio.run(ask())


def faults(value, kind, models, at):
    """What of a value of YAML is not as a type of KServe's or Kubernetes' models says."""
    if match := re.fullmatch(r"[lL]ist\[(.*)\]", kind):
        if not isinstance(value, list):
            return [f"{at} is no list"]
        return [f for i, item in enumerate(value) for f in faults(item, match[1], models, f"{at}[{i}]")]
    if match := re.fullmatch(r"(?:dict\(|Dict\[)str, (.*)[)\]]", kind):
        if not isinstance(value, dict):
            return [f"{at} is no object"]
        return [f for key, item in value.items() for f in faults(item, match[1], models, f"{at}.{key}")]
    plain = {"str": str, "int": int, "bool": bool, "float": (int, float), "object": object, "datetime": str}
    if kind in plain:
        return [] if isinstance(value, plain[kind]) and (kind in ("bool", "object") or not isinstance(value, bool)) else [f"{at} is no {kind}"]
    model = next((getattr(m, kind) for m in models if hasattr(m, kind)), None)
    if model is None:
        return [] if kind in ("IntOrString", "ResourceQuantity", "K8sIoApimachineryPkgApiResourceQuantity") else [f"{at}: there is no type {kind}"]
    if not isinstance(value, dict):
        return [f"{at} is no object"]
    names = {json_name: name for name, json_name in model.attribute_map.items()}
    found = [f"{at} has an unknown '{key}'" for key in value if key not in names]
    for key, item in value.items():
        if key in names:
            found += faults(item, model.openapi_types[names[key]], models, f"{at}.{key}")
    try:
        model(**{names[key]: item for key, item in value.items() if key in names})  # what is required is there
    except ValueError as error:
        found.append(f"{at}: {error}")
    return found


class Manifest(unittest.TestCase):
    KINDS = {("serving.kserve.io/v1alpha1", "ServingRuntime"): "V1alpha1ServingRuntime",
             ("serving.kserve.io/v1beta1", "InferenceService"): "V1beta1InferenceService"}

    @classmethod
    def setUpClass(cls):
        import kserve.models
        import kubernetes.client.models
        import yaml
        cls.models = [kserve.models, kubernetes.client.models]
        cls.documents = list(yaml.safe_load_all((ROOT / "server/deploy/kserve.yaml").read_text()))

    def test_it_fits_the_schema(self):
        self.assertEqual([(d["apiVersion"], d["kind"]) for d in self.documents], list(self.KINDS))
        for document in self.documents:
            kind = self.KINDS[document["apiVersion"], document["kind"]]
            self.assertEqual(faults(document, kind, self.models, document["kind"]), [])
        # The check itself can fail.
        for change in (lambda c: c.update(port=1), lambda c: c["ports"][0].update(containerPort="8080"), lambda c: c.pop("name")):
            wrong = json.loads(json.dumps(self.documents[0]))
            change(wrong["spec"]["containers"][0])
            self.assertNotEqual(faults(wrong, "V1alpha1ServingRuntime", self.models, "wrong"), [])

    def test_the_runtime_serves_what_the_service_names(self):
        runtime, service = self.documents
        model = service["spec"]["predictor"]["model"]
        self.assertEqual(model["runtime"], runtime["metadata"]["name"])
        self.assertIn(model["modelFormat"]["name"], [f["name"] for f in runtime["spec"]["supportedModelFormats"]])
        self.assertIn(model["protocolVersion"], runtime["spec"]["protocolVersions"])

    def test_its_arguments_are_the_servers(self):
        [container] = self.documents[0]["spec"]["containers"]
        self.assertEqual(container["command"], ["sconce-server"])
        with tempfile.TemporaryDirectory() as folder:
            path, _ = model_file.write(folder)
            (pathlib.Path(folder) / "models").mkdir()
            pathlib.Path(path).rename(pathlib.Path(folder) / "models/net.pt")
            replaced = {"/mnt/models": f"{folder}/models", "0.0.0.0": "127.0.0.1", str(container["ports"][0]["containerPort"]): "0", "9000": "0"}
            server = Server(folder, *(replaced.get(a, a) for a in container["args"]))
            try:
                import urllib.request
                for probe in ("readinessProbe", "livenessProbe"):
                    self.assertEqual(container[probe]["httpGet"]["port"], container["ports"][0]["containerPort"])
                    with urllib.request.urlopen(server.http + container[probe]["httpGet"]["path"], timeout=30) as answer:
                        self.assertEqual(answer.status, 200)
            finally:
                self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    model_file.main("kserve", "there is no KServe (make test-engines installs it)")
