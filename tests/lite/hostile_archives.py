"""hostile_archives.py RUN MODEL WORK: archives that lite libraries refuse, each with the words that say why.

RUN is the program of a bundle, MODEL its archive, of which all but one record stay as they are. Pickles are written by Python's
own pickler, which counts its memos as PyTorch's does, or by hand where it would not write such a thing."""

import pathlib
import pickle
import re
import subprocess
import sys
import zipfile


def method(instructions, *, operators=(), constants=(), types=(), registers=4, arguments=2, name="__torch__.M.forward"):
    """The row of a method in bytecode.pkl, whose arguments are (self, x, ...)."""
    schema = tuple((("name", f"a{i}"), ("type", "Tensor" if i else "__torch__.M"), ("default_value", None)) for i in range(arguments))
    result = ((("name", ""), ("type", "Tensor"), ("default_value", None)),)
    code = (("instructions", tuple(instructions)), ("operators", tuple(operators)), ("constants", tuple(constants)),
            ("types", tuple(types)), ("register_size", registers))
    return (name, code, (("arguments", schema), ("returns", result)))


def program(*args, **options):
    return pickle.dumps((8, method(*args, **options)), protocol=2)


STORED = [("STOREN", 1, 2), ("LOAD", 2, 0)]  # self and x to registers, x back
RET = ("RET", 0, 0)

# What bytecode.pkl is, and what the refusal says.
CODE = {
    "no opcode": (program([("FLY", 0, 0)]), r"there is no opcode 'FLY'"),
    "no register": (program([("STOREN", 4, 2), RET]), r"instruction 0: STOREN: there is no register 4: the method has 4"),
    "no constant": (program(STORED + [("LOADC", 1, 0), RET], constants=[1]), r"there is no constant 1: the method has 1"),
    "no operator": (program(STORED + [("OP", 7, 0), RET]), r"there is no operator 7"),
    "jump outside": (program(STORED + [("JMP", 9, 0), RET]), r"JMP: there is no instruction 11"),
    "jump before": (program([("JMP", -1, 0), RET]), r"JMP: there is no instruction -1"),
    "empty stack": (program(STORED + [("DROP", 0, 0), ("DROP", 0, 0), RET]), r"it takes 1 values from a stack of 0"),
    "two depths": (program(STORED + [("LOADC", 0, 0), ("JF", 2, 0), ("DROP", 0, 0), RET], constants=[True]),
                   r"it leaves 0 values on the stack for instruction 5, which others reach with 1"),
    "no end": (program(STORED), r"the code ends without RET"),
    "two results": (program([RET]), r"it returns one value, the stack has 2"),
    "odd dict": (program(STORED + [("DICT_CONSTRUCT", 0, 1), RET], types=["Dict[str, int]"]), r"1 values are no pairs"),
    "no list": (program(STORED + [("LIST_CONSTRUCT", 0, 1), RET], types=["Dict[str, int]"]), r"'Dict\[str, int\]' is no type for it"),
    "no type": (program(STORED + [("LIST_CONSTRUCT", 0, 1), RET], types=["List["]), r"a type cannot be read at column 6: 'List\["),
    "deep type": (program(STORED + [("LIST_CONSTRUCT", 0, 1), RET], types=["List[" * 99 + "int" + "]" * 99]), r"a type cannot be read at column 321"),
    "script class": (program(STORED + [("CREATE_OBJECT", 0, 0), ("DROP", 0, 0), RET], types=["__torch__.K"]),
                     r"script classes are not supported in lite archives"),
    "missing": (program(STORED + [("OP", 0, 0), RET], operators=[("aten::fly", "", 1), ("aten::swim", "out", 2)]),
                r"operators that it needs are missing: aten::fly \(does not exist\), aten::swim.out \(does not exist\)"),
    "registers": (program([RET], registers=30000), r"register_size is 30000, not in 0 to 20000"),
    "version": (pickle.dumps((99,), protocol=2), r"bytecode of version 99 cannot be read"),
    "no tuple": (b"\x80\x02](K\x08e.", r"the pickle is list, not a tuple"),
    "no class": (program([RET], name="forward"), r"its name names no class"),
    "twice": (pickle.dumps((8, method(STORED + [RET]), method(STORED + [RET])), protocol=2), r"it is there twice"),
    "call": (b"\x80\x02cos\nsystem\nX\x02\0\0\0ls\x85R.", r"not on the list of what a file may name: os.system"),
    "class": (b"\x80\x02c__torch__.torch.classes.my\nK\n)\x81.", r"needs the class '__torch__.torch.classes.my.K'"),
    "object": (b"\x80\x02c__torch__\nK\n)\x81}b.", r"an object of class '__torch__.K' is no constant"),
    "opcode": (b"\x80\x02\xff.", r"pickle, byte 3: unknown opcode 255"),
    "cut": (program([RET])[:-1], r"pickle, byte \d+: unexpected end"),
    "longer": (program([RET]) + b"N.", r"it does not end with one value"),
    "no memo": (b"\x80\x02h\x05.", r"a memo is empty"),
    "far memo": (b"\x80\x02Nq\x05.", r"memos are not counted"),
    "own item": (b"\x80\x02]q\0h\0a.", r"items are given to something that is not a new list"),
    "changed": (b"\x80\x02]q\0\x85h\0Na.", r"items are given to something that is not a new list"),
    "no mark": (b"\x80\x02t.", r"there is no mark"),
    "below mark": (b"\x80\x02N(\x85.", r"the stack is empty"),
    "deep": (b"\x80\x02" + b"(" * 2000 + b"t" * 2000 + b".", r"containers are nested more than 1000 deep"),
    "shared": (b"\x80\x02N" + b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(60)) + b".",
               r"values are shared too often"),
    "key": (b"\x80\x02}]Ns.", r"a key of a dict cannot be hashed"),
    "storage": (b"\x80\x02(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x009X\x03\0\0\0cpuK\x04tQ.",
                r"there is no record 'bytecode/9'"),
}
# The same for data.pkl.
DATA = {
    "no object": (b"\x80\x02N.", r"data.pkl is not an object"),
    "no state": (b"\x80\x02c__torch__\nM\n)\x81.", r"an object has no state, of class __torch__.M"),
    "two forms": (b"\x80\x02(c__torch__\nM\n)\x81}b c__torch__\nM\n)\x81}X\x01\0\0\0aNsbt.".replace(b" ", b""),
                  r"two objects of class '__torch__.M' have different attributes"),
    "no dict": (b"\x80\x02c__torch__\nM\n)\x81Nb.", r"an object of class '__torch__.M' has no dict of attributes"),
}
# Programs that load, and fail when they run: the kinds of values are checked where they are used.
RUNS = {
    "no bool": (program(STORED + [("LOADC", 0, 0), ("JF", 1, 0), RET], constants=[3]), r"expected a value of type bool, got int"),
    "no slot": (program([("DROP", 0, 0), ("GET_ATTR", 2, 0), RET]), r"has 0 attributes, none at 2"),
    "no method": (program([("STOREN", 1, 2), ("LOAD", 1, 0), ("INTERFACE_CALL", 0, 1), RET], constants=["fly"]),
                  r"has no method 'fly'"),
    "itself": (program([("STOREN", 1, 2), ("LOAD", 1, 0), ("LOAD", 2, 0), ("INTERFACE_CALL", 0, 2), RET], constants=["forward"]),
               r"maximum depth of calls reached"),
    "raise": (program(STORED + [("LOADC", 0, 0), ("RAISE_EXCEPTION", 0, 0), RET], constants=["too cold"]), r"too cold"),
}
OBJECT = b"\x80\x02c__torch__\nM\n)\x81}b."


