"""Flows, equations, chemistry, graphs, spikes, tables, control."""

import torch

from . import Case, program


class Method(torch.nn.Module):
    """A module's method as its forward."""

    def __init__(self, module, name):
        super().__init__()
        self.module, self.name = module, name

    def forward(self, *arguments):
        return getattr(self.module, self.name)(*arguments)


@program("nflows", "UMNN")
def masked_autoregressive():
    from nflows.transforms import MaskedAffineAutoregressiveTransform

    return Case(MaskedAffineAutoregressiveTransform(features=4, hidden_features=16), [(torch.randn(5, 4),)], "trace")


@program("nflows", "UMNN")
def spline_coupling():
    from nflows.nn.nets import ResidualNet
    from nflows.transforms import PiecewiseRationalQuadraticCouplingTransform

    net = lambda i, o: ResidualNet(i, o, hidden_features=16, num_blocks=1)  # noqa: E731
    return Case(PiecewiseRationalQuadraticCouplingTransform([1, 0, 1, 0], net, tails="linear", tail_bound=3.0), [(torch.randn(6, 4),)], "trace")


@program("normflows")
def real_nvp():
    import normflows as nf

    net = nf.nets.MLP([1, 16, 2])
    return Case(nf.flows.AffineCouplingBlock(net), [(torch.randn(5, 2),)], "trace")


@program("normflows")
def residual_flow():
    import normflows as nf

    return Case(Method(nf.flows.Planar((3,)), "forward"), [(torch.randn(5, 3),)], "trace")


@program("zuko")
def masked_mlp():
    import zuko

    return Case(zuko.nn.MaskedMLP(torch.ones(3, 4) > 0, [8]), [(torch.randn(5, 4),)])


@program("zuko")
def monotonic_mlp():
    import zuko

    return Case(zuko.nn.MonotonicMLP(3, 4, [8]), [(torch.randn(5, 3),)], "trace")


@program("torchdiffeq", "scipy")
def runge_kutta():
    from torchdiffeq import odeint

    a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    return Case(lambda y: odeint(lambda t, y: y ** 3 @ a, y, torch.linspace(0, 1, 5), method="rk4"), [(torch.randn(1, 2),)], "trace")


@program("torchdiffeq", "scipy")
def dormand_prince():
    from torchdiffeq import odeint

    a = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    return Case(lambda y: odeint(lambda t, y: y @ a, y, torch.linspace(0, 1, 3)), [(torch.randn(1, 2),)], "trace")


@program("e3nn", "opt_einsum_fx", "opt_einsum", "sympy", "scipy")
def spherical_harmonics():
    from e3nn import o3

    return Case(o3.SphericalHarmonics([0, 1, 2, 3], normalize=True), [(torch.randn(7, 3),)])


@program("e3nn", "opt_einsum_fx", "opt_einsum", "sympy", "scipy")
def tensor_product():
    from e3nn import o3

    return Case(o3.FullyConnectedTensorProduct("4x0e+2x1o", "1x0e+1x1o", "3x0e+2x1o"), [(torch.randn(5, 10), torch.randn(5, 4))])


@program("e3nn", "opt_einsum_fx", "opt_einsum", "sympy", "scipy")
def o3_linear():
    from e3nn import o3

    return Case(o3.Linear("4x0e+2x1o", "3x0e+5x1o"), [(torch.randn(5, 10),)])


@program("egnn-pytorch", "einops")
def egnn():
    from egnn_pytorch import EGNN

    return Case(EGNN(dim=8), [(torch.randn(1, 6, 8), torch.randn(1, 6, 3))], "trace")


@program("torch_geometric", "xxhash", "tqdm", "jinja2", "psutil", "pyparsing", "requests", "aiohttp", "fsspec")
def gcn():
    from torch_geometric.nn import GCNConv

    return Case(GCNConv(4, 5), [(torch.randn(6, 4), torch.randint(0, 6, (2, 12)))])


@program("torch_geometric", "xxhash", "tqdm", "jinja2", "psutil", "pyparsing", "requests", "aiohttp", "fsspec")
def gat():
    from torch_geometric.nn import GATConv

    return Case(GATConv(4, 5, heads=2), [(torch.randn(6, 4), torch.randint(0, 6, (2, 12)))])


