"""PyTriton around PyTorch: pytriton_app.py MODEL PORT COLUMNS. One input `x` of float32 rows, dynamic batches of up to 16."""

import sys

import numpy as np
import torch
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

path, port, columns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
torch.set_num_threads(1)
module = torch.jit.freeze(torch.jit.load(path).eval())


@batch
def infer(x):
    with torch.inference_mode():
        return [module(torch.from_numpy(x)).numpy()]


y = module(torch.zeros(1, columns))
with Triton(config=TritonConfig(http_port=port, grpc_port=port + 1, metrics_port=port + 2, http_address="127.0.0.1", log_verbose=0)) as server:
    server.bind(model_name="m", infer_func=infer, inputs=[Tensor(name="x", dtype=np.float32, shape=(columns,))],
                outputs=[Tensor(name="output", dtype=np.float32, shape=tuple(y.shape[1:]))],
                config=ModelConfig(max_batch_size=16, batcher=DynamicBatcher(max_queue_delay_microseconds=0)))
    server.serve()
