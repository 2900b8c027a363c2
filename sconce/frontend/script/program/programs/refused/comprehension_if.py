# refused at line 4
# Comprehension ifs are not supported yet
def f(x: List[int]):
    return [i for i in x if i > 1]
