"""Compares models run by Sconce with the same models run by PyTorch 2.13: torch.compile(backend="sconce"), forward and one
training step, and sconce.from_torch.

    python tools/check_torch_compile.py --install build/torch-venv       a virtual environment with PyTorch and the models
    PYTHONPATH=build/release/python build/torch-venv/bin/python tools/check_torch_compile.py [names...]

Weights are random, sizes small. Results must agree as PyTorch asks of its own compiled models (torch._dynamo.utils.same, with a
double precision reference), and PyTorch must run no Core ATen operator for us.
"""

import argparse
import contextlib
import copy
import subprocess
import sys
import time
import traceback
import venv
import warnings

PACKAGES = ["torchvision", "timm", "transformers"]  # without what they ask for, which is a torch of their own choice
TOLERANCE, TRAINING_TOLERANCE = 1e-4, 1e-2  # the second is what PyTorch's benchmarks ask of compiled vision models
NEEDED = ["numpy", "pillow", "pyyaml", "huggingface_hub", "safetensors", "tokenizers", "regex", "tqdm", "requests", "packaging"]


def install(folder):
    """A virtual environment with PyTorch 2.13 and the libraries of models."""
    venv.create(folder, with_pip=True)
    pip = [f"{folder}/bin/pip", "-q", "install"]
    subprocess.run([*pip, "torch==2.13.0", *NEEDED], check=True)
    subprocess.run([*pip, "--no-deps", *PACKAGES], check=True)


def declare_torchvision(torch):
    """torchvision's own operators are compiled for the PyTorch of its choice; it asks that they exist, and no model here uses them."""
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    return library


def vision(name, size=64, **options):
    def make(torch):
        import torchvision

        return torchvision.models.get_model(name, weights=None, **options), (torch.randn(2, 3, size, size),)

    return make


def timm_model(name, size=64, **options):
    def make(torch):
        import timm

        return timm.create_model(name, pretrained=False, **options), (torch.randn(2, 3, size, size),)

    return make


def text(architecture, inputs=("input_ids",), **options):
    def make(torch):
        import transformers

        config = getattr(transformers, architecture[0])(vocab_size=99, **options)
        config._attn_implementation = options.get("attn_implementation", "sdpa")
        if hasattr(config, "use_cache"):
            config.use_cache = False
        model = getattr(transformers, architecture[1])(config)
        return model, {name: torch.randint(3, 99, (2, 12)) for name in inputs}

    return make


SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
         "max_position_embeddings": 64}
MODELS = {
    "alexnet": vision("alexnet"), "vgg11": vision("vgg11", 32), "resnet18": vision("resnet18"),
    "squeezenet": vision("squeezenet1_1"), "mobilenet_v2": vision("mobilenet_v2"), "mobilenet_v3": vision("mobilenet_v3_small"),
    "shufflenet": vision("shufflenet_v2_x0_5"), "mnasnet": vision("mnasnet0_5", 160), "efficientnet": vision("efficientnet_b0"),
    "regnet": vision("regnet_y_400mf", 128), "convnext": vision("convnext_tiny", 32), "swin": vision("swin_t", 32),
    "googlenet": vision("googlenet", init_weights=False, aux_logits=False),
    "deit": timm_model("deit_tiny_patch16_224", img_size=64), "mixer": timm_model("mixer_s32_224", 224),
    "resnet10t": timm_model("resnet10t"), "repvgg": timm_model("repvgg_a0"), "mobilevit": timm_model("mobilevit_xxs"),
    "edgenext": timm_model("edgenext_xx_small"), "poolformer": timm_model("poolformer_s12"),
    "bert": text(("BertConfig", "BertModel"), **SMALL),
    "roberta": text(("RobertaConfig", "RobertaModel"), **SMALL),
    "electra": text(("ElectraConfig", "ElectraModel"), **SMALL),
    "distilbert": text(("DistilBertConfig", "DistilBertModel"), dim=32, n_layers=2, n_heads=4, hidden_dim=64),
    "albert": text(("AlbertConfig", "AlbertModel"), embedding_size=16, **SMALL),
    "gpt2": text(("GPT2Config", "GPT2Model"), n_embd=32, n_layer=2, n_head=4, n_positions=64),
    "opt": text(("OPTConfig", "OPTModel"), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=64,
                max_position_embeddings=64, word_embed_proj_dim=32),
    "llama": text(("LlamaConfig", "LlamaModel"), num_key_value_heads=2, **SMALL),
    "qwen2": text(("Qwen2Config", "Qwen2Model"), num_key_value_heads=2, **SMALL),
    "t5": text(("T5Config", "T5Model"), ("input_ids", "decoder_input_ids"), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4),
    "bart": text(("BartConfig", "BartModel"), ("input_ids", "decoder_input_ids"), d_model=32, encoder_layers=2, decoder_layers=2,
                 encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64,
                 max_position_embeddings=64),
}


