# Tensors: attributes, views, indexing, factories, dtypes, gradients, modes.


@program(lambda: (t(2, 3),), lambda: (t(4, 3),))
def sizes_and_strides(x):
    return x + x.shape[0] + x.size(1) + x.dim() + x.numel(), x.size(), x.stride(), x.dtype, x.device, x.ndim, x.is_contiguous()


@program(lambda: (t(2, 3),))
def reshapes(x):
    return x.view(3, 2), x.reshape(-1), x.t(), x.permute(1, 0), x.unsqueeze(0).squeeze(), x.flatten(), x.T.contiguous(), x.expand(2, 2, 3)


@program(lambda: (t(4, 5),))
def indexing(x):
    return x[0], x[:, 1:3], x[..., -1], x[None], x[1, 2], x[::2, ::-1 if False else 1], x[[0, 2]], x[torch.tensor([1, 0])], x[:, None, 2]


@program(lambda: (t(4, 5),))
def index_assignment(x):
    y = x.clone()
    y[0] = 1
    y[1, 2:4] = torch.zeros(2)
    y[torch.tensor([2, 3])] = 7
    y[y > 0.5] = -1
    return y


@program(lambda: (t(3),))
def factories(x):
    return x + torch.zeros(3) + torch.ones_like(x) + torch.arange(3) + torch.full((3,), 2.0) + torch.tensor([1.0, 2.0, 3.0]), torch.eye(2), torch.linspace(0, 1, 3)


@program(lambda: (t(3),), lambda: (t(3).double(),))
def dtypes(x):
    return x.int() + 1, x.to(torch.float64), x.dtype == torch.float32, (x > 0).float(), x.half().dtype, torch.promote_types(x.dtype, torch.int32)


@program(lambda: (t(3), torch.float64), lambda: (t(3), torch.float32))
def dtype_argument(x, dtype):
    return x.to(dtype) + torch.ones(3, dtype=dtype)


@program(lambda: (t(2, 3),))
def reductions(x):
    values, indices = x.max(dim=1)
    return x.sum(), x.mean(0), x.std(), values, indices, x.argmax(), x.norm(), x.cumsum(1), torch.topk(x, 2).values


@program(lambda: (t(3), t(3) + 1))
def comparisons(x, y):
    return x < y, (x == y).any(), torch.where(x > 0, x, y), torch.maximum(x, y), x.eq(y).all(), torch.isclose(x, y)


@program(lambda: (t(3),))
def operators_of_python(x):
    return -x, abs(x), x ** 2, 2 ** x, x // 2, x % 2, 1 / (x + 9), x @ x, 5 - x, ~(x > 0), (x > 0) & (x < 1), x != 2


@program(lambda: (t(3),))
def augmented_operators(x):
    y = x * 1
    y += 1
    y *= x
    y -= 2
    y /= 3
    y **= 2
    return y


@program(lambda: (t(2, 3), t(3, 2)))
def matrix_products(x, y):
    return x @ y, torch.mm(x, y), torch.matmul(x, y), torch.einsum("ij,jk->ik", x, y), F.linear(x, y.t())


@program(lambda: (t(4, 4),))
def splits_and_joins(x):
    a, b = x.chunk(2)
    c, d = torch.split(x, [1, 3])
    return torch.cat([a, b], 1), torch.stack((c[0], d[0])), torch.hstack([a, b]), [p.sum() for p in x.unbind()]


@program(lambda: (t(3, grad=True),))
def gradient_flows(x):
    return (x * x).sum() * 2, x.requires_grad, (x + 1).requires_grad, x.is_leaf


@program(lambda: (t(3, grad=True),))
def no_grad_region(x):
    with torch.no_grad():
        y = x * 2
    z = y + x
    return y.requires_grad, z.requires_grad, z, torch.is_grad_enabled()


@program(lambda: (t(3, grad=True),))
def enable_grad_in_no_grad(x):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = x * 3
    with torch.set_grad_enabled(False):
        c = x * 4
    return a.requires_grad, b.requires_grad, c.requires_grad, a + b + c


@torch.no_grad()
def frozen(x):
    return x * 2


@program(lambda: (t(3, grad=True),))
def no_grad_decorator(x):
    y = frozen(x)
    return y, y.requires_grad, (x * 2).requires_grad


@program(lambda: (t(3),))
def inference_mode(x):
    with torch.inference_mode():
        y = x + 1
    return y * 1, y.is_inference()


@program(lambda: (t(3, grad=True),))
def detach_and_clone(x):
    y = x.detach()
    return y + 1, y.requires_grad, x.clone(), x.data * 2, x.detach().clone().requires_grad_()


