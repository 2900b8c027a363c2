# refused at line 5
# cannot assign attributes before Module.__init__() call
class M(nn.Module):
    def __init__(self):
        self.x = 1

#> M()
