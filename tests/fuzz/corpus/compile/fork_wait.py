def fork_wait(x: Tensor) -> Tensor:
    futs: List[torch.jit.Future[Tensor]] = []
    for i in range(4):
        futs.append(torch.jit.fork(helper_a, x, i))
    s = torch.zeros_like(x)
    for f in futs:
        s += torch.jit.wait(f)
    return s
