# Operators as archives of format version 4 and before mean them: a fill without dtype is of floats.


def full(size: List[int], fill_value: number, *, dtype: Optional[int] = None, layout: Optional[int] = None,
         device: Optional[Device] = None, pin_memory: Optional[bool] = None) -> Tensor:
    if dtype is None:
        return torch.full(size, float(fill_value), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return torch.full(size, fill_value, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
