#!/usr/bin/env python3
"""Checks script/torch/nn/functional against torch.nn.functional: every function of ours is compiled by PyTorch's own compiler
and called with the samples that PyTorch's operator tests use; results, refusals and random draws must be the same. Then the
functions of script/torch/functional.py, by the calls below.

    build/bench-venv/bin/python tools/check_script_library.py [NAME ...]

Needs PyTorch with its test modules (the environment of bench/). Prints one line per function; exits 1 on a difference."""
import ast
import importlib.util
import inspect
import pathlib
import re
import sys
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves
from torch.testing._internal.common_methods_invocations import op_db

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_SAMPLES = 60


def load(folder):
    """All files of a folder as one Python module (they are one namespace)."""
    text = "\n\n".join(p.read_text() for p in sorted(folder.glob("*.py")))
    path = pathlib.Path(tempfile.mkdtemp()) / f"script_{folder.name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def call(f, args, kwargs):
    """("ok", results) or ("error", message), from the same random state, on copies of the tensors."""
    def copy(v):
        if isinstance(v, torch.Tensor):
            return v.detach().clone(memory_format=torch.preserve_format)
        return type(v)(copy(x) for x in v) if isinstance(v, (list, tuple)) and not hasattr(v, "_fields") else v
    args, kwargs = [copy(a) for a in args], {k: copy(v) for k, v in kwargs.items()}
    torch.manual_seed(5)
    try:
        out = f(*args, **kwargs)
    except Exception as error:  # any refusal counts
        return "error", str(error)
    written = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    return "ok", [*tree_leaves(out), *written]


def same(a, b):
    if a[0] != b[0]:
        return f"{a[0]} and {b[0]}: {a[1] if a[0] == 'error' else b[1]}"
    if a[0] == "error":
        return None
    for x, y in zip(a[1], b[1], strict=True):
        if isinstance(x, torch.Tensor):
            if x.dtype != y.dtype or x.shape != y.shape or not torch.allclose(x, y, 1e-6, 1e-7, equal_nan=True):
                return f"{x} and {y}"
        elif x != y and not (x != x and y != y):
            return f"{x!r} and {y!r}"
    return None


def overload_caller(module, name):
    """A Python function that compiles a typed call of an overloaded function for each kind of arguments."""
    compiled = {}

    def run(*args, **kwargs):
        bound = inspect.signature(getattr(F, name)).bind(*args, **kwargs)
        size, scale = bound.arguments.get("size"), bound.arguments.get("scale_factor")
        types = ("Optional[List[int]]" if isinstance(size, (list, tuple)) else "Optional[int]",
                 "Optional[List[float]]" if isinstance(scale, (list, tuple)) else "Optional[float]")
        names = {"size": types[0], "scale_factor": types[1], "mode": "str", "align_corners": "Optional[bool]",
                 "recompute_scale_factor": "Optional[bool]", "antialias": "bool"}
        given = [n for n in bound.arguments if n != "input"]
        key = (types, tuple(given))
        if key not in compiled:
            head = "".join(f", {n}: {names[n]}" for n in given)
            body = "".join(f", {n}={n}" for n in given)
            path = pathlib.Path(tempfile.mkdtemp()) / "call.py"
            path.write_text(f"def call(input: Tensor{head}) -> Tensor:\n    return {name}(input{body})\n")
            scope = {"__name__": "call", name: getattr(module, name), "Tensor": torch.Tensor, "Optional": module.Optional,
                     "List": module.List}
            exec(compile(path.read_text(), str(path), "exec"), scope)
            compiled[key] = torch.jit.script(scope["call"])
        numbers = {n: float(v) if n == "scale_factor" and isinstance(v, int) else v
                   for n, v in bound.arguments.items()}
        return compiled[key](**numbers)
    return run


def samples_of(name):
    for op in op_db:
        if op.name not in ("nn.functional." + name, "nn.functional." + {"dropout": "dropout"}.get(name, name)):
            continue
        if not op.dtypes:
            continue
        dtype = torch.float32 if torch.float32 in op.dtypes else sorted(op.dtypes, key=str)[0]
        for i, s in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
            if i < MAX_SAMPLES:
                yield (s.input, *s.args), dict(s.kwargs)
        if op.error_inputs_func is not None:
            for e in op.error_inputs("cpu"):
                yield (e.sample_input.input, *e.sample_input.args), dict(e.sample_input.kwargs)


