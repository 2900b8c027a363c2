# refused at line 9
# Class A does not have an __init__ function defined
class A:
    def get(self) -> int:
        return 1


def f() -> int:
    return A().get()
