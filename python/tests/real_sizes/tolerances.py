"""How far a result may be from the reference: one table.

An element is right when its error is at most

    roundings * eps * |expected| + sums * eps_sum * sqrt(terms) * scale

eps: the spacing of the result's dtype at 1 (2**-23 for float32). eps_sum: the spacing of the dtype of sums: float32 for
16-bit floats. scale: the largest finite element of the expected tensor. terms: the number of summands of an element;
errors of roundings are independent, so they grow with the square root. Gradients have twice the bound, second ones four
times.

An element beyond this bound may belong to an ill-conditioned problem. The reference then runs again, twice, with every
number of the arguments moved by one eps at random. The element is right when its error is at most `moves` times the
largest movement of its tensor: the result is exact for arguments that differ by so many roundings (backward stability).
A wrong element, a missing one, or one read from other memory is far beyond both bounds: neither depends on the result.
"""


import numpy as np


class Tolerance:
    def __init__(self, roundings, sums, moves, steps, reason, in_turn=False):
        """steps: the number of 16-bit results that are rounded in a row within the call (0: the result alone). in_turn:
        sums add one number after the other, so that equal ones (expanded arguments) are rounded alike: `terms` instead
        of its root."""
        self.in_turn = in_turn
        self.roundings = roundings
        self.sums = sums
        self.moves = moves
        self.steps = steps
        self.reason = reason


def embedding(index):
    """Gradients of 16-bit weights are added in 16 bits, as in PyTorch: a rounding for each time that a row is named."""
    row = TABLE["index"]
    return Tolerance(row.roundings, row.sums, row.moves, int(np.bincount(index.reshape(-1)).max(initial=1)), "see above", True)


TABLE = {
    "convolution": Tolerance(4, 8, 8, 1, "sums of products; Winograd's transforms lose up to 3 bits; 16-bit gradients of "
                             "parts are rounded before they are added"),
    "product": Tolerance(4, 4, 8, 1, "sums of products in blocks"),
    "attention": Tolerance(8, 8, 16, 2, "two products and an exponential; 16-bit weights are rounded between them"),
    "norm": Tolerance(8, 16, 16, 1, "a mean and a variance; the result is divided by their root"),
    "pool": Tolerance(4, 2, 8, 1, "maxima are exact; averages of one window"),
    "resize": Tolerance(8, 4, 16, 1, "weights follow from float32 places, whose error grows with the size: `terms` is "
                        "its square"),
    "recurrent": Tolerance(16, 16, 32, 8, "errors go on from step to step; 16-bit states are rounded at each"),
    "reduction": Tolerance(8, 4, 16, 1, "sums in pairs or lanes; powers and logarithms at the end"),
    "scan": Tolerance(8, 4, 16, 2, "one running sum: PyTorch keeps it in float32 or in double", True),
    "index": Tolerance(2, 2, 8, 1, "copies are exact; colliding places are sums", True),
    "order": Tolerance(2, 2, 8, 1, "copies are exact"),
    "loss": Tolerance(16, 8, 32, 2, "exponentials and logarithms of each element, then a mean"),
    "fft": Tolerance(4, 8, 16, 0, "log2(n) stages, whose twiddles are rounded; Bluestein's products have three transforms"),
    "linalg": Tolerance(16, 32, 256, 0, "backward stable: the factors' growth times the condition number"),
    "optimizer": Tolerance(16, 4, 32, 4, "a few operations each step; roots of second moments"),
    "draw": Tolerance(4, 2, 8, 1, "streams are equal; results computed from them are rounded"),
    "pointwise": Tolerance(8, 1, 16, 1, "functions within 4 units in the last place"),
    "shape": Tolerance(1, 1, 4, 1, "copies are exact; gradients of repeats are sums"),
    "program": Tolerance(16, 16, 64, 6, "several layers one after the other"),
}
