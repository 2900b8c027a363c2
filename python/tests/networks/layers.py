"""Layers that several networks share."""

from library import F, nn, torch
from start import kept


def kept_scale(width, value):
    """A scale of channels that starts at `value`."""
    return kept(nn.Parameter(torch.full((width,), value)))


def wide(x):
    """Floats of half width as float32: losses of half width lose what tells the gradients apart."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def conv_norm(inputs, outputs, kernel, stride=1, padding=None, groups=1, dilation=1, act=nn.ReLU):
    """Convolution, batch norm, activation."""
    if padding is None:
        padding = dilation * (kernel - 1) // 2
    layers = [nn.Conv2d(inputs, outputs, kernel, stride, padding, dilation=dilation, groups=groups, bias=False),
              nn.BatchNorm2d(outputs)]
    if act is not None:
        layers.append(act(inplace=True))
    return nn.Sequential(*layers)


class Classified(nn.Module):
    """Cross entropy of a network's scores."""

    def __init__(self, body, smoothing=0.0):
        super().__init__()
        self.body, self.smoothing = body, smoothing

    def forward(self, x, labels):
        return F.cross_entropy(wide(self.body(x)), labels, label_smoothing=self.smoothing)


class Squeeze(nn.Module):
    """Squeeze and excitation: channels are scaled by what their means say."""

    def __init__(self, channels, hidden, act=nn.ReLU, gate=nn.Sigmoid):
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)
        self.act, self.gate = act(), gate()

    def forward(self, x):
        return x * self.gate(self.up(self.act(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Attention(nn.Module):
    """Attention with several heads; the products and the softmax in the open if `plain`."""

    def __init__(self, width, heads, bias=True, plain=False, causal=False):
        super().__init__()
        self.heads, self.plain, self.causal = heads, plain, causal
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=bias), nn.Linear(width, width, bias=bias)

    def forward(self, x, mask=None):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if self.plain:
            scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
            if self.causal:
                future = torch.ones(length, length, dtype=torch.bool).triu(1)
                scores = scores.masked_fill(future, float("-inf"))
            y = (scores if mask is None else scores + mask).softmax(-1) @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
        return self.out(y.transpose(1, 2).reshape(n, length, width))


class Feed(nn.Module):
    """Two linear layers with an activation between them."""

    def __init__(self, width, hidden, approximate="none"):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(width, hidden), nn.GELU(approximate), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    """A transformer layer with norms in front."""

    def __init__(self, width, heads, hidden=None, **options):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads, **options)
        self.norm2, self.feed = nn.LayerNorm(width), Feed(width, hidden or 4 * width)

    def forward(self, x, mask=None):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.feed(self.norm2(x))
