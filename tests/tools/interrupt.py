"""A program that is interrupted ends at once and leaves no file. Usage: interrupt.py SCONCE"""

import os
import signal
import subprocess
import sys
import tempfile
import time

LONG_KERNEL = "def f():\n    return torch.sum(torch.expand(torch.ones([1]), [1000000000000]))\n"
LONG_LOOP = "def f():\n    i = 0\n    while i >= 0:\n        i += 1\n    return i\n"


def interrupt(sconce, folder, name, text):
    """What is wrong with an interrupted run of f; None if nothing is."""
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(text)
    before = set(os.listdir(folder))
    process = subprocess.Popen([sconce, "script", path, "--call", "f()"], cwd=folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(1)
    if process.poll() is not None:
        return f"{name} ended by itself: {process.communicate()[1].decode()[:300]}"
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        return f"{name} runs on 20 s after the interrupt"
    seconds = time.monotonic() - sent
    if process.returncode not in (-signal.SIGINT, 130):
        return f"{name} ended with status {process.returncode}"
    left = set(os.listdir(folder)) - before
    return f"{name} left {sorted(left)}" if left else seconds > 5 and f"{name} ended only after {seconds:.1f} s" or None


def main():
    with tempfile.TemporaryDirectory() as folder:
        wrong = [interrupt(sys.argv[1], folder, *program)
                 for program in (("kernel.py", LONG_KERNEL), ("loop.py", LONG_LOOP))]
    for message in filter(None, wrong):
        print(message)
    return 1 if any(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
