"""fuzz_wire.py SERVER CONVERT [COUNT] [SEED]: mutated bytes against a live server: HTTP on raw sockets, gRPC as messages and as frames.

SERVER is sconce-server, or sconce-server-asan; CONVERT the program sconce. Every request is answered or its connection closed; the server
lives to the end, and stops with 0. gRPC needs the package grpc (tests/server/environment)."""

import atexit
import json
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

try:
    import grpc
    import tritonclient.grpc.service_pb2 as messages
except ImportError:
    grpc = None

PROGRAM = '''
class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2

    @torch.jit.export
    def count(self, tokens: Tensor, left: int, step: int = 1) -> Dict[str, Tensor]:
        return {"tokens": tokens + step, "left": torch.tensor([left - 1]), "done": torch.tensor([left <= 1])}
'''
WORDS = [b"\r\n", b"\r\n\r\n", b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"HTTP/1.0", b"HTTP/9.9", b"\0", b"%00",
         b"POST ", b"HEAD ", b"/v2/models/net/infer", b"generate_stream", b"Inference-Header-Content-Length: 5\r\n", b"99999999999999999999", b"-1", b"[[[[", b"{\"", b"\xff\xfe",
         b"Accept-Encoding: gzip\r\n", b"Content-Encoding: gzip\r\n", b"Connection: close\r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b": ", b"\n", b"?a=b", b"Upgrade: h2c\r\n"]


def http_seeds():
    def post(path, body, *headers):
        return (f"POST {path} HTTP/1.1\r\nHost: a\r\n" + "".join(h + "\r\n" for h in headers)).encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body

    x = b'{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2.5]}]}'
    head = b'{"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "parameters": {"binary_data_size": 8}}]}'
    return [post("/v2/models/net/infer", x), post("/v2/models/net/infer", head + bytes(8), f"Inference-Header-Content-Length: {len(head)}"),
            post("/v2/models/net:count/generate_stream", b'{"tokens": [1], "left": 3}'), post("/v2/models/net:count/generate", b'{"tokens": [1], "left": 3}'),
            b"POST /v2/models/net/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(x) + x + b"\r\n0\r\n\r\n",
            b"GET /v2/models/net HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/1.0\r\n\r\n",
            post("/v2/repository/index", b"{}"), b"GET /v2/health/ready HTTP/1.1\r\nHost: a\r\n\r\n" * 5]


def grpc_seeds():
    m = messages.ModelInferRequest(model_name="net", id="1")
    m.inputs.add(name="x", datatype="FP32", shape=[2])
    m.raw_input_contents.append(bytes(8))
    n = messages.ModelInferRequest(model_name="net", model_version="1")
    n.inputs.add(name="x", datatype="INT32", shape=[1, 2]).contents.int_contents.extend([1, -2])
    n.outputs.add(name="output").parameters["classification"].int64_param = 0
    n.parameters["timeout"].int64_param = 1000000
    g = messages.ModelInferRequest(model_name="net:count", id="g")
    g.inputs.add(name="tokens", datatype="INT64", shape=[1]).contents.int64_contents.append(1)
    g.parameters["left"].int64_param = 3
    g.parameters["generate"].bool_param = True
    return [m.SerializeToString(), n.SerializeToString(), g.SerializeToString()]


def change(data, rand):
    data = bytearray(data)
    for _ in range(rand.randrange(5)):
        at = rand.randrange(len(data) + 1)
        kind = rand.randrange(6)
        if kind == 0 and data:
            data[rand.randrange(len(data))] = rand.randrange(256)
        elif kind == 1:
            data[at:at] = rand.choice(WORDS)
        elif kind == 2:
            del data[at:at + rand.randrange(20)]
        elif kind == 3:
            data[at:at] = data[rand.randrange(len(data) + 1):][:rand.randrange(60)]
        elif kind == 4:
            del data[at:]
        else:
            data[at:at] = bytes([rand.randrange(256)]) * rand.randrange(300)
    return bytes(data)


def ask_http(port, data):
    """The first bytes of the answer, or nothing."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as s:
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
            return s.recv(65536)
        except ConnectionError:
            return b""
        except TimeoutError:
            return b"HTTP/1.1 500 or never"


def main():
    server, convert = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:3])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    rand = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
    statuses = {}

    def seen(what):
        statuses[what] = statuses.get(what, 0) + 1

    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "net.py").write_text(PROGRAM)
        subprocess.run([convert, "convert", "net.py", "net.pt", "--module", "Net()"], cwd=folder, check=True, capture_output=True)
        log = pathlib.Path(folder, "log")
        with log.open("w") as out:
            process = subprocess.Popen([server, "net.pt", "--port", "0", "--grpc-port", "0", "--max-body", "1M", "--timeout", "5s", "--read-timeout", "2s"],
                                       cwd=folder, stderr=out)
        atexit.register(process.kill)
        while '"ready"' not in log.read_text():
            if process.poll() is not None:
                sys.exit(log.read_text())
            time.sleep(0.02)
        first = json.loads(log.read_text().splitlines()[0])
        port = int(first["http"].rsplit(":")[-1])
        seeds = http_seeds()
        for _ in range(count):
            data = change(rand.choice(seeds), rand)
            if rand.randrange(4) == 0:
                data += change(rand.choice(seeds), rand)
            answer = ask_http(port, data)
            if answer.startswith(b"HTTP/1.1 500") or process.poll() is not None:
                sys.exit(f"{data!r} was answered with {answer[:200]!r}; the server says {log.read_text()[-3000:]}")
            seen("HTTP " + answer[9:12].decode("latin1") if answer.startswith(b"HTTP/1.") else "HTTP closed" if not answer else "HTTP 100 or other")
        if grpc and first.get("grpc"):
            channel = grpc.insecure_channel(first["grpc"])
            infer = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer", lambda b: b, lambda b: b)
            stream = channel.stream_stream("/inference.GRPCInferenceService/ModelStreamInfer", lambda b: b, lambda b: b)
            seeds = grpc_seeds()
            for i in range(count):
                data = change(rand.choice(seeds), rand)
                try:
                    if i % 4 == 0:
                        for _ in zip(range(5), stream(iter([data, change(data, rand)]), timeout=20)):
                            pass
                        seen("gRPC stream OK")
                    else:
                        infer(data, timeout=20)
                        seen("gRPC OK")
                except grpc.RpcError as error:
                    seen(f"gRPC {error.code().name}")
                    wrong = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
                    if wrong or process.poll() is not None:
                        sys.exit(f"{data!r} was answered with {error}; the server says {log.read_text()[-3000:]}")
            channel.close()
            # Frames of HTTP/2, which are gRPC's own affair: the server lives.
            preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
            for _ in range(count // 10):
                with socket.create_connection(("127.0.0.1", int(first["grpc"].rsplit(":")[-1])), timeout=20) as s:
                    try:
                        s.sendall(change(preface + rand.randbytes(rand.randrange(100)), rand))
                    except OSError:
                        pass
        answer = ask_http(port, b"GET /v2/health/live HTTP/1.1\r\nHost: a\r\n\r\n")
        process.send_signal(signal.SIGTERM)
        status = process.wait(120)
        if not answer.startswith(b"HTTP/1.1 200") or status != 0:
            sys.exit(f"the server ended with {status}: {answer[:100]!r} {log.read_text()[-5000:]}")
    for what in sorted(statuses):
        print(f"{what}: {statuses[what]}")


main()
