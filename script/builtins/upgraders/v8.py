# Operators as archives of format version 8 and before mean them: without a number of steps there are 100.


def logspace(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, *,
             dtype: Optional[int] = None, layout: Optional[int] = None, device: Optional[Device] = None,
             pin_memory: Optional[bool] = None) -> Tensor:
    if steps is None:
        return torch.logspace(start, end, 100, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return torch.logspace(start, end, steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def logspace(start: number, end: number, steps: Optional[int] = None, base: float = 10.0, *, out: Tensor) -> Tensor:
    if steps is None:
        return torch.logspace(start, end, 100, base, out=out)
    return torch.logspace(start, end, steps, base, out=out)
