# Networks as libraries of models write them: configurations, outputs, caches, masks, experts, adapters, samplers.
import abc
import collections
import copy
import dataclasses
import enum
import functools
import itertools
import math
import random
import typing


def fill(module, value=0.05):
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.copy_((torch.arange(p.numel(), dtype=torch.float32).reshape(p.shape) % 7 - 3) * value + 0.01 * i)
    return module


@dataclasses.dataclass
class Config:
    width: int = 4
    heads: int = 2
    kv_heads: int = 1
    layers: int = 2
    vocab: int = 11
    hidden_act: str = "gelu"
    dropout: float = 0.0
    eps: float = 1e-6
    rope_theta: float = 10000.0
    use_cache: bool = True
    tie: bool = True
    extra: dict = dataclasses.field(default_factory=dict)

    @property
    def head_dim(self):
        return self.width // self.heads

    def __post_init__(self):
        if self.width % self.heads:
            raise ValueError("width")


class Activations(collections.OrderedDict):
    def __getitem__(self, key):
        content = super().__getitem__(key)
        cls, kwargs = content if isinstance(content, tuple) else (content, {})
        return cls(**kwargs)


ACT2FN = Activations(gelu=nn.GELU, gelu_tanh=(nn.GELU, {"approximate": "tanh"}), relu=nn.ReLU, silu=nn.SiLU)


class ModelOutput(collections.OrderedDict):
    """Keys that are None are absent; indices and slices are those of a tuple."""

    def __init_subclass__(cls):
        dataclasses.dataclass(cls)

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, k):
        if isinstance(k, str):
            return dict(self.items())[k]
        return self.to_tuple()[k]

    def __setattr__(self, name, value):
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self):
        return tuple(self[k] for k in self.keys())


class BaseOutput(ModelOutput):
    last_hidden_state: typing.Any = None
    past: typing.Any = None
    hidden_states: typing.Any = None
    attentions: typing.Any = None


class LMOutput(ModelOutput):
    loss: typing.Any = None
    logits: typing.Any = None
    past: typing.Any = None


class Cache(abc.ABC):
    @abc.abstractmethod
    def update(self, k, v, layer):
        ...

    @abc.abstractmethod
    def length(self, layer=0):
        ...


class DynamicCache(Cache):
    def __init__(self):
        self.key_cache, self.value_cache, self.seen = [], [], 0

    def update(self, k, v, layer):
        if layer == 0:
            self.seen += k.shape[-2]
        if len(self.key_cache) <= layer:
            self.key_cache.append(k)
            self.value_cache.append(v)
        else:
            self.key_cache[layer] = torch.cat([self.key_cache[layer], k], dim=-2)
            self.value_cache[layer] = torch.cat([self.value_cache[layer], v], dim=-2)
        return self.key_cache[layer], self.value_cache[layer]

    def length(self, layer=0):
        return 0 if len(self.key_cache) <= layer else self.key_cache[layer].shape[-2]

    def __len__(self):
        return len(self.key_cache)

    def __iter__(self):
        for i in range(len(self)):
            yield self.key_cache[i], self.value_cache[i]

    def __getitem__(self, i):
        if i < len(self):
            return self.key_cache[i], self.value_cache[i]
        raise KeyError(f"Cache only has {len(self)} layers, attempted to access layer with index {i}")


class StaticCache(Cache):
    def __init__(self, config, limit):
        shape = (1, config.kv_heads, limit, config.head_dim)
        self.k = [torch.zeros(shape) for _ in range(config.layers)]
        self.v = [torch.zeros(shape) for _ in range(config.layers)]

    def update(self, k, v, layer, position=None):
        position = torch.arange(k.shape[-2]) if position is None else position
        self.k[layer].index_copy_(2, position, k)
        self.v[layer].index_copy_(2, position, v)
        return self.k[layer], self.v[layer]

    def length(self, layer=0):
        return (self.k[layer][0, 0].any(dim=-1)).sum()


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.variance_epsilon = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        variance = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(variance + self.variance_epsilon)).to(dtype)

    def extra_repr(self):
        return f"{tuple(self.weight.shape)}, eps={self.variance_epsilon}"


