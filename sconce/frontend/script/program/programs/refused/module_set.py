# refused at line 9
# Wrong type for attribute assignment. Expected int but got float
class R(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3

    def forward(self, x):
        self.k = 2.0
        return x

#> R()
