def string_ops(s: str) -> Tuple[str, List[str], str, int, bool, str, str]:
    return s.upper(), s.split(","), "{}-{}".format(s, 3), s.find("b"), s.startswith("a"), s.replace("a", "zz"), "%s has %d and %f" % (s, 2, 1.5)