class Rotary(nn.Module):
    def __init__(self, config):
        super().__init__()
        inv = 1.0 / (config.rope_theta ** (torch.arange(0, config.head_dim, 2, dtype=torch.int64).float() / config.head_dim))
        self.register_buffer("inv_freq", inv, persistent=False)
        self.scaling = 1.0

    @torch.no_grad()
    def forward(self, x, position_ids):
        inv = self.inv_freq[None, :, None].float().expand(position_ids.shape[0], -1, 1).to(x.device)
        pos = position_ids[:, None, :].float()
        device_type = x.device.type if isinstance(x.device.type, str) and x.device.type != "mps" else "cpu"
        with torch.autocast(device_type=device_type, enabled=False):
            freqs = (inv.float() @ pos.float()).transpose(1, 2)
            emb = torch.cat((freqs, freqs), dim=-1)
            cos, sin = emb.cos() * self.scaling, emb.sin() * self.scaling
        return cos.to(dtype=x.dtype), sin.to(dtype=x.dtype)


def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., : x.shape[-1] // 2]), dim=-1)


def apply_rotary(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def repeat_kv(x, n):
    b, h, s, d = x.shape
    if n == 1:
        return x
    return x[:, :, None, :, :].expand(b, h, n, s, d).reshape(b, h * n, s, d)


def eager_attention(module, q, k, v, mask, scaling, dropout=0.0, **kwargs):
    k, v = repeat_kv(k, module.groups), repeat_kv(v, module.groups)
    weights = torch.matmul(q, k.transpose(2, 3)) * scaling
    if mask is not None:
        weights = weights + mask[:, :, :, : k.shape[-2]]
    weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
    weights = F.dropout(weights, p=dropout, training=module.training)
    return torch.matmul(weights, v).transpose(1, 2).contiguous(), weights


def sdpa_attention(module, q, k, v, mask, scaling, dropout=0.0, **kwargs):
    k, v = repeat_kv(k, module.groups), repeat_kv(v, module.groups)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=dropout, scale=scaling, is_causal=mask is None and q.shape[2] > 1)
    return out.transpose(1, 2).contiguous(), None


ATTENTION: dict[str, typing.Callable] = {"eager": eager_attention, "sdpa": sdpa_attention}


