"""Graph networks: message passing, norms, pooling and aggregation of torch_geometric, on one small graph."""

import torch

from . import Case, program

NEEDS = ("tqdm", "jinja2", "requests", "psutil", "pyparsing", "aiohttp", "xxhash", "fsspec", "urllib3", "idna", "certifi",
         "charset_normalizer", "markupsafe", "scipy")
NODES = 6
EDGES = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 2], [1, 2, 3, 4, 5, 0, 3, 5]])
KINDS = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])  # of edges
BATCH = torch.tensor([0, 0, 0, 1, 1, 1])


def features(*sizes):
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(1))


X, EDGE_3, EDGE_8, POSITIONS = features(NODES, 8), features(8, 3).abs(), features(8, 8), features(NODES, 3)
DENSE = (X[None], torch.ones(1, NODES, NODES))


def linear(i, o):
    return torch.nn.Linear(i, o)


# Class: how it is made from torch_geometric.nn, and its arguments when they are not features and edges.
LAYERS = {
    "SAGEConv": (lambda c, _: c(8, 16),),
    "GraphConv": (lambda c, _: c(8, 16),),
    "GatedGraphConv": (lambda c, _: c(16, 2),),
    "ResGatedGraphConv": (lambda c, _: c(8, 16),),
    "AGNNConv": (lambda c, _: c(),),
    "GINConv": (lambda c, _: c(linear(8, 16)),),
    "GINEConv": (lambda c, _: c(linear(8, 16)), (X, EDGES, EDGE_8)),
    "SignedConv": (lambda c, _: c(8, 16, True), (X, EDGES, EDGES)),
    "FeaStConv": (lambda c, _: c(8, 16),),
    "LEConv": (lambda c, _: c(8, 16),),
    "GENConv": (lambda c, _: c(8, 16),),
    "WLConvContinuous": (lambda c, _: c(),),
    "FiLMConv": (lambda c, _: c(8, 16),),
    "LGConv": (lambda c, _: c(),),
    "EdgeConv": (lambda c, _: c(linear(16, 16)),),
    "DirGNNConv": (lambda c, g: c(g.SAGEConv(8, 16)),),
    "SimpleConv": (lambda c, _: c(),),
    "NNConv": (lambda c, _: c(8, 16, linear(3, 128)), (X, EDGES, EDGE_3)),
    "CGConv": (lambda c, _: c(8),),
    "GMMConv": (lambda c, _: c(8, 16, dim=3, kernel_size=5), (X, EDGES, EDGE_3)),
    "PointNetConv": (lambda c, _: c(), (X, POSITIONS, EDGES)),
    "GraphSAGE": (lambda c, _: c(8, 16, 2, 4),),
    "GIN": (lambda c, _: c(8, 16, 2, 4),),
    "BatchNorm": (lambda c, _: c(8), (X,)),
    "InstanceNorm": (lambda c, _: c(8), (X,)),
    "LayerNorm": (lambda c, _: c(8), (X,)),
    "GraphNorm": (lambda c, _: c(8), (X, BATCH)),
    "PairNorm": (lambda c, _: c(), (X,)),
    "GraphSizeNorm": (lambda c, _: c(), (X, BATCH)),
    "MessageNorm": (lambda c, _: c(), (X, X)),
    "DiffGroupNorm": (lambda c, _: c(8, 3), (X,)),
    "DenseGCNConv": (lambda c, _: c(8, 16), DENSE),
    "DenseSAGEConv": (lambda c, _: c(8, 16), DENSE),
    "DenseGraphConv": (lambda c, _: c(8, 16), DENSE),
    "DenseGINConv": (lambda c, _: c(linear(8, 16)), DENSE),
    "TopKPooling": (lambda c, _: c(8),),
    "SAGPooling": (lambda c, _: c(8),),
    "GlobalAttention": (lambda c, _: c(linear(8, 1)), (X, BATCH)),
    "JumpingKnowledge": (lambda c, _: c("lstm", 8, 2), ([X, X],)),
    "SumAggregation": (lambda c, _: c(), (X, BATCH)),
    "SoftmaxAggregation": (lambda c, _: c(), (X, BATCH)),
    "PowerMeanAggregation": (lambda c, _: c(), (X.abs(), BATCH)),
    "StdAggregation": (lambda c, _: c(), (X, BATCH)),
    "MultiAggregation": (lambda c, _: c(["mean", "max", "std"]), (X, BATCH)),
    "SortAggregation": (lambda c, _: c(3), (X, BATCH)),
}


def register(name, make, arguments=(X, EDGES)):
    def layer():
        import torch_geometric.nn as g

        return Case(make(getattr(g, name), g), [arguments])

    layer.__name__ = name
    program("torch_geometric", *NEEDS)(layer)


class Neighbours(torch.nn.Module):
    """A layer over a sparse tensor, which is made from the edges."""

    def __init__(self, layer, layout):
        super().__init__()
        self.layer, self.layout = layer, layout

    def forward(self, x, edges):
        there = torch.sparse_coo_tensor(edges.flip(0), torch.ones(edges.size(1)), [x.size(0), x.size(0)])
        return self.layer(x, there.to_sparse_csr() if self.layout == "csr" else there.coalesce())


def register_sparse(name, layout):
    def layer():
        import torch_geometric.nn as g

        return Case(Neighbours(LAYERS[name][0](getattr(g, name), g), layout), [(X, EDGES)])

    layer.__name__ = f"{name}_{layout}"
    program("torch_geometric", *NEEDS)(layer)


for each, (how, *given) in LAYERS.items():
    register(each, how, *given)
for each in ("SAGEConv", "GraphConv", "GINConv", "LGConv", "SimpleConv", "EdgeConv", "GraphSAGE", "GIN"):
    for kind in ("coo", "csr"):
        register_sparse(each, kind)