def run(model, inputs):
    return model(**inputs) if isinstance(inputs, dict) else model(*inputs)


def tensors(torch, result):
    """The tensors in a result, in order."""
    return [leaf for leaf in torch.utils._pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def step(torch, model, inputs):
    """One training step: outputs and gradients."""
    torch.manual_seed(1)
    outputs = tensors(torch, run(model, inputs))
    sum(out.float().pow(2).mean() for out in outputs if out.is_floating_point() and out.requires_grad).backward()
    return outputs + [p.grad for p in model.parameters() if p.grad is not None] + list(model.buffers())


def forward(torch, model, inputs):
    with torch.no_grad():
        return tensors(torch, run(model, inputs))


def double(torch, inputs):
    return torch.utils._pytree.tree_map(lambda t: t.double() if t.is_floating_point() else t, inputs)


def check(torch, name, make, what):
    """None when the results agree, otherwise the reason."""
    import sconce.interop

    torch._dynamo.reset()
    torch.manual_seed(0)
    model, inputs = make(torch)
    training = what == "train"
    model.train(training)
    compute = step if training else forward
    with contextlib.suppress(AttributeError):
        model.config.use_cache = False
    other, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    expected = compute(torch, other, inputs)
    try:
        reference = compute(torch, exact, double(torch, inputs))
    except RuntimeError:  # a model that makes float32 of its own
        reference = [t.double() if t.is_floating_point() else t for t in expected]
    start = time.perf_counter()
    if what == "from_torch":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = sconce.interop.from_torch(model, example_inputs=inputs)
        found = tensors(torch, sconce.interop.to_torch(run(made, sconce.interop.from_torch(inputs))))
        theirs = {parameter.data_ptr() for parameter in model.parameters()}
        copied = [name for name, parameter in made.named_parameters() if parameter.data_ptr() not in theirs]
        if copied or not list(made.named_parameters()):
            return f"parameters are not shared: {copied or 'there are none'}", time.perf_counter() - start
    else:
        found = compute(torch, torch.compile(model, backend="sconce"), inputs)
    seconds = time.perf_counter() - start
    if len(found) != len(expected):
        return f"{len(found)} results, {len(expected)} expected", seconds
    for i, (a, b, c) in enumerate(zip(expected, found, reference)):
        if not torch._dynamo.utils.same(a, b, c, tol=TRAINING_TOLERANCE if training else TOLERANCE, equal_nan=True):
            return f"result {i} of {len(found)}: differs by {(a.double() - b.double()).abs().max():.3g}", seconds
    return None, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="models; all of them when none is named")
    parser.add_argument("--install", metavar="FOLDER", help="make a virtual environment with the models, and end")
    parser.add_argument("--what", default="forward,train,from_torch", help="which of the three checks")
    options = parser.parse_args()
    if options.install:
        return install(options.install)
    import torch
    import sconce.interop

    kept = declare_torchvision(torch)  # noqa: F841
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    failures = 0
    for name in options.names or MODELS:
        for what in options.what.split(","):
            try:
                reason, seconds = check(torch, name, MODELS[name], what)
            except Exception as error:
                traceback.print_exc(limit=-4)
                reason, seconds = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}", 0
            failures += reason is not None
            print(f"{name:14} {what:10} {'ok' if reason is None else 'FAILS ' + reason} ({seconds:.1f} s)", flush=True)
    callbacks = sconce.interop.callbacks()
    print(f"{len(options.names or MODELS)} models, {failures} failures; operators that PyTorch ran: {callbacks or 'none'}")
    return 1 if failures or any(callbacks.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