class Attention(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.config, self.layer = config, layer
        self.head_dim = getattr(config, "head_dim", config.width // config.heads)
        self.groups = config.heads // config.kv_heads
        self.scaling = self.head_dim ** -0.5
        self.q = nn.Linear(config.width, config.heads * self.head_dim, bias=False)
        self.k = nn.Linear(config.width, config.kv_heads * self.head_dim, bias=False)
        self.v = nn.Linear(config.width, config.kv_heads * self.head_dim, bias=False)
        self.o = nn.Linear(config.heads * self.head_dim, config.width, bias=False)

    def forward(self, x, position_embeddings, mask=None, past=None, cache_position=None, **kwargs):
        shape = (*x.shape[:-1], -1, self.head_dim)
        q = self.q(x).view(shape).transpose(1, 2)
        k = self.k(x).view(shape).transpose(1, 2)
        v = self.v(x).view(shape).transpose(1, 2)
        cos, sin = position_embeddings
        q, k = apply_rotary(q, k, cos, sin)
        if past is not None:
            k, v = past.update(k, v, self.layer)
        attend: typing.Callable = eager_attention
        if self.config.extra.get("attention", "eager") != "eager":
            attend = ATTENTION[self.config.extra["attention"]]
        out, weights = attend(self, q, k, v, mask, dropout=0.0 if not self.training else self.config.dropout, scaling=self.scaling, **kwargs)
        out = out.reshape(*x.shape[:-1], -1).contiguous()
        return self.o(out), weights


class MLP(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate, self.up = nn.Linear(config.width, 8, bias=False), nn.Linear(config.width, 8, bias=False)
        self.down = nn.Linear(8, config.width, bias=False)
        self.act = ACT2FN[config.hidden_act]

    def forward(self, x):
        return self.down(self.act(self.gate(x)) * self.up(x))


class DecoderLayer(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.self_attn, self.mlp = Attention(config, layer), MLP(config)
        self.input_layernorm, self.post_layernorm = RMSNorm(config.width, config.eps), RMSNorm(config.width, config.eps)

    def forward(self, x, output_attentions=False, **kwargs):
        residual = x
        x, weights = self.self_attn(self.input_layernorm(x), **kwargs)
        x = residual + x
        x = x + self.mlp(self.post_layernorm(x))
        outputs = (x,)
        if output_attentions:
            outputs += (weights,)
        return outputs


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.width, padding_idx=0)
        self.layers = nn.ModuleList([DecoderLayer(config, i) for i in range(config.layers)])
        self.norm, self.rotary = RMSNorm(config.width, config.eps), Rotary(config)

    def mask(self, attention_mask, x, cache_position, past):
        length, dtype = x.shape[1], x.dtype
        total = attention_mask.shape[-1] if attention_mask is not None else (past.length() if past is not None else 0) + length
        least = torch.finfo(dtype).min
        causal = torch.full((length, total), fill_value=least, dtype=dtype, device=x.device)
        if length != 1:
            causal = torch.triu(causal, diagonal=1)
        causal = causal * (torch.arange(total, device=x.device) > cache_position.reshape(-1, 1))
        causal = causal[None, None, :, :].expand(x.shape[0], 1, -1, -1)
        if attention_mask is not None:
            causal = causal.clone()
            n = attention_mask.shape[-1]
            padding = (causal[:, :, :, :n] + attention_mask[:, None, None, :].to(dtype)) == 0
            causal[:, :, :, :n] = causal[:, :, :, :n].masked_fill(padding, least)
        return causal

    def forward(self, ids=None, attention_mask=None, past=None, inputs_embeds=None, use_cache=None, output_hidden_states=None,
                output_attentions=False, return_dict=True, cache_position=None):
        if (ids is None) ^ (inputs_embeds is not None):
            raise ValueError("You must specify exactly one of input_ids or inputs_embeds")
        use_cache = use_cache if use_cache is not None else self.config.use_cache
        if inputs_embeds is None:
            inputs_embeds = self.embed(ids)
        if use_cache and past is None:
            past = DynamicCache()
        if cache_position is None:
            seen = past.length() if past is not None else 0
            cache_position = torch.arange(seen, seen + inputs_embeds.shape[1], device=inputs_embeds.device)
        mask = self.mask(attention_mask, inputs_embeds, cache_position, past)
        x = inputs_embeds
        embeddings = self.rotary(x, cache_position.unsqueeze(0))
        all_hidden = () if output_hidden_states else None
        all_attn = () if output_attentions else None
        for layer in self.layers[: self.config.layers]:
            if output_hidden_states:
                all_hidden += (x,)
            out = layer(x, mask=mask, past=past, position_embeddings=embeddings, output_attentions=output_attentions)
            x = out[0]
            if output_attentions:
                all_attn += (out[1],)
        x = self.norm(x)
        if output_hidden_states:
            all_hidden += (x,)
        output = BaseOutput(last_hidden_state=x, past=past if use_cache else None, hidden_states=all_hidden, attentions=all_attn)
        return output if return_dict else output.to_tuple()


class CausalLM(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.model = Model(config)
        self.head = nn.Linear(config.width, config.vocab, bias=False)
        if config.tie:
            self.head.weight = self.model.embed.weight

    @property
    def config(self):
        return self.model.config

    def forward(self, ids, labels=None, keep=0, **kwargs):
        outputs = self.model(ids, **kwargs)
        hidden = outputs[0]
        where = slice(-keep, None) if isinstance(keep, int) else keep
        logits = self.head(hidden[:, where, :])
        loss = None
        if labels is not None:
            shifted = F.pad(labels, (0, 1), value=-100)[..., 1:].contiguous()
            loss = F.cross_entropy(logits.float().view(-1, self.config.vocab), shifted.view(-1), ignore_index=-100)
        return LMOutput(loss=loss, logits=logits, past=outputs.past)


lm = fill(CausalLM(Config())).eval()
sdpa_lm = fill(CausalLM(Config(extra={"attention": "sdpa"}, hidden_act="silu", kv_heads=2))).eval()
ids = lambda *shape: (torch.arange(math.prod(shape)).reshape(shape) * 5) % 11


@program(lambda: (ids(1, 4),), lambda: (ids(2, 5),))
def lm_forward(x):
    out = lm(x, use_cache=False)
    return out.logits, out.loss, "past" in out, len(out)


@program(lambda: (ids(2, 4),), lambda: (ids(2, 6),))
def lm_loss(x):
    out = lm(x, labels=x, use_cache=False)
    return out.loss, out[1].shape, list(out.keys())


@program(lambda: (ids(2, 4), torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]])),)
def lm_padded(x, mask):
    out = lm.model(x, attention_mask=mask, output_hidden_states=True, output_attentions=True)
    return out.last_hidden_state, len(out.hidden_states), out.attentions[0].shape, [type(v).__name__ for v in out.to_tuple()]


@program(lambda: (ids(1, 3),),)
def lm_with_cache(x):
    out = lm(x)
    token = out.logits[:, -1:].argmax(-1)
    out2 = lm(token, past=out.past)
    return token, out2.logits, out.past.seen, len(out.past), [k.shape for k, v in out.past]


@program(lambda: (ids(1, 3), 3), lambda: (ids(1, 2), 3))
def lm_generates(x, n):
    with torch.no_grad():
        for _ in range(n):
            logits = lm(x, use_cache=False, keep=1).logits[:, -1]
            x = torch.cat([x, logits.argmax(-1, keepdim=True)], dim=-1)
    return x


@program(lambda: (ids(2, 4),),)
def lm_sdpa(x):
    return sdpa_lm(x, use_cache=False).logits, sdpa_lm.model(x, return_dict=False)[0]


@program(lambda: (ids(1, 4),),)
def lm_wrong_arguments(x):
    try:
        lm.model(x, inputs_embeds=lm.model.embed(x))
    except ValueError as error:
        return str(error), lm.model(inputs_embeds=lm.model.embed(x)).last_hidden_state


@program(lambda: (t(1, 1, 2, 2), torch.tensor([0, 1])), lambda: (t(1, 1, 2, 2), torch.tensor([2, 3])))
def static_cache_written(k, position):
    k2, v2 = static.update(k, k * 2, 1, position)
    return k2.sum(), static.length(1), v2


static = StaticCache(Config(), 4)


# Mixture of experts.


class Experts(nn.Module):
    def __init__(self, width, count, top):
        super().__init__()
        self.gate = nn.Linear(width, count, bias=False)
        self.experts = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(count))
        self.top = top

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        scores = F.softmax(self.gate(flat), dim=-1)
        weights, chosen = torch.topk(scores, self.top, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        mask = F.one_hot(chosen, num_classes=len(self.experts)).permute(2, 1, 0)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            w = (weights * mask[i].T).sum(-1, keepdim=True)
            out = out + expert(flat) * w
        load = mask.sum((1, 2)).float() / mask.sum()
        return out.reshape(x.shape), load


experts = fill(Experts(4, 3, 2))


@program(lambda: (t(2, 3, 4),), lambda: (t(1, 5, 4),))
def experts_mixed(x):
    return experts(x)


@program(lambda: (t(5, 4),),)
def experts_routed(x):
    scores = experts.gate(x)
    best = scores.argmax(-1)
    out = torch.zeros_like(x)
    for i, expert in enumerate(experts.experts):
        rows = torch.where(best == i)[0]
        out.index_add_(0, rows, expert(x[rows]))
    return out


# Adapters and wrappers.


class LoRA(nn.Module):
    def __init__(self, base, rank=2, alpha=4):
        super().__init__()
        self.base = base
        self.a = nn.Parameter(torch.ones(rank, base.in_features) * 0.1)
        self.b = nn.Parameter(torch.ones(base.out_features, rank) * 0.2)
        self.scaling, self.merged, self.enabled = alpha / rank, False, True
        base.weight.requires_grad_(False)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.base, name)

    def forward(self, x):
        out = self.base(x)
        if self.enabled and not self.merged:
            out = out + (x @ self.a.T @ self.b.T) * self.scaling
        return out

    @torch.no_grad()
    def merge(self):
        if not self.merged:
            self.base.weight += (self.b @ self.a) * self.scaling
            self.merged = True


