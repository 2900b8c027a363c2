# torch.nn.functional: losses.
import math
import warnings
from typing import List, Optional, Union

import torch
from torch import Tensor


# The number that operators know a reduction by.
def _reduction_number(reduction: str) -> int:
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return 1
    raise ValueError("{} is not a valid value for reduction".format(reduction))


# The reduction that the old flags mean, where one of them is given.
def _reduction_of(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> str:
    if size_average is None and reduce is None:
        return reduction
    average = True if size_average is None else size_average
    reduces = True if reduce is None else reduce
    name = "none"
    if reduces:
        name = "mean" if average else "sum"
    warnings.warn("size_average and reduce args will be deprecated, please use reduction='{}' instead.".format(name))
    return name


def _reduce(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(reduction + " is not valid")


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn("Using a target size ({}) that is different to the input size ({}). This will likely lead to "
                      "incorrect results due to broadcasting. Please ensure they have the same size.".format(
                          target.size(), input.size()))


# A loss of which every element has a weight. The mean is that of the weights, or a plain one.
def _reduce_weighted(loss: Tensor, weight: Tensor, input: Tensor, reduction: str, by_weights: bool) -> Tensor:
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    weighted = loss * weight
    if reduction == "none":
        return weighted
    if reduction == "sum":
        return weighted.sum()
    if reduction == "mean":
        if by_weights:
            return weighted.sum() / weight.sum()
        return weighted.mean()
    raise ValueError("Invalid reduction mode: {}. Expected one of 'none', 'mean', 'sum'.".format(reduction))


def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
            reduction: str = "mean", weight: Optional[Tensor] = None) -> Tensor:
    _warn_of_sizes(input, target)
    reduction = _reduction_of(size_average, reduce, reduction)
    a, b = torch.broadcast_tensors([input, target])
    if weight is not None:
        return _reduce_weighted((a - b).abs(), weight, input, reduction, True)
    return torch._C._nn.l1_loss(a, b, _reduction_number(reduction))


def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
             reduction: str = "mean", weight: Optional[Tensor] = None) -> Tensor:
    _warn_of_sizes(input, target)
    reduction = _reduction_of(size_average, reduce, reduction)
    a, b = torch.broadcast_tensors([input, target])
    if weight is not None:
        return _reduce_weighted(torch.pow(a - b, 2), weight, input, reduction, True)
    return torch._C._nn.mse_loss(a, b, _reduction_number(reduction))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    _warn_of_sizes(input, target)
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    a, b = torch.broadcast_tensors([input, target])
    if beta == 0.0:
        return torch._C._nn.l1_loss(a, b, number)
    return torch._C._nn.smooth_l1_loss(a, b, number, beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Optional[Tensor] = None) -> Tensor:
    _warn_of_sizes(input, target)
    a, b = torch.broadcast_tensors([input, target])
    if weight is not None:
        return _reduce_weighted(torch._C._nn.huber_loss(a, b, 0, delta), weight, input, reduction, False)
    return torch._C._nn.huber_loss(a, b, _reduction_number(reduction), delta)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction_number(reduction),
                          zero_infinity)


def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
             ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    reduction = _reduction_of(size_average, reduce, reduction)
    return torch._C._nn.nll_loss_nd(input, target, weight, _reduction_number(reduction), ignore_index)


def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                  ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    reduction = _reduction_of(size_average, reduce, reduction)
    return torch._C._nn.cross_entropy_loss(input, target, weight, _reduction_number(reduction), ignore_index,
                                           label_smoothing)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Optional[bool] = None, eps: float = 1e-8, reduce: Optional[bool] = None,
                     reduction: str = "mean") -> Tensor:
    reduction = _reduction_of(size_average, reduce, reduction)
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _reduction_number(reduction))


# Does one dimension only differ, and is it 1 there?
def _broadcasts_in_one_dim(size: List[int], narrow: List[int]) -> bool:
    if len(size) != len(narrow):
        return False
    total = 0
    for i in range(len(size)):
        if size[i] != narrow[i]:
            total += narrow[i]
    return total == 1


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Union[Tensor, float], full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        variance = var * torch.ones_like(input)
    else:
        if torch.any(var < 0):
            raise ValueError("var has negative entry/entries")
        variance = var.clone()
    if variance.size() != input.size():
        if input.size()[:-1] == variance.size():
            variance = variance.unsqueeze(-1)
        elif not _broadcasts_in_one_dim(input.size(), variance.size()):
            raise ValueError("var is of incorrect size")
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    with torch.no_grad():
        variance.clamp_(min=eps)
    loss = 0.5 * (torch.log(variance) + (input - target) ** 2 / variance)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:
    by_flags = size_average is not None or reduce is not None
    if by_flags:
        number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    elif reduction == "batchmean":
        number = 2
    else:
        if reduction == "mean":
            warnings.warn("kl_div: reduction='mean' divides by the number of elements; 'batchmean', by the batch size, is "
                          "the mathematical definition, and what 'mean' is going to be")
        number = _reduction_number(reduction)
    loss = torch.kl_div(input, target, number, log_target=log_target)
    if reduction == "batchmean" and input.dim() != 0:
        loss = loss / input.size(0)
    return loss


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                         size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                         reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError("Using a target size ({}) that is different to the input size ({}) is deprecated. Please ensure "
                         "they have the same size.".format(target.size(), input.size()))
    if weight is not None:
        weight = torch.broadcast_tensors([target, weight])[1]
    return torch._C._nn.binary_cross_entropy(input, target, weight, number)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                     size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                                     reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError("Target size ({}) must be the same as input size ({})".format(target.size(), input.size()))
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                        reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError("margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {}, "
                           "input2: {}, target: {} ".format(input1.size(), input2.size(), target.size()))
    return torch.margin_ranking_loss(input1, input2, target, margin, number)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Optional[bool] = None,
                         reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    return torch.hinge_embedding_loss(input, target, margin, number)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None,
                           reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    return torch._C._nn.multilabel_margin_loss(input, target, number)


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                     reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    return torch._C._nn.soft_margin_loss(input, target, number)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                                reduction: str = "mean") -> Tensor:
    reduction = _reduction_of(size_average, reduce, reduction)
    loss = -(target * torch._C._nn.log_sigmoid(input) + (1 - target) * torch._C._nn.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    class_dim = input.dim() - 1
    classes = input.size(class_dim)
    return _reduce(loss.sum(dim=class_dim) / classes, reduction)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                          reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    return torch.cosine_embedding_loss(input1, input2, target, margin, number)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None,
                      size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                      reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return torch._C._nn.multi_margin_loss(input, target, p, margin, weight, number)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
                        eps: float = 1e-6, swap: bool = False, size_average: Optional[bool] = None,
                        reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:
    number = _reduction_number(_reduction_of(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError("margin must be greater than 0, got {}".format(margin))
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)
