"""Vector loops: the C++ of scalar expressions, compiled once per instruction set level.

    functions     what an expression may call
    expression    one expression, for one class of dtypes and one compute type, to C++
    pointwise     the loops of pointwise operators
    reductions    the loops of reductions
"""