lora = LoRA(fill(nn.Linear(3, 2)))


@program(lambda: (t(2, 3), True), lambda: (t(2, 3), False), lambda: (t(4, 3), True))
def adapter_switched(x, enabled):
    lora.enabled = enabled
    return lora(x), lora.out_features, lora.weight.requires_grad


@program(lambda: (t(2, 3),),)
def adapter_merged(x):
    layer = copy.deepcopy(lora)
    a = layer(x)
    layer.merge()
    return torch.allclose(a, layer(x), atol=1e-5), layer.merged


class EMA:
    def __init__(self, model, decay):
        self.decay, self.steps = decay, 0
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for n, p in model.named_parameters():
            self.shadow[n].lerp_(p, 1 - decay)


ema_model = fill(nn.Linear(2, 2))
ema = EMA(ema_model, 0.99)


@program(lambda: (t(2, 2),), lambda: (t(2, 2),), lambda: (t(2, 2),))
def averages_of_weights(x):
    ema.update(ema_model)
    return F.linear(x, ema.shadow["weight"], ema.shadow["bias"]), ema.steps


# Vision.


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=2):
        super().__init__()
        self.fc = nn.Sequential(nn.Conv2d(channels, channels // reduction, 1), nn.ReLU(inplace=True),
                                nn.Conv2d(channels // reduction, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.fc(x.mean((2, 3), keepdim=True))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None, norm_layer=None, se=False):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        self.conv1, self.bn1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False), norm_layer(planes)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False), norm_layer(planes)
        self.relu, self.downsample = nn.ReLU(inplace=True), downsample
        self.se = SqueezeExcite(planes) if se else None

    def forward(self, x):
        identity = x
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.se is not None:
            out = self.se(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(self, block, layers):
        super().__init__()
        self.inplanes = 2
        self.stem = nn.Conv2d(3, 2, 3, padding=1)
        self.layer1 = self._make_layer(block, 2, layers[0])
        self.layer2 = self._make_layer(block, 4, layers[1], stride=2, se=True)
        self.avgpool, self.fc = nn.AdaptiveAvgPool2d((1, 1)), nn.Linear(4 * block.expansion, 5)

    def _make_layer(self, block, planes, blocks, stride=1, **options):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(nn.Conv2d(self.inplanes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))
        made = [block(self.inplanes, planes, stride, downsample, **options)]
        self.inplanes = planes * block.expansion
        made.extend(block(self.inplanes, planes, **options) for _ in range(1, blocks))
        return nn.Sequential(*made)

    def forward_features(self, x):
        return self.layer2(self.layer1(self.stem(x)))

    def forward(self, x, features_only=False):
        x = self.forward_features(x)
        if features_only:
            return [x]
        return self.fc(torch.flatten(self.avgpool(x), 1))


resnet = fill(ResNet(BasicBlock, [1, 2]))


@program(lambda: (t(1, 3, 4, 4), False), lambda: (t(2, 3, 4, 4), True), lambda: (t(2, 3, 6, 6), True))
def resnet_modes(x, training):
    resnet.train(training)
    return resnet(x), resnet.layer1[0].bn1.num_batches_tracked.clone(), resnet(x, features_only=True)[0].shape


class UNet(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(2, 2, 3, padding=1) for _ in range(depth)])
        self.up = nn.ModuleList([nn.Conv2d(4, 2, 3, padding=1) for _ in range(depth)])

    def forward(self, x):
        skips = []
        for conv in self.down:
            x = F.relu(conv(x))
            skips.append(x)
            x = F.max_pool2d(x, 2)
        for conv, skip in zip(self.up, reversed(skips)):
            x = F.interpolate(x, size=skip.shape[-2:], mode="nearest")
            x = conv(torch.cat([x, skips.pop()], dim=1)) + skip
        assert not skips
        return x


unet = fill(UNet(2))


@program(lambda: (t(1, 2, 4, 4),), lambda: (t(1, 2, 8, 8),))
def unet_skips(x):
    return unet(x)


class PatchEmbed(nn.Module):
    def __init__(self, size=4, patch=2, width=3):
        super().__init__()
        self.img_size, self.patch = (size, size), (patch, patch)
        self.proj = nn.Conv2d(1, width, kernel_size=patch, stride=patch)
        self.cls = nn.Parameter(torch.ones(1, 1, width) * 0.1)
        self.pos = nn.Parameter(torch.ones(1, 5, width) * 0.01)

    def forward(self, x):
        b, c, h, w = x.shape
        assert h == self.img_size[0], f"Input height ({h}) doesn't match model ({self.img_size[0]})."
        torch._assert(w == self.img_size[1], f"Input width ({w}) doesn't match model ({self.img_size[1]}).")
        x = self.proj(x).flatten(2).transpose(1, 2)
        return torch.cat((self.cls.expand(b, -1, -1), x), dim=1) + self.pos


patches_embedded = fill(PatchEmbed())


@program(lambda: (t(2, 1, 4, 4),), lambda: (t(2, 1, 5, 4),), lambda: (t(2, 1, 4, 5),))
def patch_embedding(x):
    return patches_embedded(x)


def window_partition(x, size):
    b, h, w, c = x.shape
    x = x.view(b, h // size, size, w // size, size, c)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, size, size, c)


def window_reverse(windows, size, h, w):
    b = int(windows.shape[0] / (h * w / size / size))
    x = windows.view(b, h // size, w // size, size, size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(b, h, w, -1)


@program(lambda: (t(1, 4, 4, 2), 2, 1), lambda: (t(2, 4, 4, 2), 2, 0))
def windows_shifted(x, size, shift):
    b, h, w, c = x.shape
    if shift > 0:
        mask = torch.zeros((1, h, w, 1))
        slices = (slice(0, -size), slice(-size, -shift), slice(-shift, None))
        count = 0
        for hs in slices:
            for ws in slices:
                mask[:, hs, ws, :] = count
                count += 1
        mask = window_partition(mask, size).view(-1, size * size)
        mask = mask.unsqueeze(1) - mask.unsqueeze(2)
        mask = mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)
        x = torch.roll(x, shifts=(-shift, -shift), dims=(1, 2))
    else:
        mask = None
    windows = window_partition(x, size)
    back = window_reverse(windows * 2, size, h, w)
    return back, mask


class RelativeBias(nn.Module):
    def __init__(self, buckets=8, heads=2):
        super().__init__()
        self.buckets, self.bias = buckets, nn.Embedding(buckets, heads)

    @staticmethod
    def bucket(relative, bidirectional=True, buckets=8, distance=16):
        found = 0
        if bidirectional:
            buckets //= 2
            found += (relative > 0).to(torch.long) * buckets
            relative = torch.abs(relative)
        else:
            relative = -torch.min(relative, torch.zeros_like(relative))
        exact = buckets // 2
        small = relative < exact
        large = exact + (torch.log(relative.float() / exact) / math.log(distance / exact) * (buckets - exact)).to(torch.long)
        large = torch.min(large, torch.full_like(large, buckets - 1))
        found += torch.where(small, relative, large)
        return found

    def forward(self, q, k):
        relative = torch.arange(k)[None, :] - torch.arange(q)[:, None]
        return self.bias(self.bucket(relative, buckets=self.buckets)).permute(2, 0, 1).unsqueeze(0)


relative_bias = fill(RelativeBias())


@program(lambda: (t(1, 2, 3, 3),), lambda: (t(1, 2, 5, 5),))
def biases_by_distance(scores):
    return (scores + relative_bias(scores.shape[-2], scores.shape[-1])).softmax(-1)


# Recurrent nets, sampling, diffusion, graphs.


class Seq2Seq(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.encoder, self.decoder = nn.Embedding(6, 3), nn.GRU(3, 4, batch_first=True), nn.GRUCell(3, 4)
        self.out = nn.Linear(4, 6)

    def forward(self, source, target, teacher=0.5):
        _, h = self.encoder(self.embed(source))
        h, token, outputs = h[-1], target[:, 0], []
        for i in range(1, target.shape[1]):
            h = self.decoder(self.embed(token), h)
            logits = self.out(h)
            outputs.append(logits)
            token = target[:, i] if random.random() < teacher else logits.argmax(-1)
        return torch.stack(outputs, dim=1)


seq2seq = fill(Seq2Seq())


@program(lambda: (ids(2, 3) % 6, ids(2, 4) % 6, 1.0), lambda: (ids(2, 3) % 6, ids(2, 4) % 6, 0.0))
def sequences_translated(source, target, teacher):
    return seq2seq(source, target, teacher)


@program(lambda: (t(2, 8), 3, 0.9), lambda: (t(2, 8), None, 0.5), lambda: (t(2, 8), 2, None))
def logits_filtered(logits, top_k, top_p):
    if top_k is not None:
        least = torch.topk(logits, min(top_k, logits.size(-1)))[0][..., -1, None]
        logits = logits.masked_fill(logits < least, -float("inf"))
    if top_p is not None and top_p < 1.0:
        ordered, index = torch.sort(logits, descending=True)
        cumulative = ordered.softmax(-1).cumsum(-1)
        remove = cumulative > top_p
        remove[..., 1:] = remove[..., :-1].clone()
        remove[..., 0] = 0
        logits = logits.masked_fill(remove.scatter(-1, index, remove), -float("inf"))
    return logits.softmax(-1), torch.multinomial(logits.softmax(-1), 1).shape


class LogitsProcessorList(list):
    def __call__(self, ids, scores, **kwargs):
        for processor in self:
            scores = processor(ids, scores, **kwargs) if kwargs else processor(ids, scores)
        return scores


class RepetitionPenalty:
    def __init__(self, penalty):
        if not isinstance(penalty, float) or not penalty > 0:
            raise ValueError(f"`penalty` has to be a strictly positive float, but is {penalty}")
        self.penalty = penalty

    def __call__(self, ids, scores):
        score = torch.gather(scores, 1, ids)
        score = torch.where(score < 0, score * self.penalty, score / self.penalty)
        return scores.scatter(1, ids, score)


class MinLength:
    def __init__(self, n, eos):
        self.n, self.eos = n, eos

    def __call__(self, ids, scores):
        mask = torch.isin(torch.arange(scores.shape[-1]), torch.tensor([self.eos]))
        return torch.where(mask, -math.inf, scores) if ids.shape[-1] < self.n else scores


@program(lambda: (ids(1, 3) % 6, t(1, 6)), lambda: (ids(1, 5) % 6, t(1, 6)))
def processors_of_scores(tokens, scores):
    processors = LogitsProcessorList([RepetitionPenalty(1.2), MinLength(4, 2)])
    processors.append(lambda i, s: s - s.max())
    return processors(tokens, scores), len(processors)


class Scheduler:
    def __init__(self, steps=10, start=0.01, end=0.2):
        self.betas = torch.linspace(start ** 0.5, end ** 0.5, steps) ** 2
        self.alphas_cumprod = torch.cumprod(1.0 - self.betas, dim=0)
        self.num_steps = steps

    def add_noise(self, x, noise, steps):
        a = self.alphas_cumprod[steps] ** 0.5
        while len(a.shape) < len(x.shape):
            a = a.unsqueeze(-1)
        b = (1 - self.alphas_cumprod[steps]) ** 0.5
        b = b.view(-1, *[1] * (x.dim() - 1))
        return a * x + b * noise

    def step(self, model, x, step):
        alpha, previous = self.alphas_cumprod[step], self.alphas_cumprod[step - 1] if step > 0 else torch.tensor(1.0)
        eps = model(x, step)
        x0 = (x - (1 - alpha).sqrt() * eps) / alpha.sqrt()
        return previous.sqrt() * x0.clamp(-1, 1) + (1 - previous).sqrt() * eps


scheduler = Scheduler()


@program(lambda: (t(2, 3, 2), torch.tensor([1, 5])),)
def noise_added(x, steps):
    return scheduler.add_noise(x, x.flip(0), steps)


@program(lambda: (t(2, 3), 3), lambda: (t(2, 3), 2))
def noise_removed(x, n):
    for step in reversed(range(n)):
        x = scheduler.step(lambda v, s: v * 0.1 + s / 10, x, step)
    return x


@program(lambda: (4, 8), lambda: (6, 8))
def time_embeddings(n, width):
    steps = torch.arange(n)
    half = width // 2
    exponent = -math.log(10000) * torch.arange(start=0, end=half, dtype=torch.float32) / half
    emb = steps[:, None].float() * torch.exp(exponent)[None, :]
    emb = torch.cat([torch.sin(emb), torch.cos(emb)], dim=-1)
    return F.pad(emb, (0, 1, 0, 0)) if width % 2 == 1 else emb


@program(lambda: (t(4, 3), torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])),)
def messages_passed(x, edges):
    source, target = edges
    degree = torch.zeros(x.size(0)).scatter_add_(0, target, torch.ones(source.numel()))
    norm = degree.pow(-0.5)
    norm[norm == float("inf")] = 0
    weight = norm[source] * norm[target]
    out = torch.zeros_like(x).index_add(0, target, x[source] * weight.unsqueeze(-1))
    best = torch.full_like(x, -1e9).scatter_reduce(0, target.unsqueeze(-1).expand(-1, 3), x[source], reduce="amax")
    return out.relu(), best


@program(lambda: (t(4, 3), torch.tensor([0, 1, 0, 1])),)
def triplets_mined(x, labels):
    distance = torch.cdist(x, x)
    same = labels[:, None] == labels[None, :]
    eye = torch.eye(len(labels), dtype=torch.bool)
    hardest = (distance * (same & ~eye)).max(1).values
    easiest = distance.masked_fill(same, float("inf")).min(1)[0]
    return F.relu(hardest - easiest + 0.2).mean()


@program(lambda: (t(3, 4), t(3, 4) * 2, 0.1),)
def contrastive_loss(a, b, temperature):
    a, b = F.normalize(a, dim=-1), F.normalize(b, dim=-1)
    logits = a @ b.t() / temperature
    labels = torch.arange(len(a))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels)) / 2, (logits.argmax(1) == labels).float().mean()


@program(lambda: (t(4, 2), torch.tensor([0, 1, 1, 0]), t(4), t(4)),)
def policy_losses(logits, actions, advantages, old):
    distribution = torch.distributions.Categorical(logits=logits)
    logp = distribution.log_prob(actions)
    ratio = (logp - old).exp()
    clipped = torch.clamp(ratio, 0.8, 1.2)
    loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    return loss - 0.01 * distribution.entropy().mean()


@program(lambda: (t(3, 2), t(3, 2)),)
def latent_losses(mu, logvar):
    std = torch.exp(0.5 * logvar)
    z = mu + torch.randn_like(std) * std
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1)
    normal = torch.distributions.Normal(mu, std)
    return z.shape, kl.mean(), normal.log_prob(mu).sum()


