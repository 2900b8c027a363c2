# refused at line 4
#  function 'f' is called recursively. Recursive calls are not supported
def f(n: int) -> int:
    return f(n - 1)
