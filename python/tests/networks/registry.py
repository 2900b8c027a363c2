"""The list of networks: name, function that builds the module and its inputs, optimiser."""

from library import nn


class Network:
    def __init__(self, name, make, optimizer, options, images):
        self.name, self.make, self.optimizer, self.options = name, make, optimizer, options
        self.images = images  # 2 or 3: images or videos, so channels may lie last; 0: neither


NETWORKS = {}


def calmed(module):
    """A network without kinks: SiLU for ReLU, means for the largest of pools."""
    for name, child in module.named_children():
        if isinstance(child, (nn.ReLU, nn.ReLU6)):
            setattr(module, name, nn.SiLU())
        elif isinstance(child, nn.MaxPool2d):
            setattr(module, name, nn.AvgPool2d(child.kernel_size, child.stride, child.padding, child.ceil_mode))
        else:
            calmed(child)
    return module


def network(optimizer, images=0, calm=False, **options):
    """Registers a function from Draws to (module, inputs). The module returns the loss of its inputs.

    With `calm`, a network NAME_calm without kinks is registered too: its float32 gradients are certain to some 1e-5 of
    their length. Those of ReLUs are certain to a hundredth, since roundings move a few of a million numbers over a kink.
    """

    def register(make):
        def make_calm(draws):
            module, inputs = make(draws)
            return calmed(module), inputs

        for name, maker in ((make.__name__, make), (make.__name__ + "_calm", make_calm))[:1 + calm]:
            assert name not in NETWORKS
            NETWORKS[name] = Network(name, maker, optimizer, options, images)
        return make

    return register


def load():
    """All networks by name."""
    import audio  # noqa: F401
    import classic  # noqa: F401
    import dense  # noqa: F401
    import generative  # noqa: F401
    import graphs  # noqa: F401
    import mobile  # noqa: F401
    import recurrent  # noqa: F401
    import text  # noqa: F401
    import transformers  # noqa: F401
    import video  # noqa: F401

    return NETWORKS
