# refused at line 19
# the submodule 'layer' does not implement __torch__.I: Class '__torch__.M' does not have method 'run' but '__torch__.I' does.
@torch.jit.interface
class I(nn.Module):
    def run(self, x: int) -> int:
        pass


class M(nn.Module):
    def forward(self, x: int) -> int:
        return x





class H(nn.Module):

    layer: I

    def __init__(self):
        super().__init__()
        self.layer = M()

    def forward(self, x: int) -> int:
        return self.layer.run(x)

#> H()