# Calls that the operator tests do not make.
def more_samples(name):
    x, y = torch.randn(2, 4, 6, 6), torch.rand(2, 4, 6, 6)
    extra = {
        "threshold": [((x, 0.1, 2.0), {}), ((x, 0.1, 2.0, True), {})],
        "tanh": [((x,), {})], "sigmoid": [((x,), {})],
        "softmax": [((x,), {}), ((x, 1), {}), ((x[0],), {}), ((x, -1), {"dtype": torch.float64})],
        "log_softmax": [((x,), {}), ((x, 1), {}), ((x, -1), {"dtype": torch.float64})],
        "softmin": [((x,), {}), ((x, 1), {}), ((x, -1), {"dtype": torch.float64})],
        "glu": [((torch.tensor(1.0),), {})],
        "hardtanh": [((x, 1.0, -1.0), {})],
        "gumbel_softmax": [((x, 0.5, True), {}), ((x,), {"dim": 1, "eps": 1e-9})],
        "dropout": [((x, 1.5), {})],
        "dropout1d": [((x[0],), {}), ((x[0, 0],), {"p": 0.3, "inplace": True}), ((x,), {})],
        "dropout3d": [((x,), {}), ((x[None],), {"inplace": True}), ((x,), {"inplace": True})],
        "local_response_norm": [((x, 3), {}), ((x[0], 2), {}), ((x[0, 0], 2), {}), ((x[None], 3, 0.1, 0.5, 2.0), {})],
        "layer_norm": [((x, [6]), {})],
        "rms_norm": [((x, [6]), {}), ((x, [6, 6], y[0, 0], 0.1), {})],
        "normalize": [((x,), {"out": torch.empty_like(x)}), ((x, 1.0, -1), {})],
        "max_unpool1d": [((*F.max_pool1d(x[0], 2, return_indices=True), 2), {}),
                         ((*F.max_pool1d(x[0], 2, return_indices=True), 2, None, 0, [7]), {}),
                         ((*F.max_pool1d(x[0], 2, return_indices=True), 2, None, 0, [9]), {}),
                         ((*F.max_pool1d(x[0], 3, 2, return_indices=True), 3, 2), {})],
        "max_unpool2d": [((*F.max_pool2d(x, 2, return_indices=True), 2), {"output_size": [2, 4, 7, 7]}),
                         ((*F.max_pool2d(x, 2, return_indices=True), 2), {"output_size": [7]})],
        "max_unpool3d": [((*F.max_pool3d(x, 2, return_indices=True), 2), {})],
        "lp_pool1d": [((y[0], 2, 3), {}), ((y[0], float("inf"), 3, 2, True), {}), ((y[0], 1.5, 2), {})],
        "lp_pool2d": [((y, 2, 3), {}), ((y, -float("inf"), (3, 2), 2, True), {}), ((y, 1.5, 2, 1), {})],
        "lp_pool3d": [((y, 2, 3), {}), ((y, float("inf"), (3, 2, 2), 2, True), {}), ((y, 1.5, 2, 1), {})],
        "embedding": [((torch.tensor([1, 2]), y[0, 0], -1, 0.5), {}), ((torch.tensor([1]), y[0, 0], 9), {})],
        "affine_grid": [((torch.randn(2, 2, 3), [2, 3, 4, 5]), {}), ((torch.randn(2, 3, 4), [2, 3, 4, 5, 3], True), {}),
                        ((torch.randn(2, 2, 3), [2, 3, 4, 5, 3]), {}), ((torch.randn(2, 2, 3), [2, 3, 1, 5], True), {})],
        "grid_sample": [((x, torch.rand(2, 3, 3, 2)), {"mode": m, "padding_mode": p})
                        for m in ("bilinear", "nearest", "bicubic", "x") for p in ("zeros", "border", "reflection", "x")],
        "fold": [((torch.randn(2, 16, 25), (6, 6), 2), {}), ((torch.randn(2, 16, 49), (6, 6), 2), {"padding": 1})],
        "unfold": [((x, 2), {}), ((x, (2, 3)), {"padding": 1, "stride": 2, "dilation": (1, 2)})],
        "upsample": [((x, None, 2), {}), ((x, [3, 4]), {"mode": "bilinear"}), ((x, 3), {})],
        "ctc_loss": [((torch.randn(10, 3, 5).log_softmax(2), torch.randint(1, 5, (3, 4)), torch.tensor([10, 9, 8]),
                       torch.tensor([4, 3, 2]), 0, r, True), {}) for r in ("none", "mean", "sum", "x")],
        "multi_head_attention_forward": list(attention_samples()),
    }
    for loss in ("l1_loss", "mse_loss", "smooth_l1_loss", "soft_margin_loss", "binary_cross_entropy", "kl_div",
                 "binary_cross_entropy_with_logits", "hinge_embedding_loss", "poisson_nll_loss", "huber_loss",
                 "multilabel_soft_margin_loss"):
        flags = [] if loss == "huber_loss" else [{"size_average": a, "reduce": b} for a in (True, False, None)
                                                 for b in (True, False, None)]
        reductions = [{"reduction": r} for r in ("none", "mean", "sum", "elementwise_mean", "batchmean", "x")]
        calls = [((y, y.flip(0)), kw) for kw in flags + reductions] + [((y, y[:1]), {})]
        if loss in ("l1_loss", "mse_loss", "huber_loss"):
            calls += [((y, y.flip(0)), {"weight": y, "reduction": r}) for r in ("none", "mean", "sum", "x")]
            calls += [((y, y.flip(0)), {"weight": y[:1]})]
        extra[loss] = calls
    for inplace in ("relu", "relu6", "elu", "selu", "celu", "leaky_relu", "rrelu", "hardsigmoid", "hardswish", "silu", "mish",
                    "hardtanh", "dropout", "alpha_dropout", "feature_alpha_dropout", "dropout2d"):
        for flag in (False, True):
            extra.setdefault(inplace, []).append(((x,), {"inplace": flag}))
            if "drop" in inplace or inplace == "rrelu":
                extra[inplace].append(((x,), {"inplace": flag, "training": True}))
    return extra.get(name, [])


