def dict_ops(d: Dict[str, int]) -> Tuple[List[str], List[int], int, bool, Dict[str, int]]:
    d["z"] = 26
    if "a" in d:
        d["a"] += 10
    e: Dict[str, int] = {}
    for k, v in d.items():
        e[k + "!"] = v * 2
    p = d.pop("z")
    return list(d.keys()), list(d.values()), d.get("q", -1) + p, "q" in d, e
