"""The list of networks: name, function that builds the module and its inputs, optimiser."""


class Network:
    def __init__(self, name, make, optimizer, options, images):
        self.name, self.make, self.optimizer, self.options = name, make, optimizer, options
        self.images = images  # 2 or 3: images or videos, so channels may lie last; 0: neither


NETWORKS = {}


def network(optimizer, images=0, **options):
    """Registers a function from Draws to (module, inputs). The module returns the loss of its inputs."""

    def register(make):
        assert make.__name__ not in NETWORKS
        NETWORKS[make.__name__] = Network(make.__name__, make, optimizer, options, images)
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
