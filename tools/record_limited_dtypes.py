"""Records what PyTorch's CPU does with uint16, uint32, uint64, float8_e4m3fn and float8_e5m2. Usage: record_limited_dtypes.py OUT

Takes the calls recorded under tests/conformance/ops and leaf, gives their numbers another dtype and calls PyTorch again:
    OUT/accepted.safetensors   calls that work, with their results, as cases of operators
    OUT/refused.txt            lines "file index dtype[ dtype ...][: message]": calls that fail. {} in the message is the
                               dtype's name; without a message it is "not implemented for '{}'", whatever the kernel is called
Facts that no call tells follow in OUT/facts.json: conversions of every float8 pattern and of floats at the edges, and promotion.
Needs the environment that `make bench` makes.
"""

import json
import pathlib
import signal
import sys
import warnings

import torch

from case_writer import Writer, tensors
from recorded_cases import read_cases

LIMITED = [torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn, torch.float8_e5m2]
INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
LEGACY = {torch.uint16: "UInt16", torch.uint32: "UInt32", torch.uint64: "UInt64", torch.float8_e4m3fn: "Float8_e4m3fn",
          torch.float8_e5m2: "Float8_e5m2"}
FLOATS = {torch.float16, torch.bfloat16, torch.float32, torch.float64}
MOST_ELEMENTS = 20
CASES = pathlib.Path(__file__).parent.parent / "tests/conformance"
# Results that are random, or not defined.
LEFT_OUT = ("aten::empty", "aten::new_empty", "aten::rand", "aten::resize", "aten::bernoulli", "aten::as_strided")


def converted(value, old, new):
    """Every tensor of dtype `old` with another one, as limited_dtypes_test.cpp does it; magnitudes where that has no sign."""
    if isinstance(value, torch.Tensor):
        if value.dtype != old:
            return value
        positive = value.abs() if not new.is_floating_point and old != torch.uint8 else value
        return torch.empty_strided(value.shape, value.stride(), dtype=new).copy_(positive)
    if isinstance(value, (list, tuple)):
        return type(value)(converted(v, old, new) for v in value)
    if isinstance(value, dict):
        return {k: converted(v, old, new) for k, v in value.items()}
    return value


def calls():
    """(path below tests/conformance, index, case, dtype of its numbers) of small calls, one or two for an operator."""
    taken = {}
    for folder in ("ops", "leaf"):
        for path in sorted((CASES / folder).glob("*.safetensors")):
            for index, case in enumerate(read_cases(path)):
                given = list(tensors([case["args"], case["kwargs"]]))
                dtype = next((t.dtype for t in given if t.dtype in INTEGERS | FLOATS), None)
                if dtype is None or sum(t.numel() for t in given) > MOST_ELEMENTS:
                    continue
                if any(t.numel() == 0 or 0 in t.stride() for t in given):
                    continue
                kind = (case["op"], dtype in FLOATS)
                taken[kind] = taken.get(kind, 0) + 1
                if taken[kind] == 1:
                    yield f"{folder}/{path.name}", index, case, dtype


def function_of(op):
    space, name = op.split("::")
    name, _, overload = name.partition(".")
    packet = getattr(getattr(torch.ops, space), name)
    return getattr(packet, overload) if overload else packet


def run(case, old, new):
    """(arguments, result, None) or (arguments, None, message); no result for views, whose dtype nobody asks for."""
    args, kwargs = converted(case["args"], old, new), converted(case["kwargs"], old, new)
    again = converted(case["args"], old, new), converted(case["kwargs"], old, new)
    try:
        signal.alarm(5)
        torch.manual_seed(case.get("seed", 0))
        result = function_of(case["op"])(*again[0], **again[1])
        memory = {t.untyped_storage().data_ptr() for t in tensors(list(again))}
        views = [t for t in tensors(result) if t.untyped_storage().data_ptr() in memory]
        return (args, kwargs), None if views and not case["op"].partition(".")[0].endswith("_") else result, None
    except Exception as e:
        return (args, kwargs), None, str(e).split("\n")[0]
    finally:
        signal.alarm(0)


