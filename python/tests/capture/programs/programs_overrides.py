# Functions of the library taken over: modes and classes of tensors with __torch_function__.


class Mode(torch.overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        if func is torch.add:
            func = torch.sub
        return func(*args, **(kwargs or {}))


@program(lambda: (t(3), t(3)),)
def function_modes(x, y):
    with Mode() as mode:
        z = torch.add(x, y)
        w = torch.mul(z, 2)
    return z, w, mode.names


class Named(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        out = super().__torch_function__(func, types, args, kwargs or {})
        return out


@program(lambda: (t(3).as_subclass(Named),))
def subclass_through_functions(x):
    y = torch.sin(x) + 1
    return type(y).__name__, y.as_subclass(torch.Tensor), isinstance(y, Named)


class Logged(torch.Tensor):
    log = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.log.append((func.__name__, len(types)))
        return super().__torch_function__(func, types, args, kwargs)


@program(lambda: (t(3).as_subclass(Logged), t(3)), lambda: (t(3).as_subclass(Logged), t(3)))
def subclass_that_logs(x, y):
    z = torch.add(x, y)
    w = torch.cat([y, z])
    v = z.relu()
    return z, w, type(v) is Logged, list(Logged.log)


class Meta(torch.Tensor):
    @staticmethod
    def __new__(cls, data, unit="m"):
        made = torch.as_tensor(data).as_subclass(cls)
        made.unit = unit
        return made

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        units = {a.unit for a in args if isinstance(a, Meta) and hasattr(a, "unit")}
        out = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(out, Meta) and len(units) == 1:
            out.unit = units.pop()
        return out

    def in_unit(self, unit):
        made = self * 1
        made.unit = unit
        return made


@program(lambda: (Meta(t(3), "km"),), lambda: (Meta(t(3)),))
def subclass_with_attributes(x):
    y = torch.mul(x, 2)
    z = y.in_unit("cm")
    return y, y.unit, z.unit, type(z).__name__


class Scaled(torch.Tensor):
    scale = 10

    def __add__(self, other):
        return torch.Tensor.add(self, other * self.scale)

    def double(self):
        return self * 2

    @property
    def total(self):
        return self.sum()


@program(lambda: (t(3).as_subclass(Scaled), t(3)),)
def subclass_with_methods(x, y):
    z = x + y
    w = (y + 1).as_subclass(Scaled)
    return z, x.double().total, (w + 1).as_subclass(torch.Tensor), isinstance(z, Scaled), w.scale


HANDLED = {}


def implements(function):
    def register(f):
        HANDLED[function] = f
        return f
    return register


class Scalar:
    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, Scalar)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))


@implements(torch.mean)
def mean_of(x):
    return x.value / x.n


@implements(torch.add)
def sum_of(a, b):
    if isinstance(a, Scalar):
        return Scalar(a.n, a.value + b)
    return a + b.value


@program(lambda: (t(3), 4), lambda: (t(3), 5))
def objects_that_take_functions_over(x, n):
    s = Scalar(n, 2.0)
    u = torch.add(x, s)
    return u, torch.mean(s), torch.add(s, 1.5).value


class Outer(torch.overrides.TorchFunctionMode):
    def __init__(self, log, tag):
        self.log, self.tag = log, tag

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.log.append(self.tag + func.__name__)
        return func(*args, **(kwargs or {}))


@program(lambda: (t(3), []), lambda: (t(3), ["a"]))
def modes_nested(x, log):
    with Outer(log, "o:"):
        y = x + 1
        with Outer(log, "i:"):
            z = y * 2
        w = torch.relu(z)
    return w - 1, log


class Counting(torch.overrides.TorchFunctionMode):
    total = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Counting.total += 1
        return func(*args, **(kwargs or {}))


def helper(x):
    return torch.tanh(x) * 2


@program(lambda: (t(3),), lambda: (t(4),))
def modes_around_helpers(x):
    with Counting():
        y = helper(x)
        n = Counting.total
    z = helper(y)
    return z, n, Counting.total


class Fails(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.exp:
            raise ValueError("no exp")
        return func(*args, **(kwargs or {}))


@program(lambda: (t(3),))
def modes_that_raise(x):
    try:
        with Fails():
            y = torch.sin(x)
            y = torch.exp(y)
    except ValueError as e:
        return torch.exp(x), str(e)


class DoubleOnes(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        return out * 2 if func is torch.ones else out


@program(lambda: (t(3),))
def modes_for_factories(x):
    with DoubleOnes():
        a = torch.ones(3)
    return a + x, torch.ones(1)


@program(lambda: (t(3),))
def modes_with_a_break(x):
    log = []
    with Outer(log, ""):
        y = torch.sin(x)
        torch._dynamo.graph_break()
        z = torch.cos(y)
    return z + 1, log


@program(lambda: (t(3).as_subclass(Logged),))
def overrides_switched_off(x):
    before = len(Logged.log)
    with torch._C.DisableTorchFunctionSubclass():
        y = torch.sin(x)
    after = len(Logged.log)
    return type(y).__name__, after - before, torch.is_tensor(y)


@program(lambda: (t(2, 3).as_subclass(Named),), lambda: (t(4, 3).as_subclass(Named),))
def subclass_views_and_writes(x):
    y = x.clone()
    y += 1
    y.mul_(2)
    row = y[0]
    row.add_(1)
    a, b = y.split([1, y.shape[0] - 1])
    return y, row, a, b, y.shape, -y, y == y, 2 ** y, y @ y.T


class Weight(nn.Parameter):
    pass


class WithWeight(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = Weight(t(3))
        self.b = nn.Parameter(t(3), requires_grad=False)

    def forward(self, x):
        return x * self.w + self.b


@program(lambda: (WithWeight(), t(3)),)
def parameters_of_a_subclass(m, x):
    y = m(x)
    return y, type(m.w).__name__, isinstance(m.w, nn.Parameter), type(y) is torch.Tensor, [n for n, p in m.named_parameters() if p.requires_grad]
