# Operators as archives of format version 7 and before mean them: without a number of steps there are 100.


def linspace(start: number, end: number, steps: Optional[int] = None, *, dtype: Optional[int] = None,
             layout: Optional[int] = None, device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    if steps is None:
        return torch.linspace(start, end, 100, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return torch.linspace(start, end, steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)


def linspace(start: number, end: number, steps: Optional[int] = None, *, out: Tensor) -> Tensor:
    if steps is None:
        return torch.linspace(start, end, 100, out=out)
    return torch.linspace(start, end, steps, out=out)