@program(lambda: (t(3, grad=True),))
def grad_function(x):
    (g,) = torch.autograd.grad((x ** 3).sum(), x)
    return g * 2


@program(lambda: (t(3, grad=True),))
def grad_attribute(x):
    (x * 3).sum().backward()
    first = x.grad.clone()
    x.grad = None
    (x * x).sum().backward()
    return first + x.grad, x.grad is None


@program(lambda: (t(3, grad=True),))
def double_backward(x):
    (g,) = torch.autograd.grad((x ** 3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    return h


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * x * k

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x * ctx.k, None


@program(lambda: (t(3, grad=True),))
def autograd_function(x):
    y = Square.apply(x, 3)
    return y + 1, y.requires_grad


@program(lambda: (t(3, grad=True),))
def autograd_function_with_backward(x):
    Square.apply(x, 3).sum().backward()
    return x.grad + 0


@program(lambda: (t(3, grad=True),))
def checkpointed(x):
    y = torch.utils.checkpoint.checkpoint(lambda v: torch.sin(v) * v, x, use_reentrant=False)
    return y.sum()


@program(lambda: (t(3, grad=True),))
def tensor_hook(x):
    y = x * 2
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return x.grad + 0


@program(lambda: (t(2, 3), t(3, 2)))
def autocast_region(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = x @ y
    return z.dtype, z.float(), (x @ y).dtype


@program(lambda: (t(3),))
def default_dtype_read(x):
    return x + 1, torch.get_default_dtype(), torch.tensor(1.5).dtype


@program(lambda: (t(3),), lambda: (t(1),))
def scalar_tensors(x):
    s = torch.tensor(3)
    return x + s, x * torch.tensor(2.5), s + 1, x.sum() * s


@program(lambda: (t(3),))
def tensor_methods_chain(x):
    return x.relu().add(1).mul(2).clamp(0, 3).softmax(0).log().neg().exp().sqrt()


@program(lambda: (t(3),))
def functional_calls(x):
    return F.relu(x) + F.gelu(x) + F.silu(x) + F.softplus(x), F.softmax(x, dim=0), F.layer_norm(x, (3,)), F.normalize(x, dim=0), F.pad(x, (1, 1))


@program(lambda: (t(3, dtype=torch.int64),))
def integer_tensors(x):
    return x + 1, x // 2, x << 1, x & 3, x.bool(), x.float().mean(), F.one_hot(x.abs(), 3)


@program(lambda: (t(3).to(torch.complex64),))
def complex_tensors(x):
    y = x * (1 + 2j)
    return torch.view_as_real(y), y.real, y.abs(), y.conj().imag


@program(lambda: (t(3, 3),))
def linear_algebra(x):
    a = x @ x.T + torch.eye(3) * 4
    return torch.linalg.det(a), torch.linalg.inv(a), torch.linalg.norm(x), torch.trace(a), torch.diag(a)


@program(lambda: (t(3), t(3)), lambda: (t(3), None))
def optional_tensor(x, y=None):
    return x + y if y is not None else x - 1


@program(lambda: (t(2, 3), (2, 3)), lambda: (t(2, 3), (3, 2)))
def size_argument(x, size):
    return x.reshape(size) + torch.ones(*size)


@program(lambda: (t(3),))
def tensor_truth_known(x):
    return x if x is not None else 0, x is x, x.shape == (3,), x.shape[0] == 3 and x.dim() == 1


@program(lambda: (t(3),))
def tensor_in_format(x):
    y = x + 1
    return y, f"{tuple(y.shape)} {y.dtype}"


@program(lambda: (t(2, 2), t(2, 2)))
def tensor_lists_foreach(x, y):
    return torch._foreach_add([x, y], 1), torch._foreach_mul([x], [y])


@program(lambda: (t(3), t(3) > 0))
def masked(x, mask):
    return x.masked_fill(mask, 0), x * mask, torch.masked_fill(x, ~mask, 1), mask.sum()


@program(lambda: (t(5), torch.tensor([0, 3])), lambda: (t(5), torch.tensor([1, 1])))
def gather_scatter(x, i):
    return x.gather(0, i), x.index_select(0, i), torch.zeros(5).scatter_add(0, i, torch.ones(2)), x.take(i)


@program(lambda: (t(3),))
def vmap_and_func(x):
    return torch.func.vmap(lambda v: v * 2)(x), torch.func.grad(lambda v: (v ** 2).sum())(x)


@program(lambda: (t(3),), lambda: (-t(3) - 3,))
def cond_operator(x):
    return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))
