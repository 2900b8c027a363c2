"""The table as generators ask it: the operators of one file (Family), and what holds across files (Catalog)."""

import re

from . import cpp, formulas
from .kinds import pointwise, reduce


class Catalog:
    """Facts about all operators that the bodies, formulas and records of each one need."""

    def __init__(self, entries, operators):
        self.entries, self.operators = entries, operators
        self.schemas = {}  # name of an operator that has a function -> schemas of its overloads and forms
        self.without_function = {}  # the same for those that have none, which texts for the compiler may call
        self.families_by_function = {}  # C++ function -> families that declare an overload of it
        for op in operators:
            if not op.entry.forms:
                self.without_function.setdefault(op.schema.name, []).append(op.schema)
                continue  # no function that a body could call
            self.schemas.setdefault(op.schema.name, []).append(op.schema)
            for function in (cpp.function_name(op.schema.name), cpp.identifier(op.schema.name) + "_out"):
                self.families_by_function.setdefault(function, set()).add(op.entry.family)
        self.pointwise_names = {e.schema.name for e in entries if e.kind == "pointwise"}
        # Operators that read only facts (sizes, dtype) of some arguments: name -> places of those.
        self.reads_facts = {e.schema.name: [i for i, a in enumerate(e.schema.arguments) if a.name in e.get("facts")]
                            for e in entries if e.get("facts")}
        self.overwriting = {name for name in self.pointwise_names if self._may_overwrite(name)}
        self._by_name = {}
        for e in entries:
            self._by_name.setdefault((e.schema.namespace, e.schema.name), []).append(e)

    def _may_overwrite(self, name):
        """A pointwise operator with one overload, whose result may be one of its arguments. Entries without functions (prims)
        are not what a formula calls."""
        kinds = [e.kind for e in self.entries if e.schema.name == name and e.forms]
        return kinds == ["pointwise"] and len(self.schemas.get(name, ())) > 1 and f"{name}_out" in self.families_by_function

    def functional(self, op):
        """The entry of x for the operator x_, with the same arguments; of the same overload where there are several."""
        arguments = lambda schema: [(a.type, a.name) for a in schema.arguments]
        twins = [e for e in self._by_name.get((op.schema.namespace, op.schema.name[:-1]), [])
                 if arguments(e.schema) == arguments(op.schema)]
        return min(twins, key=lambda e: e.schema.overload != op.schema.overload, default=None)


    def functional_entry(self, entry):
        """The entry whose operator gives as new tensors what this entry's operator writes, or None. A factory's out= form
        lacks the arguments that say dtype and device."""
        schema = entry.schema
        if "functional" in entry.data:
            named = [e for e in self.entries if e.key == entry.data["functional"]]
            return named[0] if named else entry.fail(f"functional names '{entry.data['functional']}', which is no entry",
                                                     "functional")
        if not any(a.written and a.type.startswith("Tensor") for a in schema.arguments):
            return None
        given = [(a.type, a.name) for a in schema.arguments if not (a.written and a.keyword_only)]
        name = schema.name
        if len(given) == len(schema.arguments):
            name = f"__{name[3:]}" if name.startswith("__i") else name[:-1] if name.endswith("_") else None
        twins = [e for e in self._by_name.get((schema.namespace, name), ()) if _fits(e.schema, given)]
        return min(twins, key=lambda e: (len(e.schema.arguments), e.schema.overload != schema.overload), default=None)

    def distance(self, op):
        """How many records behind this one that of its functional twin stands; None where it is in another family or
        there is none."""
        twin = op.entry if op.form != "function" else self.functional_entry(op.entry)
        if twin is None or twin.family != op.entry.family:
            return None
        return next(o.index for o in self.operators if o.entry is twin and o.form == "function") - op.index


def _fits(schema, given):
    """Whether an operator that writes nothing takes these (type, name), and no others that must be said. Its first argument
    may have another name."""
    if any(a.written for a in schema.arguments):
        return False
    taken = [(a.type, a.name) for a in schema.arguments]
    if taken and given and taken[0][0] == given[0][0] and taken[0] not in given:
        taken[0] = given[0]
    defaults = {(a.type, a.name) for a in schema.arguments if a.default is not None}
    return set(given) <= set(taken) and set(taken) - set(given) <= defaults


class Family:
    """The operators of one table file."""

    def __init__(self, name, catalog):
        self.name, self.catalog = name, catalog
        self.operators = [op for op in catalog.operators if op.entry.family == name]
        self.entries = list({id(op.entry): op.entry for op in self.operators}.values())
        self.formulas = [formulas.Formulas(e, catalog.schemas, catalog.reads_facts, catalog.overwriting)
                         for e in self.entries if isinstance(e.get("grad"), dict) and e.data["grad"]]
        self.pointwise = [loop for e in self.entries if e.kind == "pointwise" for loop in pointwise.loops_of(e)]
        self.reductions, self.reduction_names = reduce.loops_of([e for e in self.entries if e.kind == "reduce"])

    @property
    def schemas(self):
        return self.catalog.schemas

    def families_called(self, lines):
        """This family and those whose functions these lines call: a change of another one compiles nothing here."""
        names = {self.name}
        for call in set(re.findall(r"sconce::(\w+)\(", "\n".join(lines))):
            names |= self.catalog.families_by_function.get(call, set())
        return sorted(names)
