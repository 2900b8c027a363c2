# refused at line 6
# First assignment cannot be in a control-flow block. Initialize the field at the top level first
class A:
    def __init__(self, x: int):
        if x > 1:
            self.x = x


def f(x: int):
    return A(x)