def attention_samples():
    e, heads, length, batch = 8, 2, 5, 3
    w, b = torch.randn(3 * e, e), torch.randn(3 * e)
    out_w, out_b = torch.randn(e, e), torch.randn(e)
    for batched in (True, False):
        q = torch.randn(length, batch, e) if batched else torch.randn(length, e)
        k = torch.randn(length + 1, batch, e) if batched else torch.randn(length + 1, e)
        v = torch.randn_like(k)
        padding = torch.zeros(batch, length + 1, dtype=torch.bool) if batched else torch.zeros(length + 1, dtype=torch.bool)
        padding[..., -2] = True
        for need in (True, False):
            for inputs in ((q, k, v), (q, k, k), (k, k, k)):
                n = inputs[0].size(0)
                mask = torch.triu(torch.ones(n, length + 1), 1).bool()
                base = (*inputs, e, heads, w, b, None, None, False, 0.0, out_w, out_b)
                for kw in ({}, {"attn_mask": mask}, {"key_padding_mask": padding}, {"average_attn_weights": False},
                           {"attn_mask": mask, "key_padding_mask": padding}, {"attn_mask": mask, "is_causal": True},
                           {"attn_mask": mask.expand(heads * (batch if batched else 1), -1, -1)}, {"is_causal": True},
                           {"attn_mask": mask.float()}, {"attn_mask": mask[:, :2]}, {"training": False}):
                    yield base, {"need_weights": need, **kw}
                yield (*inputs, e, heads, w, None, torch.randn(1, 1, e), torch.randn(1, 1, e), True, 0.2, out_w, None), {
                    "need_weights": need, "attn_mask": mask, "key_padding_mask": padding}
                yield (*inputs, e, heads, None, b, None, None, False, 0.0, out_w, out_b), {
                    "need_weights": need, "use_separate_proj_weight": True, "q_proj_weight": w[:e], "k_proj_weight": w[:e],
                    "v_proj_weight": w[:e]}


def with_defaults(compiled, original):
    """A Python call does not spread `BroadcastingList2[int] = 1` to [1, 1], as a call in a script does: done here."""
    spread = {}
    definition = ast.parse(inspect.getsource(original)).body[0].args
    for argument, default in zip(reversed(definition.args), reversed(definition.defaults)):
        size = re.search(r"BroadcastingList(\d)", ast.unparse(argument.annotation))
        if size and isinstance(default.value, int):
            spread[argument.arg] = [default.value] * int(size[1])
    signature = inspect.signature(original)

    def run(*args, **kwargs):
        return compiled(**{**spread, **signature.bind(*args, **kwargs).arguments})
    return run if spread else compiled


def compiled(f):
    return with_defaults(torch.jit.script(f), f)


