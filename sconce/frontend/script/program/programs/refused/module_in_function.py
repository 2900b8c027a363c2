# refused at line 9
# Cannot instantiate class 'M' in a script function
class M(nn.Module):
    def forward(self, x):
        return x


def f(x):
    return M()(x)


class Uses(nn.Module):
    def forward(self, x):
        return f(x)

#> Uses()
