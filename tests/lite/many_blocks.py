# A method that takes hundreds of blocks of memory, more than an arena's plan has room for at first.
class Net(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        kept: List[Tensor] = []
        for i in range(400):
            kept.append(x * 2.0 + float(i))
        y = x
        for k in kept:
            y = y + k
        return y
