# refused at line 8
# TorchScript classes does not support inheritance yet. Please directly inherit from 'object'.
class A:
    def __init__(self):
        self.x = 1


class B(A):
    pass
