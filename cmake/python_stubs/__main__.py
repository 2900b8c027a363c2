"""Types of the Python package for checkers and editors: sconce/**/*.pyi. Usage: python3 cmake/python_stubs PACKAGE

PACKAGE is the built package. What concerns operators comes from their schemas: a signature (an @overload where there are several)
for every function and every method, with PyTorch's names of parameters. The stubs of modules written in Python have the signatures
of their texts, those of the script library among them; what has no annotation there is Any.
"""

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from extension import extension_stub  # noqa: E402
from modules import Stub, dynamic_names, of_script  # noqa: E402
from operators import namespace_stub, operator_stubs  # noqa: E402

SPACES = ("linalg", "fft", "special")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main():
    package = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(package.parent))
    sconce = importlib.import_module("sconce")
    extension = sconce._sconce
    text, table, classes = operator_stubs(extension)
    write(package / "_operators.pyi", text)
    methods = {name: [o for o in found if o.is_method] for name, found in table.items()}
    methods = {name: found for name, found in methods.items() if found}
    write(package / "_sconce.pyi", extension_stub(extension, methods, classes))
    for space in SPACES:
        names = [name for name in table if name.startswith(f"{space}_") and not name.endswith("_backward")]
        write(package / f"{space}.pyi", namespace_stub(names, f"{space}_", table))

    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        if "script" in relative.parts or relative.stem in (*SPACES, "_operators"):
            continue
        stub = Stub(path.read_text(), str(path), exports=path.name == "__init__.py")
        text = stub.text()
        name = ".".join(("sconce", *relative.with_suffix("").parts)).removesuffix(".__init__")
        if name == "sconce":
            functions = Stub(of_script((package / "script" / "torch" / "functional.py").read_text()), "functional.py")
            write(package / "functional.pyi", functions.text())
        if path.name == "__init__.py" or "__getattr__" in stub.names:
            text += dynamic_names(name, stub.names | (set(vars(extension)) if name == "sconce" else set()))
        write(path.with_suffix(".pyi"), text)
    modules = package / "script" / "torch" / "nn"
    for path in sorted((modules / "modules").glob("*.py")):
        if not (package / "nn" / "modules" / path.name).exists():
            write(package / "nn" / "modules" / f"{path.stem}.pyi", Stub(of_script(path.read_text()), str(path)).text())
    parts = [of_script(path.read_text()) for path in sorted((modules / "functional").glob("*.py"))]
    functions = Stub("\n".join(parts), "functional")
    text = functions.text()
    others = [f"from sconce._operators import {name} as {name}" for name in table if name not in functions.names]
    write(package / "nn" / "functional.pyi", text + "\n".join(others) + "\n")
    write(package / "nn" / "init.pyi", Stub(of_script((modules / "init.py").read_text()), "init.py").text())
    (package / "py.typed").write_text("")  # the build compares its time


main()
