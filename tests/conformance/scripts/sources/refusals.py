# ---- !call_undefined
def f(x):
    return foo(x)
# ---- !attr_of_none
def f(x: Optional[Tensor]):
    return x.size()
# ---- !opt_arg
def g(x: Tensor) -> Tensor:
    return x
def f(x: Optional[Tensor]):
    return g(x)
# ---- !list_elem
def f(x: List[int]):
    x.append(1.5)
    return x
# ---- !dict_key
def f(d: Dict[str, int]):
    return d[1]
# ---- !str_plus_int
def f(s: str, n: int):
    return s + n
# ---- !int_to_float
def g(x: float) -> float:
    return x
def f(n: int):
    return g(n)
# ---- !cond_tuple
def f(t: Tuple[int, int]):
    if t:
        return 1
    return 2
# ---- !cond_optional
def f(t: Optional[int]):
    if t:
        return 1
    return 2
# ---- !if_exp_types
def f(c: bool):
    return 1 if c else "a"
# ---- !undefined_after_loop
def f(n: int):
    for i in range(n):
        y = i
    return y
# ---- !undefined_in_loop
def f(n: int):
    while n > 0:
        n -= 1
        z = z + 1
    return n
# ---- !not_all_paths
def f(c: bool) -> int:
    if c:
        return 1
# ---- !return_none_some
def f(c: bool):
    if c:
        return 1
    return
# ---- !recursion
def f(n: int) -> int:
    if n == 0:
        return 1
    return n * f(n - 1)
# ---- !unpack_int
def f(n: int):
    a, b = n
    return a
# ---- !unpack_few
def f(t: Tuple[int, int, int]):
    a, b = t
    return a
# ---- !unpack_tensor
def f(x: Tensor):
    a, b = x
    return a
# ---- !star_only
def f(t: Tuple[int, int]):
    *a, *b = t
    return a
# ---- !subscript_int
def f(n: int):
    return n[0]
# ---- !slice_dict
def f(d: Dict[str, int]):
    return d[1:2]
# ---- !assign_call
def f(x: int):
    g(x) = 3
    return x
# ---- !assign_str_index
def f(s: str):
    s[0] = "a"
    return s
# ---- !assign_tuple_index
def f(t: Tuple[int, int]):
    t[0] = 3
    return t
# ---- !list_index_str
def f(l: List[int]):
    return l["a"]
# ---- !set_attr_tensor
def f(x: Tensor):
    x.foo = 1
    return x
# ---- !annotate_twice
def f(c: bool):
    x: int = 1
    if c:
        x: str = "a"
    return x
# ---- !wrong_annotation
def f():
    x: int = "a"
    return x
# ---- !kwarg_twice
def g(a: int) -> int:
    return a
def f(x: int):
    return g(x, a=x)
# ---- !unknown_kw
def f(x):
    return torch.sum(x, dims=0)
# ---- !builtin_args
def f(x):
    return torch.relu(x, x, x)
# ---- !len_int
def f(x: int):
    return len(x)
# ---- !iterate_bool
def f(x: bool):
    return [i for i in x]
# ---- !zip_bad
def f(x: int):
    for a, b in zip(x, [1]):
        pass
    return x
# ---- !range_float
def f(x: float):
    for i in range(x):
        pass
    return x
# ---- !isinstance_one
def f(x: int):
    return isinstance(x)
# ---- !print_kw
def f(x: int):
    print(x, end="")
    return x
# ---- !raise_int
def f(x: int):
    raise x
# ---- !del_undefined
def f(x: int):
    del y
    return x
# ---- !not_callable_str
def f(s: str):
    return s()
# ---- !neg_str
def f(s: str):
    return -s
# ---- !invert_int
def f(n: int):
    return ~n
# ---- !and_opt
def f(a: Optional[int], b: bool):
    return a and b
# ---- !in_int
def f(a: int):
    return 1 in a
# ---- !compare_lists
def f(a: List[int]):
    return a < [1]
# ---- !dict_mixed
def f():
    return {"a": 1, 2: "b"}
# ---- !list_of_none_append
def f():
    a = [None]
    a.append(1)
    return a
# ---- !tensor_plus_str
def f(x):
    return x + "a"
# ---- !matmul_int
def f(x: int):
    return x @ 2
# ---- !bad_default
def f(x: int = "a"):
    return x
# ---- !missing_colon
def f(x: int)
    return x
# ---- !bad_indent
def f(x: int):
    y = 1
      z = 2
    return y
