"""optimizer_states.py PROGRAM: states of optimisers and schedules go from us to PyTorch and back, and training goes on as if
nothing had been. PROGRAM is sconce-optimizer-states. Needs PyTorch."""

import subprocess
import sys
import tempfile
import warnings

import numpy
import torch

# As in optimizer_states.cpp.
OPTIMIZERS = {
    "SGD": {"momentum": 0.9}, "Adam": {"amsgrad": True}, "AdamW": {}, "RMSprop": {"momentum": 0.9, "centered": True},
    "Adagrad": {}, "Adadelta": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Rprop": {}, "ASGD": {}, "LBFGS": {},
}
SCHEDULERS = {
    "StepLR": {"step_size": 3}, "MultiStepLR": {"milestones": [2, 5]}, "ConstantLR": {}, "LinearLR": {},
    "ExponentialLR": {"gamma": 0.9}, "PolynomialLR": {"power": 2.0, "total_iters": 9}, "CosineAnnealingLR": {"T_max": 6},
    "CosineAnnealingWarmRestarts": {"T_0": 3, "T_mult": 2}, "OneCycleLR": {"max_lr": 1.0, "total_steps": 20},
    "CyclicLR": {"base_lr": 0.1, "max_lr": 1.0, "step_size_up": 2}, "ReduceLROnPlateau": {"patience": 1},
}


def check_optimizer(base, name, options):
    start = torch.arange(7).float().sin()
    target = (start * 3).cos()

    def make(values):
        p = values.clone().requires_grad_()
        return p, getattr(torch.optim, name)([p], lr=0.1, **options)

    def steps(p, optimizer):
        def closure():
            optimizer.zero_grad()
            loss = (p - target).pow(4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        optimizer.step(closure)

    p, optimizer = make(torch.from_numpy(numpy.load(base + ".2.npy")))
    state = torch.load(base + ".pth", weights_only=True)
    options_saved, options_here = (list(s["param_groups"][0]) for s in (state, optimizer.state_dict()))
    optimizer.load_state_dict(state)
    steps(p, optimizer)
    gap = (p.detach() - torch.from_numpy(numpy.load(base + ".4.npy"))).abs().max().item()
    p, optimizer = make(start)
    steps(p, optimizer)
    numpy.save(base + ".torch.2.npy", p.detach().numpy())
    torch.save(optimizer.state_dict(), base + ".torch.pth")
    steps(p, optimizer)
    numpy.save(base + ".torch.4.npy", p.detach().numpy())
    return gap < 1e-6 and options_saved == options_here


def check_scheduler(base, name, options):
    def make():
        sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
        return sgd, getattr(torch.optim.lr_scheduler, name)(sgd, **options)

    def steps(scheduler, n):
        for _ in range(n):
            scheduler.step(*([1.0] if name == "ReduceLROnPlateau" else []))

    sgd, scheduler = make()
    sgd.load_state_dict(torch.load(base + ".sgd.pth", weights_only=True))
    scheduler.load_state_dict(torch.load(base + ".pth", weights_only=True))
    steps(scheduler, 3)
    same = sgd.param_groups[0]["lr"] == numpy.load(base + ".lr.npy").item()
    sgd, scheduler = make()
    steps(scheduler, 4)
    torch.save(scheduler.state_dict(), base + ".torch.pth")
    torch.save(sgd.state_dict(), base + ".torch.sgd.pth")
    steps(scheduler, 3)
    numpy.save(base + ".torch.lr.npy", numpy.array(sgd.param_groups[0]["lr"]))
    return same


def main() -> int:
    warnings.simplefilter("ignore")
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], "write", folder], check=True)
        for check, cases in ((check_optimizer, OPTIMIZERS), (check_scheduler, SCHEDULERS)):
            failed += [name for name, options in cases.items() if not check(f"{folder}/{name}", name, options)]
        for name in failed:
            print(f"{name}: PyTorch goes on elsewhere")
        return subprocess.run([sys.argv[1], "read", folder], check=False).returncode or len(failed) != 0


sys.exit(main())
