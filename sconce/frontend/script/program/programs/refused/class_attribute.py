# refused at line 13
# 'N' is defined as a class attribute which currently is not supported. Consider converting this to an instance attribute.
class A:
    N = 3

    def __init__(self, x: int):
        self.x = x


def f(x: int):
    a = A(x)

    return A.N
