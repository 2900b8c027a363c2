"""small_library.py SCONCE PARTS CC CXX WORK CONFORMANCE: `sconce bundle` makes a folder whose library runs its model, and no other.

The bundle of a small model is built and run as its reader would; its library starts nothing before main, opens no file, shows
the C interface alone, takes no memory after its first run, keeps to its size, and refuses another model by naming all that it
lacks; a library built with that added runs both. Tensors of dtypes that a library was built without are refused."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import merged_tables

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the system's functions, those that lead to files, libraries, threads or other programs.
FORBIDDEN = re.compile(r"^(f?open(at)?(64)?|f?stat(64)?|mmap(64)?|dlopen|dlsym|opendir|readdir|popen|system|exec\w+|fork|"
                       r"pthread_create|_ZNSt6thread.*|socket|unlink|rename)(@|$)")
# Bytes of libraries, stripped, for one level: docs/small.md says what is in them.
LARGEST = 260_000       # of the MLP
LARGEST_CORE = 100_000  # of x86-64, without operators, by g++ 12: others have other functions in their headers


def run(*words, ok=True, cwd=None):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, cwd=cwd)
    if ok and done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def check(condition, message):
    if not condition:
        sys.exit(message)


def stop_and_continue(words, seconds, cwd):
    """A machine that rests is no hang: the program and its child are stopped for longer than an input may compute."""
    program = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, text=True, cwd=cwd, start_new_session=True)
    time.sleep(0.5)  # it is at its inputs
    os.killpg(program.pid, signal.SIGSTOP)
    running = program.poll() is None
    time.sleep(seconds)
    os.killpg(program.pid, signal.SIGCONT)
    said = program.communicate()[0]
    check(running and program.returncode == 0, f"stopped for {seconds} s, then continued: {said}")


def look_at(library):
    """What is in the library, and what it asks of the system."""
    exported = run("nm", "-D", "--defined-only", library).split("\n")
    others = [line for line in exported if line and not re.search(r" [TR] sconce_lite_\w+$", line)]
    check(not others, f"exports more than the C interface: {others[:5]}")
    needed = [line.split()[-1] for line in run("nm", "-D", "--undefined-only", library).splitlines() if line]
    asked = [name for name in needed if FORBIDDEN.match(name)]
    check(not asked, f"asks the system for {asked}")


def look_at_start(link_map):
    """No code runs before main, not even that of the compiler's start files."""
    section = re.search(r"^\.init_array(.*?)^\.fini_array", link_map.read_text(), re.S | re.M)[1]
    files = re.findall(r"\.init_array\S*\s+0x\w+\s+0x\w+ (\S+)", section)
    check(not files, f"runs code before main: {files}")


