"""Every variant of a kernel (sconce/base/variants/variants.h) is taken and not taken, by calls of two shapes each, and those calls
give what the plain reference gives: results and gradients, at each vector level, with 1, 2 and 4 threads.

    test_variants.py                          the chosen samples (variants/chosen.json)
    test_variants.py --choose [SECONDS]       draws new samples, chooses those that reach everything, writes the file
    test_variants.py --sample conv:17 ...     runs samples, and prints what they reach
    test_variants.py --map [NAME]             prints variant, side: shapes and samples

docs/variants.md tells more.
"""

import json
import os
import pathlib
import subprocess
import sys
import time
import unittest

try:
    import numpy as np  # noqa: F401
except ImportError:
    print("skipped: NumPy is not installed")
    sys.exit(77)

sys.path[0] = str(pathlib.Path(__file__).parents[1])
import sconce  # noqa: E402

if not sconce._sconce._variants():
    print("skipped: this library notes no variants")
    sys.exit(77)
CHOSEN = pathlib.Path(__file__).parent / "chosen.json"
THREADS = (1, 2, 4)
SIDES = {1: "not taken", 2: "taken"}
SHAPES = 2  # that each side needs


# ---- in a child process, which has one vector level ----

def families():
    from variants import elements, networks, orders, products, programs
    listed = [f for module in (elements, orders, products, networks, programs) for f in module.FAMILIES]
    return {f.__name__: f for f in listed}, listed


def run_sample(name, known):
    """{"seen": {variant: bits}, "wrong": [...], "shape", "seconds"}."""
    from variants.samples import Checked, Draw
    family, seed = name.split(":")
    start = time.perf_counter()
    wrong, seen, sample = [], {}, None
    try:
        sample = known[family](Draw(family, int(seed)))
        checked = Checked(sample)
        for threads in THREADS:
            sconce.set_num_threads(threads)
            wrong += [f"{name} at {threads} threads: {sample}: {w}" for w in checked.run()]
            for variant, bits in checked.seen.items():
                seen[variant] = seen.get(variant, 0) | bits
    except Exception as error:  # a sample that cannot run is one that fails
        wrong.append(f"{name}: {sample}: {type(error).__name__}: {str(error)[:400]}")
    return {"name": name, "shape": repr(sample.shape) if sample else "", "text": str(sample), "seen": seen,
            "wrong": wrong,
            "seconds": time.perf_counter() - start}


def child(arguments):
    known, listed = families()
    if arguments[0] == "--random":
        import random
        seconds, seed = float(arguments[1]), int(arguments[2])
        names = set(arguments[3:])
        listed = [f for f in listed if not names or f.__name__ in names]
        draw, end = random.Random(seed), time.time() + seconds
        while time.time() < end:
            family = listed[draw.randrange(len(listed))].__name__
            if "large" in family and draw.random() < 0.8:
                continue
            print(json.dumps(run_sample(f"{family}:{draw.randrange(10 ** 6)}", known)), flush=True)
        return
    for name in arguments:
        print(json.dumps(run_sample(name, known)), flush=True)