def check(module, name):
    ours, theirs = getattr(module, name), getattr(F, name)
    overloaded = bool(torch.jit._overload and torch._jit_internal._get_fn_overloads(torch._jit_internal._qualified_name(ours))) \
        if inspect.isfunction(ours) and name.startswith(("interpolate", "upsample")) else False
    dispatched = torch._jit_internal.boolean_dispatched.get(ours)
    if overloaded:
        functions = {None: overload_caller(module, name)}
    elif dispatched:
        functions = {True: compiled(dispatched["if_true"]), False: compiled(dispatched["if_false"])}
    else:
        functions = {None: compiled(ours)}
        mine, real = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
        if list(mine) != list(real) or any(mine[p].default != real[p].default for p in mine):
            return 0, f"signature {inspect.signature(ours)}, theirs {inspect.signature(theirs)}"
    n, first = 0, None
    for args, kwargs in [*samples_of(name), *more_samples(name)]:
        position = dispatched["index"] if dispatched else len(args)
        if dispatched and position < len(args):
            flags = (args[position],)
        else:
            flags = (True, False) if dispatched else (None,)
        for flag in flags:
            ours_kwargs, theirs_kwargs = dict(kwargs), dict(kwargs)
            if dispatched and position >= len(args):
                theirs_kwargs["return_indices"] = flag
                ours_kwargs.pop("return_indices", None)
            n += 1
            mine, real = call(functions[flag], args, ours_kwargs), call(theirs, args, theirs_kwargs)
            if mine[0] == "error" and real[0] == "ok" and not overloaded:  # scripts take fewer types than Python does
                scripted = torch._jit_internal.boolean_dispatched[theirs]["if_true" if flag else "if_false"] \
                    if dispatched else theirs
                real = call(compiled(scripted), args, ours_kwargs)
            difference = same(mine, real)
            if difference and first is None:
                shapes = [list(a.shape) if isinstance(a, torch.Tensor) else a for a in args]
                first = f"{shapes} {({k: (list(v.shape) if isinstance(v, torch.Tensor) else v) for k, v in kwargs.items()})}: {difference}"
    return n, first


TORCH_CALLS = """norm(x) | norm(x, 1) | norm(x, 2.5, 1) | norm(x, "fro", [0, 1]) | norm(x, "nuc") | norm(x, "fro", 1)
norm(x, p=2, dim=[1], keepdim=True) | norm(x, "nuc", [0, 1]) | norm(x, 1, dtype=torch.float64) | norm(x, None, 0)
unique(i) | unique(i, return_inverse=True) | unique(i, return_counts=True) | unique(i, dim=0)
unique(i, return_inverse=True, return_counts=True) | unique_consecutive(i) | unique_consecutive(i, True, True)
unique_consecutive(i, return_counts=True) | unique_consecutive(i, return_inverse=True, dim=1)
lu(s) | lu(s, get_infos=True) | lu(s, True) | cdist(x, x) | cdist(x, x, 1.0)
cdist(x, x, compute_mode="use_mm_for_euclid_dist") | tensordot(s, s, 1) | tensordot(s, s) | tensordot(s, s, ([1], [0]))
tensordot(s, s, [[1], [0]]) | tensordot(s, s, torch.tensor([[1], [0]])) | tensordot(s, s, torch.tensor(1))
stft(x.repeat(1, 10), 8, return_complex=True)
stft(x.repeat(1, 10)[0], 8, 4, center=False, window=torch.hann_window(8), return_complex=True)"""


def check_torch_functions():
    """Each call compiled by PyTorch with our function, and with its own."""
    path = ROOT / "script/torch/functional.py"
    spec = importlib.util.spec_from_file_location("script_torch", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["script_torch"] = module
    spec.loader.exec_module(module)
    folder, failed = pathlib.Path(tempfile.mkdtemp()), 0
    x, s, i = torch.randn(3, 4), torch.randn(4, 4), torch.tensor([[1, 1, 2], [3, 3, 1]])
    calls = [c.strip() for c in TORCH_CALLS.replace("\n", "|").split("|")]
    for n, text in enumerate(calls):
        results = []
        for origin in ("script_torch", "torch"):
            file = folder / f"call_{origin}_{n}.py"
            file.write_text(f"import torch\nfrom {origin} import {text[:text.index('(')]}\n\n\n"
                            f"def call(x, s, i):\n    return {text}\n")
            made = importlib.util.spec_from_file_location(file.stem, file)
            caller = importlib.util.module_from_spec(made)
            sys.modules[file.stem] = caller
            made.loader.exec_module(caller)
            results.append(call(torch.jit.script(caller.call), [x, s, i], {}))
        if difference := same(*results):
            failed += 1
            print(f"torch.{text}\n  DIFFERS {difference}")
    print(f"{len(calls)} calls of torch functions, {failed} differ")
    return failed


def main():
    warnings.simplefilter("ignore")
    module = load(ROOT / "script/torch/nn/functional")
    names = sys.argv[1:] or sorted(n for n, f in vars(module).items() if callable(f) and not n.startswith("_")
                                   and getattr(F, n, None) is not None and n not in ("boolean_dispatch", "Optional"))
    failed = 0
    for name in names:
        ours = getattr(module, name)
        if inspect.isclass(ours) or inspect.isbuiltin(ours) or name.startswith("Broadcasting"):
            continue  # a type, or another name of an operator
        try:
            n, difference = check(module, name)
        except Exception as error:
            n, difference = 0, f"{type(error).__name__}: {error}"
        failed += difference is not None
        print(f"{name}: {n} calls" + (f"\n  DIFFERS {difference}" if difference else "" if n else "  NO SAMPLES"))
    print(f"{len(names)} functions, {failed} differ")
    if not sys.argv[1:]:
        failed += check_torch_functions()
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
