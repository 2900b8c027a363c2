"""Faces of the table: what each generated file shows of the operators.

    functions      typed functions, declared in <family>.h
    kernels        declarations of hand-written kernels, and the functions between dispatch and kernels
    records        the static data of an operator: struct Op
    entries        the operator as data for a compiler: struct OpEntry
    operators      <family>_ops.cpp: the three above in one source
    methods        methods of Tensor
    registration   the list of families, other names of operators, instructions that stand for operators
    samples        arguments for the table's own tests

A further face (Python, stubs, another device) is a module here and a line in generate.py.
"""