def main():
    run, model, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    work.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(model) as archive:
        records = {name: archive.read(name) for name in archive.namelist()}
    folder = next(iter(records)).split("/")[0]
    fine = program(STORED + [RET])
    cases = {f"bytecode.pkl, {k}": ({"bytecode.pkl": v, "data.pkl": OBJECT}, why) for k, (v, why) in (CODE | RUNS).items()}
    cases |= {f"data.pkl, {k}": ({"bytecode.pkl": fine, "data.pkl": v}, why) for k, (v, why) in DATA.items()}
    cases["nothing wrong"] = ({"bytecode.pkl": fine, "data.pkl": OBJECT}, r"the first of its numbers: 1")
    failed = 0
    for label, (changed, why) in cases.items():
        path = work / "hostile.ptl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if len(label) % 2 else zipfile.ZIP_STORED) as archive:
            for name, content in (records | {f"{folder}/{n}": c for n, c in changed.items()}).items():
                archive.writestr(name, content)
        done = subprocess.run([run, path, "2", "4"], capture_output=True, text=True, errors="replace")
        if not re.search(why, done.stdout) or done.returncode not in (0, 1):
            failed += 1
            print(f"{label}: status {done.returncode}, wanted /{why}/, got {done.stdout}{done.stderr}")
    print(f"{len(cases)} archives, {failed} not refused as they should")
    return 1 if failed else 0


sys.exit(main())