def at_level(level, arguments):
    """What a child at a level finds, a record for each sample; the last says how it ended, if it did not end well."""
    environment = dict(os.environ, SCONCE_CPU_LEVEL=str(level))
    done = subprocess.run([sys.executable, __file__, "--child", *arguments], env=environment, stdout=subprocess.PIPE,
                          text=True, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0:
        left = [a for a in arguments if a not in {r["name"] for r in records}]
        records.append({"name": left[0] if left else "?", "shape": "", "text": "", "seen": {}, "seconds": 0,
                        "wrong": [f"level {level}: the process ended with {done.returncode} in {left[:1]}"]})
    for r in records:
        r["level"] = level
    return records


# ---- the map ----

def map_of(records):
    """{variant: {side: {shape: [samples]}}}"""
    found = {}
    for r in records:
        for variant, bits in r["seen"].items():
            for side in (1, 2):
                if bits & side:
                    found.setdefault(variant, {1: {}, 2: {}})[side].setdefault(r["shape"], []).append(r["name"])
    return found


def missing(found):
    """(variant, side, shapes) of those that this machine reaches, but too few samples do."""
    from variants import listing, needs
    return [(v, side, len(found.get(v.name, {1: {}, 2: {}})[side])) for v in listing.variants() if needs.met(v.needs)
            for side in (1, 2) if len(found.get(v.name, {1: {}, 2: {}})[side]) < SHAPES]


def choose(records):
    """The quickest samples that reach each side of each variant by two shapes, found greedily."""
    records = [r for r in records if not r["wrong"]]
    best = {}
    for r in records:
        entry = best.setdefault(r["name"], {"shape": r["shape"], "seconds": 0.0, "goals": set()})
        entry["seconds"] += r["seconds"]
        entry["goals"] |= {(v, side) for v, bits in r["seen"].items() for side in (1, 2) if bits & side}
    goals = {}
    chosen, left = [], dict(best)
    while left:
        def gain(item):
            entry = item[1]
            new = sum(1 for g in entry["goals"] if len(goals.get(g, ())) < SHAPES and entry["shape"] not in goals.get(g, ()))
            return new / (entry["seconds"] + 0.02), new
        name, entry = max(left.items(), key=gain)
        if gain((name, entry))[1] == 0:
            break
        for g in entry["goals"]:
            goals.setdefault(g, set()).add(entry["shape"])
        chosen.append(name)
        del left[name]
    return chosen, sum(best[c]["seconds"] for c in chosen)


def further(records, variant, side, chosen):
    """Three more samples that reached a side, the quickest."""
    found = {r["name"]: r["seconds"] for r in records if r["seen"].get(variant, 0) & side and not r["wrong"]}
    return sorted(set(found) - chosen, key=found.get)[:3]


def chosen_samples():
    return json.loads(CHOSEN.read_text())["samples"]


def chosen_records(samples=None):
    """The highest level runs all samples, the others those that are not large."""
    from variants import needs
    highest, *others = reversed(needs.levels())
    samples = samples or chosen_samples()
    small = [s for s in samples if "large" not in s]
    return [r for level in (highest, *others) for r in at_level(level, samples if level == highest else small)]


class Variants(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.records = chosen_records()

    def test_samples_agree_with_the_reference(self):
        wrong = [f"level {r['level']}: {w}" for r in self.records for w in r["wrong"]]
        self.assertFalse(wrong, "\n" + "\n".join(wrong[:20]))

    def test_every_variant_is_reached_on_both_sides_by_two_shapes(self):
        text = [f"{v.name} ({v.condition}; {v.source}): {SIDES[side]} by {count} shapes" for v, side,
                count in missing(map_of(self.records))]
        self.assertFalse(text,
                         f"\n{len(text)} sides are not reached by {SHAPES} shapes; see docs/variants.md\n" + "\n".join(text))


class Declarations(unittest.TestCase):
    def test_names_are_unique_and_conditions_are_given(self):
        from variants import listing
        declared = listing.variants()
        names = [v.name for v in declared]
        self.assertEqual(sorted(set(names)), sorted(names))
        self.assertFalse([v.name for v in declared if not v.condition])

    def test_the_library_has_what_the_sources_declare(self):
        from variants import listing, needs
        declared, has = listing.variants(), set(sconce._sconce._variants())
        self.assertFalse(has - {v.name for v in declared})
        self.assertFalse({v.name for v in declared if needs.met(v.needs)} - has)


def search(arguments):
    from variants import needs
    seconds = float(arguments[0]) if arguments else 120
    only = arguments[1:]
    levels = needs.levels()
    records = []
    if CHOSEN.exists():
        records += chosen_records()
    for i, level in enumerate(reversed(levels)):
        records += at_level(level, ["--random", str(seconds * (0.7 if i == 0 else 0.3 / max(1, len(levels) - 1))),
                                    str(int(time.time()) % 100000 + i), *only])
    for r in records:
        for w in r["wrong"]:
            print(f"level {r['level']}: {w}")
    chosen, took = choose(records)
    for _ in range(4):  # what the process keeps (code, plans) may leave a side to another sample: then it gets further ones
        lack = missing(map_of(chosen_records(sorted(chosen))))
        more = {name for v, side, _ in lack for name in further(records, v.name, side, set(chosen))}
        chosen += more
        if not more:
            break
    CHOSEN.write_text(json.dumps({"samples": sorted(chosen)}, indent=0) + "\n")
    for v, side, count in lack:
        print(f"{v.name} ({v.condition}): {SIDES[side]} by {count} shapes")
    print(f"{len(records)} samples drawn, {len(chosen)} chosen, {took:.1f} s")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--child"]:
        child(arguments[1:])
    elif arguments[:1] == ["--choose"]:
        search(arguments[1:])
    elif arguments[:1] == ["--sample"]:
        from variants import needs
        for r in at_level(os.environ.get("SCONCE_CPU_LEVEL", needs.levels()[-1]), arguments[1:]):
            print(r["text"], f"{r['seconds'] * 1000:.0f} ms")
            print("\n".join(r["wrong"]))
            print("  taken: " + ", ".join(sorted(v for v, bits in r["seen"].items() if bits & 2)))
            print("  not taken: " + ", ".join(sorted(v for v, bits in r["seen"].items() if bits & 1)))
    elif arguments[:1] == ["--map"]:
        for variant, sides in sorted(map_of(chosen_records()).items()):
            if len(arguments) < 2 or arguments[1] in variant:
                for side, shapes in sides.items():
                    print(f"{variant}, {SIDES[side]}: " + "; ".join(f"{s} by {', '.join(sorted(set(n)))}" for s, n in list(shapes.items())[:4]))
    else:
        unittest.main()


if __name__ == "__main__":
    main()
