"""What repr says of the modules of the library: which attributes, in PyTorch's order.

A word is an attribute: `p=` is shown with its name, `inplace=False` only where it is not that, `size` without its name, `bias:` as
whether there is one, and `mode!` as Python writes it.
"""

_CONV = "in_channels out_channels kernel_size= stride= padding=0 dilation=1 output_padding=0 groups=1 bias:True padding_mode=zeros"
_NORM = "num_features eps= momentum= affine= bias: track_running_stats="
_RNN = "input_size hidden_size proj_size=0 num_layers=1 bias=True batch_first=False dropout=0 bidirectional=False"
_CELL = "input_size hidden_size bias=True nonlinearity=tanh"
_ATTRIBUTES = {
    "Threshold": "threshold= value= inplace=False", "ReLU": "inplace=False", "RReLU": "lower= upper= inplace=False",
    "Hardtanh": "min_val= max_val= inplace=False", "ReLU6": "inplace=False", "SiLU": "inplace=False", "Mish": "inplace=False",
    "ELU": "alpha= inplace=False", "CELU": "alpha= inplace=False", "SELU": "inplace=False", "GLU": "dim=", "GELU": "approximate!=",
    "Hardshrink": "lambd", "LeakyReLU": "negative_slope= inplace=False", "Softplus": "beta= threshold=", "Softshrink": "lambd",
    "PReLU": "num_parameters=", "Softmin": "dim=", "Softmax": "dim=", "LogSoftmax": "dim=", "_NormBase": _NORM,
    "ChannelShuffle": "groups=", "_ConvNd": _CONV, "_DropoutNd": "p= inplace=", "Flatten": "start_dim= end_dim=",
    "Unflatten": "dim= unflattened_size=", "Fold": "output_size= kernel_size= dilation= padding= stride=",
    "Unfold": "kernel_size= dilation= padding= stride=", "Bilinear": "in1_features= in2_features= out_features= bias:",
    "LocalResponseNorm": "size alpha= beta= k=", "LayerNorm": "normalized_shape eps= elementwise_affine= bias:",
    "GroupNorm": "num_groups num_channels eps= affine= bias:", "RMSNorm": "normalized_shape eps= elementwise_affine=",
    "CircularPad": "padding", "ConstantPad": "padding= value=", "ReflectionPad": "padding", "ReplicationPad": "padding", "ZeroPad": "padding",
    "PixelShuffle": "upscale_factor=", "PixelUnshuffle": "downscale_factor=",
    "MaxPool": "kernel_size= stride= padding= dilation= ceil_mode=", "MaxUnpool": "kernel_size= stride= padding=",
    "AvgPool": "kernel_size= stride= padding=", "LPPool": "norm_type= kernel_size= stride= ceil_mode=", "AdaptiveMaxPool": "output_size=",
    "AdaptiveAvgPool": "output_size=", "RNNBase": _RNN, "RNNCellBase": _CELL,
    "Embedding": "num_embeddings embedding_dim padding_idx=None max_norm=None norm_type=2 scale_grad_by_freq=False sparse=False",
    "EmbeddingBag": "num_embeddings embedding_dim max_norm=None norm_type=2 scale_grad_by_freq=False mode!= padding_idx=None",
    "Upsample": "scale_factor!=None size!=None mode!=",
}


def _words(kind):
    """Of the first class that the table knows, by its name or by its name without the number of dimensions (MaxPool2d)."""
    for base in kind.__mro__:
        name = base.__name__
        if name in _ATTRIBUTES:
            return _ATTRIBUTES[name].split()
        if name[-1:] == "d" and name[-2:-1].isdigit() and name[:-2] in _ATTRIBUTES:
            return _ATTRIBUTES[name[:-2]].split()
    return []


def _is_default(value, default):
    values = value if isinstance(value, tuple) else (value,)
    return all(str(v) == default or (isinstance(v, float) and v == int(v) and str(int(v)) == default) for v in values)


def describe(module):
    """What stands between the brackets."""
    shown = []
    for word in _words(type(module)):
        name, colon, default = word.partition(":") if ":" in word else word.partition("=")
        plain = name.removesuffix("!")
        if colon == ":":
            there = getattr(module, plain, None) is not None
            if str(there) != default:
                shown.append(f"{plain}={there}")
            continue
        if not hasattr(module, plain):
            continue
        value = getattr(module, plain)
        if colon and default and _is_default(value, default):
            continue
        text = repr(value) if name != plain else str(value)
        shown.append(f"{plain}={text}" if colon else text)
    return ", ".join(shown)