def facts():
    def either(f):
        try:
            return str(f()).removeprefix("torch.")
        except RuntimeError as e:
            return str(e)

    every = [torch.bool, *sorted(INTEGERS | FLOATS, key=str), torch.complex64, torch.complex128, *LIMITED]
    floats = [0.0, -0.0, 1.0, 2.0**-10, 1.0001 * 2.0**-10, 1.5 * 2.0**-9, 2.0**-7, 0.0146, 17.0, 18.0, 447.9, 448.0, 464.0, 464.1,
              480.0, 512.0, 57344.0, 61439.0, 61440.0, 65536.0, 1e9, float("inf"), float("nan")]
    floats += [-f for f in floats]
    made = {"promotion": {}, "float8": {}, "unsigned": {}}
    for a in LIMITED:
        for b in every:
            for x, y in ((a, b), (b, a)):
                for dims, shapes in (("dim dim", ((2,), (2,))), ("dim zerodim", ((2,), ()))):
                    first, second = (torch.zeros(s, dtype=t) for s, t in zip(shapes, (x, y)))
                    names = f"{str(x)[6:]}:{dims.split()[0]} {str(y)[6:]}:{dims.split()[1]}"
                    made["promotion"][names] = either(lambda: torch.result_type(first, second))
        for name, number in (("bool", True), ("int", 3), ("float", 1.5), ("complex", 1j)):
            made["promotion"][f"{str(a)[6:]}:dim scalar:{name}"] = either(lambda: torch.result_type(torch.zeros(2, dtype=a), number))
    for a in LIMITED[3:]:
        patterns = torch.arange(256, dtype=torch.uint8).view(a).float().tolist()
        bits = torch.tensor(floats).to(a).view(torch.uint8).tolist()
        made["float8"][str(a)[6:]] = {"patterns": [repr(p) for p in patterns], "floats": [repr(f) for f in floats], "bits": bits}
    for a in LIMITED[:3]:
        numbers = [-1.0, -3.7, 0.5, 449.0, 70000.0, 2.0**32, 2.0**63, 1.5 * 2.0**63]
        held = [0, 1, 2**16 - 1, 2**32 - 1, 2**63, 2**64 - 1, 12345678901234567890]
        held = torch.tensor([h % 2**(8 * a.itemsize) for h in held], dtype=a)
        made["unsigned"][str(a)[6:]] = {
            "doubles": numbers, "made": [str(v) for v in torch.tensor(numbers, dtype=torch.float64).to(a).tolist()],
            "held": [str(v) for v in held.tolist()],
            "to": {str(t)[6:]: [str(v) for v in held.to(t).tolist()]
                   for t in (torch.int64, torch.int32, torch.uint8, torch.float32, torch.float64, *LIMITED[:3])}}
    return made


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("took too long")))
    writer, accepted, refused = Writer(), [], []
    for turn, (path, index, case, old) in enumerate(calls()):
        messages, worked = {}, []
        for new in LIMITED:
            if new.is_floating_point and old not in FLOATS:
                continue
            given, result, message = run(case, old, new)
            name = str(new)[6:]
            if message is None and result is not None:
                worked.append((given, result, new))
            elif message is None:
                continue
            elif "not implemented for '" in message:
                messages.setdefault("", []).append(name)
            elif not any(word in message for word in ("schema", "INTERNAL", "unsigned ", "_t ", "c10::")):  # of C++, not of dtypes
                messages.setdefault(": " + message.replace(LEGACY[new], "{}"), []).append(name)
        refused += [f"{path} {index} {' '.join(names)}{message}" for message, names in messages.items()]
        # One of the three unsigned dtypes, and one float8, in turns; not what only promotes to float32 nor what is random.
        for group in ([w for w in worked if not w[2].is_floating_point], [w for w in worked if w[2].is_floating_point]):
            if not group or case["op"].startswith(LEFT_OUT):
                continue
            given, result, new = group[turn % len(group)]
            results = list(tensors(result))
            if results and not new.is_floating_point and all(r.dtype == torch.float32 for r in results) and turn % 24:
                continue
            before = writer.tensors.copy()
            try:
                accepted.append({"op": case["op"], "args": writer.value(given[0]), "out": writer.value(result),
                                 "kwargs": {k: writer.value(v) for k, v in given[1].items()}})
            except TypeError:
                writer.tensors = before
    writer.save(out / "accepted.safetensors", accepted)
    (out / "refused.txt").write_text("\n".join(refused) + "\n")
    (out / "facts.json").write_text(json.dumps(facts(), separators=(",", ":")) + "\n")
    print(f"{len(accepted)} accepted, {len(refused)} lines of refusals")


if __name__ == "__main__":
    main()
