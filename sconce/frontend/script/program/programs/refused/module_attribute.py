# refused at line 9
# Module 'R' has no attribute 'bad' (This attribute exists on the Python module, but we failed to convert Python type: 'list' to a TorchScript type. List trace inputs must have elements. Its type was inferred; try adding a type annotation for the attribute.)
class R(nn.Module):
    def __init__(self):
        super().__init__()
        self.bad = []

    def forward(self, x):
        return self.bad

#> R()