def main():
    sconce, parts, compiler, cxx, work, conformance = sys.argv[1:]
    work, conformance = pathlib.Path(work), pathlib.Path(conformance)
    shutil.rmtree(work, ignore_errors=True)
    bundle = work / "mlp"
    print(run(sconce, "bundle", conformance / "lite/MLP.ptl", "-o", bundle, "--levels", "v2", "--parts", parts), end="")
    check(sorted(p.name for p in bundle.iterdir()) == ["CMakeLists.txt", "libsconce_lite.so", "main.c", "model.ptl",
                                                       "sconce_lite.h", "selection.txt"], f"{bundle}: other files")
    run("cmake", "-S", bundle, "-B", bundle / "build")
    run("cmake", "--build", bundle / "build")
    check(len((bundle / "main.c").read_text().splitlines()) <= 45, "main.c is long")
    print(run(bundle / "build/run", bundle / "model.ptl", 2, 4), end="")
    for sizes in [(2, 5), (3, 2, 5), (5,)]:  # linear's stand-in refuses in the words of its body
        words = [re.findall(r"RuntimeError: (.*)", said) for said in (
            run(bundle / "build/run", bundle / "model.ptl", *sizes, ok=False),
            run(sconce, "run", bundle / "model.ptl", f"torch.ones({', '.join(map(str, sizes))})", ok=False))]
        check(words[0] and words[0][-1] == words[1][-1], f"{sizes}: the words differ: {words}")
    print(run(sys.executable, "-B", ROOT / "tests/lite/hostile_archives.py", bundle / "build/run", bundle / "model.ptl", work / "hostile"), end="")
    library = bundle / "libsconce_lite.so"
    look_at(library)
    size = library.stat().st_size
    check(size <= LARGEST, f"the library has {size} bytes, more than {LARGEST}")

    core = work / "core.txt"
    core.write_text("level v3\ndtype float32\nfile ptl\n")
    run("cmake", "-S", ROOT, "-B", work / "core", "-DCMAKE_BUILD_TYPE=Release", f"-DSCONCE_SELECT={core}", f"-DSCONCE_PARTS={parts}")
    run("cmake", "--build", work / "core")
    run("strip", work / "core/lib/libsconce_lite.so", "-o", work / "core.so")
    size = (work / "core.so").stat().st_size
    print(f"without operators: {size:,} bytes")
    if (work / "core/selected/ordered").exists() and re.match(r"\S*\+\+\S* .* 12\.", run(cxx, "--version")):
        check(size <= LARGEST_CORE, f"the library without operators has {size} bytes, more than {LARGEST_CORE}")

    run(sconce, "convert", ROOT / "tests/lite/many_blocks.py", work / "many.pt", "--module", "Net()", "--eval")
    run(sconce, "bundle", work / "many.pt", "-o", work / "many", "--levels", "v2", "--parts", parts)
    for used, program in ((bundle, work / "use_lite"), (work / "many", work / "use_many")):
        run(compiler, "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Werror", f"-I{used}", ROOT / "tests/lite/use_lite.c",
            used / "libsconce_lite.so", f"-Wl,-rpath,{used}", "-pthread", "-o", program)
        print(run(program, used / "model.ptl", 2, 4), end="")

    # A selection has what kernels call by name.
    run(sconce, "convert", ROOT / "tests/lite/lists_of_tensors.py", work / "lists.pt", "--module", "Net()", "--eval")
    run(sconce, "bundle", work / "lists.pt", "-o", work / "lists", "--levels", "v2", "--parts", parts)
    run("cmake", "-S", work / "lists", "-B", work / "lists/build")
    run("cmake", "--build", work / "lists/build")
    listed = run(work / "lists/build/run", work / "lists/model.ptl", 2, 2)
    check("first of its numbers: 116\n" in listed, f"lists of tensors: {listed}")

    # Dtypes that a library was not built for.
    run(sconce, "convert", ROOT / "tests/lite/other_dtypes.py", work / "calls.pt", "--module", "Net()", "--eval")
    run(sconce, "bundle", work / "calls.pt", "-o", work / "calls", "--levels", "v2", "--parts", parts)
    run(compiler, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Werror", f"-I{work / 'calls'}", ROOT / "tests/lite/other_dtypes.c",
        work / "calls/libsconce_lite.so", f"-Wl,-rpath,{work / 'calls'}", "-o", work / "other_dtypes")
    print(run(work / "other_dtypes", work / "calls/model.ptl", 8), end="")

    # What it was not built for.
    refused = run(bundle / "build/run", conformance / "lite/ConvNet.ptl", 1, 3, 8, 8, ok=False)
    check(re.search(r"operators that it needs are missing: .*aten::.*aten::.*sconce select MODEL --with SELECTION", refused, re.S),
          f"another model is refused so: {refused}")
    run(sconce, "select", conformance / "lite/ConvNet.ptl", "--with", bundle / "selection.txt", "-o", work / "both.txt")
    run("cmake", "-S", ROOT, "-B", work / "both", "-DCMAKE_BUILD_TYPE=Release", f"-DSCONCE_SELECT={work / 'both.txt'}",
        f"-DSCONCE_PARTS={parts}")
    run("cmake", "--build", work / "both")
    shutil.copyfile(work / "both/lib/libsconce_lite.so", library)
    for model, sizes in ((bundle / "model.ptl", (2, 4)), (conformance / "lite/ConvNet.ptl", (1, 3, 8, 8))):
        print(run(bundle / "build/run", model, *sizes), end="")
    print(run(work / "use_lite", conformance / "lite/ConvNet.ptl", 1, 3, 8, 8), end="")
    # Broken forms of both models: neither crash nor hang.
    sources = [ROOT / "tests/lite/mutate_lite.cpp", ROOT / "tests/lite/hostile_lite.cpp",
               ROOT / "sconce/testing/hostile/mutate_archive.cpp", ROOT / "sconce/testing/hostile/zip_bytes.cpp"]
    whole = pathlib.Path(parts) / "lib"
    run(cxx, "-std=c++20", "-O1", f"-I{ROOT}", f"-I{parts}/generated", *sources, library, f"-L{whole}", "-lsconce", "-lz",
        f"-Wl,-rpath,{bundle}:{whole}", "-o", work / "mutate_lite")
    print(run(work / "mutate_lite", 3000, 1, conformance / "lite/MLP.ptl", conformance / "lite/ConvNet.ptl", cwd=work), end="")
    stop_and_continue([work / "mutate_lite", "--seconds", 1, 20000, 1, conformance / "lite/MLP.ptl"], 2, work)

    look_at_start(work / "both/selected/libsconce_lite.map")
    ordered = work / "both/selected/ordered/libsconce_lite.so"
    if ordered.exists():
        wrong, count = merged_tables.differences(ordered, work / "both/lib/libsconce_lite.so")
        check(count > 500 and not wrong, f"merged tables of {count} functions: {wrong[:5]}")
    listed = (work / "both/selected/sconce/selected/selection.txt").read_text()
    check("op aten::conv2d  # ops/convolution.toml:" in listed, f"the list of the selection: {listed}")
    return 0


sys.exit(main())