@program("torch_geometric", "xxhash", "tqdm", "jinja2", "psutil", "pyparsing", "requests", "aiohttp", "fsspec")
def schnet_like():
    from torch_geometric.nn import NNConv

    return Case(NNConv(4, 5, torch.nn.Linear(3, 20)), [(torch.randn(6, 4), torch.randint(0, 6, (2, 12)), torch.randn(12, 3))])


@program("norse", "nir", "nirtorch", "h5py")
def lif():
    from norse.torch import LIFCell

    return Case(LIFCell(), [(torch.rand(2, 4),)], "trace")


@program("norse", "nir", "nirtorch", "h5py")
def leaky_integrator():
    from norse.torch.functional.leaky_integrator import li_feed_forward_step, LIParameters, LIState

    return Case(lambda x, v, i: li_feed_forward_step(x, LIState(v, i), LIParameters()), [tuple(torch.rand(2, 4) for _ in range(3))],
                "trace")


@program("torch-dct")
def dct():
    import torch_dct

    return Case(lambda x: torch_dct.idct_2d(torch_dct.dct_2d(x)), [(torch.randn(3, 8, 9),)], "trace")


@program("tab-transformer-pytorch", "einops", "hyper-connections", "torch-einops-utils", "x-mlps-pytorch")
def tab_transformer():
    from tab_transformer_pytorch import FTTransformer

    return Case(FTTransformer(categories=(4, 6), num_continuous=3, dim=16, depth=2, heads=2), [(torch.randint(0, 4, (2, 2)), torch.randn(2, 3))],
                "trace")


@program("pytorch-tcn")
def tcn():
    from pytorch_tcn import TCN

    return Case(TCN(4, [8, 8], kernel_size=3), [(torch.randn(2, 4, 20),)], "trace")


@program("torchmetrics", "lightning-utilities", "packaging")
def pearson():
    from torchmetrics.functional import pearson_corrcoef

    return Case(pearson_corrcoef, [(torch.randn(20), torch.randn(20))], "trace")


@program("torchmetrics", "lightning-utilities", "packaging")
def psnr():
    from torchmetrics.image import PeakSignalNoiseRatio

    return Case(PeakSignalNoiseRatio(data_range=1.0), [(torch.rand(2, 3, 8, 8), torch.rand(2, 3, 8, 8))])


@program("stable-baselines3", "gymnasium", "cloudpickle", "farama-notifications", "pandas")
def policy():
    import gymnasium
    from stable_baselines3.common.policies import ActorCriticPolicy

    space = gymnasium.spaces.Box(-1.0, 1.0, (4,))
    model = ActorCriticPolicy(space, gymnasium.spaces.Discrete(3), lambda _: 1e-3)
    return Case(Method(model, "predict_values"), [(torch.randn(5, 4),)], "trace")


@program("einops")
def rearrange():
    from einops.layers.torch import Rearrange, Reduce

    return Case(torch.nn.Sequential(Rearrange("b (h p) (w q) c -> b (h w) (p q c)", p=2, q=2), Reduce("b n c -> b c", "max"),
                                    torch.nn.Linear(12, 3)), [(torch.randn(2, 8, 6, 3),)])


@program("neuraloperator", "tensorly", "tensorly-torch", "opt_einsum", "scipy", "ruamel.yaml")
def fourier_operator():
    from neuralop.models import FNO

    return Case(FNO(n_modes=(4, 4), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2), [(torch.randn(1, 1, 12, 12),)], "trace")


@program("denoising-diffusion-pytorch", "einops", "ema-pytorch", "accelerate", "tqdm")
def diffusion_unet():
    from denoising_diffusion_pytorch import Unet

    return Case(Unet(dim=8, dim_mults=(1, 2), flash_attn=False), [(torch.randn(1, 3, 16, 16), torch.tensor([5]))], "trace")


@program("torchani")
def aev():
    import torchani

    model = torchani.AEVComputer.like_2x(num_species=4)
    return Case(model, [(torch.tensor([[0, 1, 2, 0]]), torch.randn(1, 4, 3))], "trace")
