# refused at line 7
# python value of type 'list' cannot be used as a value. Perhaps it is a closed over global variable? If so, please consider passing it in as an argument or use a local variable instead.
L = [1, 2]


def f():
    return L