class Registry(dict):
    def register(self, name=None):
        def decorate(cls):
            self[name or cls.__name__.lower()] = cls
            return cls
        return decorate

    def build(self, spec, **defaults):
        spec = dict(spec)
        kind = spec.pop("type")
        return self[kind](**{**defaults, **spec})


LAYERS = Registry()


@LAYERS.register()
class Affine(nn.Module):
    def __init__(self, scale=1.0, shift=0.0):
        super().__init__()
        self.scale, self.shift = scale, shift

    def forward(self, x):
        return x * self.scale + self.shift


@LAYERS.register("act")
class Act(nn.Module):
    def __init__(self, name="relu", **_):
        super().__init__()
        self.fn = getattr(F, name)

    def forward(self, x):
        return self.fn(x)


built = nn.Sequential(*[LAYERS.build(s) for s in [{"type": "affine", "scale": 2.0}, {"type": "act", "name": "gelu"}, {"type": "act"}]])


@program(lambda: (t(3),),)
def layers_built_from_specs(x):
    return built(x), sorted(LAYERS), [type(m).__name__ for m in built.children()]


class Mode(enum.Enum):
    SUM = "sum"
    MEAN = "mean"

    @classmethod
    def parse(cls, text):
        return cls(text.lower())


class Pool(nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.mode = Mode.parse(mode)

    def forward(self, x, mask=None):
        if mask is None:
            mask = torch.ones(x.shape[:-1])
        total = (x * mask.unsqueeze(-1)).sum(-2)
        match self.mode:
            case Mode.SUM:
                return total
            case Mode.MEAN:
                return total / mask.sum(-1, keepdim=True).clamp(min=1e-9)


@program(lambda: (t(2, 3, 4), "SUM", None), lambda: (t(2, 3, 4), "Mean", None), lambda: (t(2, 3, 4), "mean", torch.tensor([[1., 0, 1], [1, 1, 1]])))
def pools_of_modes(x, mode, mask):
    return Pool(mode)(x, mask)


@program(lambda: (t(2, 6),),)
def axes_rearranged(x):
    def rearrange(v, pattern, **sizes):
        left, right = (side.strip() for side in pattern.split("->"))

        def groups(side):
            found, current = [], None
            for token in side.replace("(", " ( ").replace(")", " ) ").split():
                if token == "(":
                    current = []
                elif token == ")":
                    found.append(current)
                    current = None
                elif current is not None:
                    current.append(token)
                else:
                    found.append([token])
            return found
        shape = []
        for group, size in zip(groups(left), v.shape):
            known = math.prod(sizes[a] for a in group if a in sizes)
            for axis in group:
                sizes.setdefault(axis, size // known)
                shape.append(sizes[axis])
        names = list(itertools.chain.from_iterable(groups(left)))
        order = [names.index(a) for a in itertools.chain.from_iterable(groups(right))]
        return v.reshape(shape).permute(order).reshape([math.prod(sizes[a] for a in g) for g in groups(right)])
    return rearrange(x, "b (h d) -> b h d", h=2), rearrange(x, "b (h d) -> (b h) d", d=3), rearrange(x, "b c -> c b")
