"""Constraints: where parameters and values of distributions may lie."""

import sconce as torch


class Constraint:
    """check(value) says of each element, or of each event, whether it lies inside."""

    is_discrete = False
    event_dim = 0

    def __init__(self, text, test, is_discrete=False, event_dim=0):
        self.text, self.test, self.is_discrete, self.event_dim = text, test, is_discrete, event_dim

    def check(self, value):
        """A tensor of bools."""
        return self.test(value)

    def __repr__(self):
        return self.text


real = Constraint("Real()", lambda v: v == v)
real_vector = Constraint("IndependentConstraint(Real(), 1)", lambda v: (v == v).all(-1), event_dim=1)
positive = Constraint("GreaterThan(lower_bound=0.0)", lambda v: v > 0)
nonnegative = Constraint("GreaterThanEq(lower_bound=0.0)", lambda v: v >= 0)
unit_interval = Constraint("Interval(lower_bound=0.0, upper_bound=1.0)", lambda v: (v >= 0) & (v <= 1))
boolean = Constraint("Boolean()", lambda v: (v == 0) | (v == 1), is_discrete=True)
one_hot = Constraint("OneHot()", lambda v: ((v == 0) | (v == 1)).all(-1) & (v.sum(-1) == 1), is_discrete=True, event_dim=1)
simplex = Constraint("Simplex()", lambda v: torch.all(v >= 0, dim=-1) & ((v.sum(-1) - 1).abs() < 1e-6), event_dim=1)


def independent(base, reinterpreted_batch_ndims):
    """The same for events with more dimensions: all elements of one lie inside."""

    def test(value):
        inside = base.check(value)
        return inside.reshape(inside.shape[:inside.dim() - reinterpreted_batch_ndims] + (-1,)).all(-1)

    return Constraint(f"IndependentConstraint({base}, {reinterpreted_batch_ndims})", test, base.is_discrete,
                      base.event_dim + reinterpreted_batch_ndims)


def integer_interval(lower_bound, upper_bound):
    """Whole numbers between two, both included."""
    return Constraint(f"IntegerInterval(lower_bound={lower_bound}, upper_bound={upper_bound})",
                      lambda v: (v % 1 == 0) & (v >= lower_bound) & (v <= upper_bound), is_discrete=True)


def interval(lower_bound, upper_bound):
    """Numbers between two, both included."""
    return Constraint(f"Interval(lower_bound={lower_bound}, upper_bound={upper_bound})", lambda v: (v >= lower_bound) & (v <= upper_bound))
