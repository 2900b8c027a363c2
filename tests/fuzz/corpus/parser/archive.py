class A(Module):
  __parameters__ = ["w", ]
  __buffers__ = []
  training : bool
  __annotations__["0"] = __torch__.B
  def forward(self: __torch__.A,
    x: Tensor,
    n: int=-1) -> Tuple[Tensor, Optional[int]]:
    _0 = getattr(self, "0")
    y = torch.add(x, (_0).forward(x, ), alpha=CONSTANTS.c0)
    if torch.gt(n, 0):
      _1, _2 = True, annotate(List[int], [])
    else:
      _1, _2 = False, [1, 2]
    while _1:
      _1 = torch.__not__(_1)
    for i in range(n):
      y = ops.prim.data(y)
    def __forked_function(z: Tensor) -> Tensor:
      return torch.neg(z)
    _3 = "a\303\251\x00\n"
    return (y, unchecked_cast(int, n))
