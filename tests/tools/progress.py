"""The line that shows how far long work is: on a terminal, and only there. Usage: progress.py SCONCE"""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unittest

SCONCE = str(pathlib.Path(sys.argv[1]).resolve())
PROGRAM = "def f(x: Tensor) -> Tensor:\n    return x.relu()\n"


def on_terminal(command: list[str], folder: str, columns: int = 80, term: str = "xterm") -> tuple[int, str, str]:
    """Exit status, standard output, and what a terminal behind standard error got."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    got = []

    def read():
        while True:
            try:
                data = os.read(master, 4096)
            except OSError:  # the other end is closed
                return
            if not data:
                return
            got.append(data)

    reader = threading.Thread(target=read)
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=slave, env=dict(os.environ, TERM=term)) as process:
        os.close(slave)
        reader.start()
        out = process.stdout.read().decode()
    reader.join()
    os.close(master)
    return process.returncode, out, b"".join(got).decode()


class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        (pathlib.Path(self.folder) / "program.py").write_text(PROGRAM)

    def bench(self, *more):
        return [SCONCE, "bench", "program.py", "--random", "64x64", "--seconds", "1.5", *more]

    def test_appears_on_a_terminal_and_goes(self):
        status, out, shown = on_terminal(self.bench(), self.folder)
        self.assertEqual(status, 0)
        self.assertIn("per second", out)
        self.assertRegex(shown, r"\rprogram\.py, 1 thread  #+\.+  +\d+ %  [\d.]+ m?s, [\d.]+ m?s left\x1b\[K")
        self.assertTrue(shown.endswith("\r\x1b[K"), "it is wiped away")
        shares = [int(s) for s in re.findall(r"(\d+) %", shown)]
        self.assertEqual(shares, sorted(shares))
        self.assertNotIn("\n", shown)

    def test_fits_the_terminal(self):
        for columns in (20, 40, 60):
            _, _, shown = on_terminal(self.bench(), self.folder, columns)
            for line in re.split(r"\r|\x1b\[K", shown):
                self.assertLess(len(line), columns, line)

    def test_not_in_a_pipe_nor_with_json_nor_on_a_dumb_terminal(self):
        done = subprocess.run(self.bench(), cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertEqual(on_terminal(self.bench("--json"), self.folder)[2], "")
        self.assertEqual(on_terminal(self.bench(), self.folder, term="dumb")[2], "")

    def test_not_for_what_is_done_at_once(self):
        command = [SCONCE, "bench", "program.py", "--random", "2x2", "--repeat", "3"]
        self.assertEqual(on_terminal(command, self.folder)[2], "")


unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
