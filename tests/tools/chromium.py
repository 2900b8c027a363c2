"""Chromium, without a window, driven through its DevTools protocol. Python's standard library only.

    with Browser() as browser:
        browser.open("page.html")
        browser.evaluate("document.title")
        browser.click("#fit")
        browser.type("relu")
        pixels = browser.screenshot()
"""

import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request
import zlib

PROGRAMS = ["chromium-headless-shell", "chromium", "google-chrome"]


def find() -> str | None:
    """The browser's program; None when there is none."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


class WebSocket:
    """As much of RFC 6455 as a client needs that talks to one server."""

    def __init__(self, url: str):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.split(":")
        self.socket = socket.create_connection((name, int(port)), timeout=30)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self._receive()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        assert b" 101 " in head.split(b"\r\n")[0], head

    def _receive(self) -> bytes:
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("the browser closed the connection")
        return data

    def _take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            self.buffer += self._receive()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, text: str) -> None:
        data = text.encode()
        size = len(data)
        head = b"\x81" + (bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 1 << 16
                          else b"\xff" + struct.pack(">Q", size))
        mask = os.urandom(4)
        self.socket.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))

    def receive(self) -> str:
        message = b""
        while True:
            first, second = self._take(2)
            size = second & 0x7F
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            data = self._take(size)
            if first & 0x0F <= 2:
                message += data
            if first & 0x80 and first & 0x0F <= 2:
                return message.decode()


class Browser:
    """A page of one size. `problems` collects what the page's console and uncaught exceptions say."""

    def __init__(self, width: int = 1400, height: int = 900, dark: bool = False):
        self.folder = tempfile.mkdtemp(prefix="sconce-browser-")
        self.process = subprocess.Popen(
            [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0",
             f"--user-data-dir={self.folder}", f"--window-size={width},{height}", "--hide-scrollbars", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = None
        self.number = 0
        self.problems = []
        self.requests = []
        port_file = pathlib.Path(self.folder) / "DevToolsActivePort"
        end = time.time() + 60
        while not (port_file.exists() and port_file.read_text().count("\n") >= 1):
            if time.time() > end or self.process.poll() is not None:
                self.close()
                raise RuntimeError("the browser does not start")
            time.sleep(0.05)
        port = port_file.read_text().split("\n")[0]
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=30) as answer:
                pages = [p for p in json.load(answer) if p["type"] == "page"]
            if pages:
                break
            time.sleep(0.05)
        self.socket = WebSocket(pages[0]["webSocketDebuggerUrl"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if dark:
            self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        if self.socket:
            self.socket.socket.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _event(self, message: dict) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(str(params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        self.last_event = method

    def command(self, method: str, **params) -> dict:
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._event(message)

    def open(self, path: str) -> None:
        self.command("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression: str):
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", expression))
        return result["result"].get("value")

    def wait_for(self, condition: str, seconds: float = 30) -> None:
        end = time.time() + seconds
        while not self.evaluate(condition):
            if time.time() > end:
                raise TimeoutError(f"never true: {condition}")
            time.sleep(0.02)

    def centre(self, selector: str) -> tuple[float, float]:
        box = self.evaluate(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                            " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        return box[0], box[1]

    def mouse(self, kind: str, x: float, y: float, **more) -> None:
        self.command("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector: str, count: int = 1, offset: tuple[float, float] = (0, 0)) -> None:
        x, y = self.centre(selector)
        x, y = x + offset[0], y + offset[1]
        self.mouse("mouseMoved", x, y)
        for n in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=n)
            self.mouse("mouseReleased", x, y, button="left", clickCount=n)

    def drag(self, x: float, y: float, dx: float, dy: float) -> None:
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        for step in (0.5, 1):
            self.mouse("mouseMoved", x + step * dx, y + step * dy, button="left", buttons=1)
        self.mouse("mouseReleased", x + dx, y + dy, button="left", clickCount=1)

    def type(self, text: str) -> None:
        self.command("Input.insertText", text=text)

    def key(self, key: str) -> None:
        codes = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}
        text = key if len(key) == 1 else ""
        down = {"text": text} if text else {}
        self.command("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes.get(key, 0), **down)
        self.command("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes.get(key, 0))

    def screenshot(self, path: str | None = None) -> "Picture":
        data = base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"])
        if path:
            pathlib.Path(path).write_bytes(data)
        return Picture(data)


class Picture:
    """A decoded PNG of 8 bits a channel, without interlacing."""

    def __init__(self, data: bytes):
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        at, packed = 8, b""
        while at < len(data):
            size, kind = struct.unpack(">I4s", data[at:at + 8])
            body = data[at + 8:at + 8 + size]
            if kind == b"IHDR":
                self.width, self.height, depth, colour, _, _, interlace = struct.unpack(">IIBBBBB", body)
                assert depth == 8 and interlace == 0
                self.channels = {2: 3, 6: 4}[colour]
            elif kind == b"IDAT":
                packed += body
            at += 12 + size
        self.rows = self._unfilter(zlib.decompress(packed))

    def _unfilter(self, raw: bytes) -> list[bytes]:
        step, stride = self.channels, self.width * self.channels
        rows, before = [], bytearray(stride)
        for y in range(self.height):
            kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
            for x in range(stride if kind else 0):
                left = line[x - step] if x >= step else 0
                up = before[x]
                corner = before[x - step] if x >= step else 0
                if kind == 1:
                    add = left
                elif kind == 2:
                    add = up
                elif kind == 3:
                    add = (left + up) // 2
                else:
                    guess = left + up - corner
                    add = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
                line[x] = (line[x] + add) & 0xFF
            rows.append(bytes(line))
            before = line
        return rows

    def pixel(self, x: int, y: int) -> tuple[int, int, int]:
        return tuple(self.rows[y][x * self.channels:x * self.channels + 3])

    def colours(self, x0: int = 0, y0: int = 0, x1: int | None = None, y1: int | None = None, step: int = 2) -> dict:
        """How often each colour occurs in a part of the picture."""
        counts = {}
        for y in range(y0, y1 or self.height, step):
            for x in range(x0, x1 or self.width, step):
                p = self.pixel(x, y)
                counts[p] = counts.get(p, 0) + 1
        return counts