# ---- !unbalanced
def f(x: int):
    return [x, (x, x]
# ---- !two_stars
def f(*args):
    return args
# ---- !keyword_name
def f(x: int):
    class = x
    return x
# ---- !empty_body
def f(x: int):

# ---- !aug_undefined
def f(x: int):
    y += x
    return y
# ---- !aug_types
def f(x: int):
    x += "a"
    return x
# ---- !while_type
def f(x: int):
    while x > 0:
        x = x / 2
    return x
# ---- !if_one_branch
def f(x: Tensor):
    if x.sum() > 0:
        z = x
    else:
        w = x
    return z
# ---- !ternary_undefined
def f(c: bool):
    return q if c else 1
# ---- !comp_var_leak
def f(a: List[int]):
    b = [i for i in a]
    return i
# ---- !nested_type
def f(x: List[List[int]]):
    x[0].append("a")
    return x
# ---- !optional_list
def f(x: Optional[List[int]]):
    for i in x:
        pass
    return x
# ---- !union_use
def f(x: Union[int, str]):
    return x + 1
# ---- !any_use
def f(x: Any):
    return x + 1
# ---- !format_str
def f(n: int):
    return n.format(1)
# ---- !torch_missing
def f(x):
    return torch.nn.functional.reluu(x)
# ---- !method_typo
def f(x):
    return x.transpos(0, 1)
# ---- !math_missing
def f(x: float):
    return math.hypott(x)
# ---- !return_type_tuple
def f(x: int) -> Tuple[int, str]:
    return x, x
# ---- !return_list
def f(x: int) -> List[str]:
    return [x]
# ---- !break_in_func
def f(x: List[int]):
    if len(x) > 0:
        break
    return x
# ---- !continue_unrolled
def f(t: Tuple[int, int]):
    s = 0
    for x in t:
        if x > 0:
            continue
        s += x
    return s
# ---- !tuple_negative
def f(t: Tuple[int, int]):
    return t[-3]
# ---- !walrus
def f(x: int):
    if (y := x) > 1:
        return y
    return x
# ---- !set_literal
def f(x: int):
    return {1, 2}
# ---- !comp_if
def f(a: List[int]):
    return [i for i in a if i > 0]
# ---- !with_int
def f(x: int):
    with x:
        pass
    return x
# ---- !class_unknown_attr
def f(x: Tensor):
    return x.shape.foo
# ---- !chained_text
def f(a: int, b: int, c: int):
    return a < b < c
# ---- !slice_int
def f(n: int):
    return n[1:2]
# ---- !slice_optional
def f(n: Optional[List[int]]):
    return n[1:2]
# ---- !def_name
def f(x: int):
    def = 3
    return x
# ---- !list_slice_store
def f(a: List[int]):
    a[1:2] = [10, 11]
    return a
# ---- !str_times
def f(s: str, n: int):
    return s * n
# ---- !empty_dict_value
def f(d: Dict[str, Dict[str, int]]):
    d["a"] = {}
    return d
# ---- !nested_list_eq
def f(a: List[List[int]]):
    return a == a
# ---- !union_attribute
def f(x: Union[List[int], Dict[str, int]]):
    return x.keys()
# ---- !with_no_exit
def f(x: Tensor):
    with x as y:
        return y
# ---- !none_plus
def f():
    x = None
    return x + 1
# ---- !call_arity
def g(a: int, b: int) -> int:
    return a
def f(x: int):
    return g(x)
# ---- !call_too_many
def g(a: int) -> int:
    return a
def f(x: int):
    return g(x, x)
# ---- !call_type
def g(a: List[int]) -> int:
    return a[0]
def f(x: List[float]):
    return g(x)
# ---- !sorted_key
def f(x: List[int]):
    return sorted(x, key=1)
# ---- !dict_value_type
def f(d: Dict[str, int]):
    d["a"] = "b"
    return d
# ---- !list_types
def f():
    return [1, "a"]
# ---- !loop_type_change
def f(n: int):
    x = 1
    for i in range(n):
        x = "a"
    return x
# ---- !if_type_change
def f(c: bool):
    x = 1
    if c:
        x = "a"
    return x
# ---- !return_types
def f(c: bool):
    if c:
        return 1
    return "a"
# ---- !global_statement
def f(x: int):
    global y
    return x
# ---- !try_statement
def f(x: int):
    try:
        x = 1
    except:
        x = 2
    return x
# ---- !lambda_use
def f(x: int):
    g = lambda y: y
    return g(x)
# ---- !yield_use
def f(x: int):
    yield x
# ---- !starred_call
def f(a: List[int]):
    return max(*a)
# ---- !for_else
def f(n: int):
    for i in range(n):
        pass
    else:
        n = 2
    return n
# ---- !opt_compare
def f(a: Optional[int]):
    return a < 3
# ---- !opt_index
def f(a: Optional[List[int]]):
    return a[0]
# ---- !index_float
def f(a: List[int]):
    return a[1.5]
# ---- !tuple_dynamic_index
def f(t: Tuple[int, str], i: int):
    return t[i]
# ---- !dict_attr
def f(d: Dict[str, int]):
    return d.has_key("a")
# ---- !str_attr
def f(s: str):
    return s.length
# ---- !assign_to_literal
def f(x: int):
    1 = x
    return x
# ---- !unknown_type
def f(x: Foo) -> int:
    return 1
# ---- !bad_subscript_type
def f(x: List[int, int]):
    return x
# ---- !dict_one_type
def f(x: Dict[str]):
    return x
# ---- !tensor_as_bool_return
def f(x: Tensor) -> bool:
    return x > 1
# ---- !int_as_tensor
def f(x: int) -> Tensor:
    return x
# ---- !join_ints
def f(xs: List[int]):
    return ",".join(xs)
# ---- !cat_ints
def f(xs: List[int]):
    return torch.cat(xs)
# ---- !zip_unpack
def f(a: List[int], b: List[int]):
    for x, y, z in zip(a, b):
        pass
    return a
# ---- !enumerate_int
def f(n: int):
    for i, x in enumerate(n):
        pass
    return n
# ---- !range_args
def f(n: int):
    for i in range(1, 2, 3, 4):
        pass
    return n
# ---- !not_defined_both
def f(c: bool):
    if c:
        y = 1
    return y
# ---- !assert_type
def f(x: str):
    assert x, "no"
    return x
# ---- !is_int
def f(x: int):
    return x is 1
# ---- !in_tuple
def f(t: Tuple[int, str]):
    return 1 in t
# ---- !missing_return
def f(x: int) -> int:
    x = x + 1
# ---- !unclosed_string
def f():
    return "abc
# ---- !tab_mix
def f(x: int):
    if x > 1:
        return 1
   return 2
