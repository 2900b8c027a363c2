# Properties of tensors that the operator table does not have under the name that programs use: x.ndim is prim::ndim.


def ndim(self: Tensor) -> int:
    return self.dim()


def T(self: Tensor) -> Tensor:
    return self.numpy_T()


def H(self: Tensor) -> Tensor:
    return self.matrix_H()


def shape(self: Tensor) -> List[int]:
    return self.size()
