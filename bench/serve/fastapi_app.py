"""What people write today: FastAPI around PyTorch or ONNX Runtime, as JSON or as bytes.

Run by uvicorn, with ENGINE=torch or onnx and MODEL=FILE (.pt or .onnx). POST /infer takes what `sconce serve` takes: the JSON of the Open
Inference Protocol with one input. POST /raw takes the bytes of a float32 tensor, whose sizes are in the header X-Shape.
"""

import os

import numpy as np
from fastapi import FastAPI, Request, Response

app = FastAPI()
if os.environ["ENGINE"] == "torch":
    import torch

    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    module = torch.jit.freeze(torch.jit.load(os.environ["MODEL"]).eval())

    def run(x):
        with torch.inference_mode():
            return module(torch.from_numpy(x)).numpy()
else:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("THREADS", "1"))
    session = onnxruntime.InferenceSession(os.environ["MODEL"], options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def run(x):
        return session.run(None, {name: x})[0]


@app.post("/infer")
async def infer(request: Request):
    body = await request.json()
    given = body["inputs"][0]
    y = run(np.array(given["data"], np.float32).reshape(given["shape"]))
    return {"model_name": "m", "outputs": [{"name": "output", "datatype": "FP32", "shape": list(y.shape), "data": y.ravel().tolist()}]}


@app.post("/raw")
async def raw(request: Request):
    # `sconce load` sends its JSON before the tensor, as the binary extension says.
    body = await request.body()
    head = int(request.headers["inference-header-content-length"])
    shape = [int(n) for n in os.environ["SHAPE"].split("x")]
    y = run(np.frombuffer(body, np.float32, offset=head).reshape(shape).copy()) if head % 4 == 0 else run(
        np.frombuffer(body[head:], np.float32).reshape(shape).copy())
    return Response(y.tobytes(), media_type="application/octet-stream")
