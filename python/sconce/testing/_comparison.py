"""assert_close: are two values, or containers of values, the same up to tolerances that go with their dtypes?"""

import collections.abc
import math
import numbers
import warnings

import sconce as torch

# (rtol, atol), as PyTorch has them.
_TOLERANCES = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7),
               torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7)}
_NUMBER_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


def _default_tolerances(*dtypes):
    both = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
    return max(rtol for rtol, _ in both), max(atol for _, atol in both)


class _Comparison:
    """One call of assert_close: its options, and where in the containers it is."""

    def __init__(self, rtol, atol, equal_nan, checks, allow_subclasses):
        if (rtol is None) != (atol is None):
            given = "rtol" if atol is None else "atol"
            missing = "atol" if atol is None else "rtol"
            raise ValueError(f"Both 'rtol' and 'atol' must be either specified or unspecified, but got no tolerance for {missing} beside {given}")
        self.rtol, self.atol, self.equal_nan, self.checks, self.allow_subclasses = rtol, atol, equal_nan, checks, allow_subclasses

    def tolerances(self, *dtypes):
        return _default_tolerances(*dtypes) if self.rtol is None else (self.rtol, self.atol)

    def fail(self, message, path, kind=AssertionError):
        where = "".join(f"[{part!r}]" for part in path)
        raise kind(message + (f"\n\nThe failure occurred for item {where}" if path else ""))

    def compare(self, actual, expected, path=()):
        strings = (str, bytes)
        if isinstance(actual, collections.abc.Mapping) and isinstance(expected, collections.abc.Mapping):
            if set(actual) != set(expected):
                self.fail("The keys of the mappings do not match:\n"
                          f"Missing keys in the actual mapping: {sorted(set(expected) - set(actual), key=repr)}\n"
                          f"Missing keys in the expected mapping: {sorted(set(actual) - set(expected), key=repr)}", path)
            for key in expected:
                self.compare(actual[key], expected[key], (*path, key))
        elif isinstance(actual, collections.abc.Sequence) and isinstance(expected, collections.abc.Sequence) and not isinstance(actual, strings):
            if len(actual) != len(expected):
                self.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
            for i, (a, b) in enumerate(zip(actual, expected)):
                self.compare(a, b, (*path, i))
        elif actual is None or expected is None:
            if actual is not expected:
                self.fail(f"None mismatch: {actual} is not {expected}", path)
        elif isinstance(actual, numbers.Number) and isinstance(expected, numbers.Number):
            self.numbers(actual, expected, path)
        else:
            self.tensors(*self.as_tensors(actual, expected, path), path)

    def as_tensors(self, actual, expected, path):
        related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
        if not related or (not self.allow_subclasses and type(actual) is not type(expected)):
            if not (isinstance(actual, torch.Tensor) and isinstance(expected, torch.Tensor) and self.allow_subclasses):
                self.fail(f"Except for scalars, type equality is required if allow_subclasses=False, and related types otherwise, but got "
                          f"{type(actual)} and {type(expected)} instead.", path, TypeError)
        try:
            return torch.as_tensor(actual), torch.as_tensor(expected)
        except Exception:
            self.fail(f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.", path, TypeError)

    def numbers(self, actual, expected, path):
        if self.checks["dtype"] and type(actual) is not type(expected):
            self.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
        rtol, atol = self.tolerances(*(_NUMBER_DTYPES.get(type(v), torch.float64) for v in (actual, expected)))
        if actual == expected or (self.equal_nan and actual != actual and expected != expected):
            return
        gap = abs(actual - expected)
        if math.isfinite(abs(expected)) and gap <= atol + rtol * abs(expected):
            return
        kind = "Booleans" if isinstance(expected, bool) else "Scalars"
        if rtol == atol == 0:
            self.fail(f"{kind} are not equal!\n\nExpected {expected} but got {actual}.\nAbsolute difference: {gap}\n"
                      f"Relative difference: {gap / abs(expected) if expected else math.inf}", path)
        self.fail(f"{kind} are not close!\n\nExpected {expected} but got {actual}.\nAbsolute difference: {gap} (up to {atol} allowed)\n"
                  f"Relative difference: {gap / abs(expected) if expected else math.inf} (up to {rtol} allowed)", path)

    def tensors(self, actual, expected, path):
        if tuple(actual.shape) != tuple(expected.shape):
            self.fail(f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.", path)
        for name in ("device", "dtype", "layout"):
            a, b = getattr(actual, name), getattr(expected, name)
            if self.checks.get(name, True) and a != b:
                self.fail(f"The values for attribute '{name}' do not match: {a} != {b}.", path)
        if self.checks["stride"] and actual.stride() != expected.stride():
            self.fail(f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.", path)
        rtol, atol = self.tolerances(actual.dtype, expected.dtype)
        with torch.no_grad():
            self.values(actual.detach(), expected.detach(), rtol, atol, path)

    def values(self, actual, expected, rtol, atol, path):
        if actual.layout is not torch.strided:
            actual, expected = actual.to_dense(), expected.to_dense()
        if actual.dtype is not expected.dtype:
            wide = torch.promote_types(actual.dtype, expected.dtype)
            actual, expected = actual.to(wide), expected.to(wide)
        right = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=self.equal_nan)
        if bool(right.all()):
            return
        wide = torch.complex128 if actual.is_complex() else torch.float64 if actual.is_floating_point() else torch.int64
        a, b = actual.to(wide), expected.to(wide)
        gaps = (a - b).abs().masked_fill(right, 0)
        ratios = (gaps / b.abs()).masked_fill(right, 0)
        words = "not equal" if rtol == atol == 0 else "not close"
        kind = "Scalars" if actual.dim() == 0 else "Tensor-likes"
        wrong, count = int((~right).sum()), right.numel()
        if actual.dim() == 0:
            self.numbers_text(kind, words, actual, expected, gaps, ratios, rtol, atol, path)
        lines = [f"{kind} are {words}!", "", f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"]
        for name, values, limit in (("absolute", gaps, atol), ("relative", ratios, rtol)):
            at = int(torch.argmax(values.reshape(-1)))
            place = tuple(int(v) for v in torch.unravel_index(torch.tensor(at), tuple(values.shape)))
            allowed = "" if rtol == atol == 0 else f" (up to {limit} allowed)"
            lines.append(f"Greatest {name} difference: {values.reshape(-1)[at].item()} at index {place}{allowed}")
        self.fail("\n".join(lines), path)

    def numbers_text(self, kind, words, actual, expected, gaps, ratios, rtol, atol, path):
        allowed = ["", ""] if rtol == atol == 0 else [f" (up to {atol} allowed)", f" (up to {rtol} allowed)"]
        self.fail(f"{kind} are {words}!\n\nExpected {expected.item()} but got {actual.item()}.\nAbsolute difference: {gaps.item()}{allowed[0]}\n"
                  f"Relative difference: {ratios.item()}{allowed[1]}", path)


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True,
                 check_layout=True, check_stride=False, msg=None):
    """Raises AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, in containers of any depth."""
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride": check_stride}
    try:
        _Comparison(rtol, atol, equal_nan, checks, allow_subclasses).compare(actual, expected)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


def assert_allclose(actual, expected, rtol=None, atol=None, equal_nan=True, msg=""):
    """The function of old programs: dtypes and devices may differ."""
    warnings.warn("`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
                  "`torch.testing.assert_close()` instead.", FutureWarning, stacklevel=2)
    if not isinstance(actual, torch.Tensor):
        actual = torch.tensor(actual)
    if not isinstance(expected, torch.Tensor):
        expected = torch.tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        rtol, atol = _default_tolerances(actual.dtype, expected.dtype)
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True, check_dtype=False, check_stride=False,
                 msg=msg or None)
