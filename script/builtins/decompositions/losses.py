# Losses: reductions, negative log likelihood, margins, connectionist temporal classification.


def reduced_loss(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    if reduction == 2:
        return loss.sum()
    return loss


def loss_share(x: Tensor, reduction: int) -> float:
    return 1.0 / float(x.numel()) if reduction == 1 and x.numel() > 0 else 1.0


def wide(x: Tensor) -> Tensor:
    # 16-bit floats add up in float32.
    return x.to(torch.float32) if x.dtype == torch.float16 or x.dtype == torch.bfloat16 else x


def fitted_target(target: Tensor, x: Tensor) -> Tensor:
    return target if target.shape == x.shape else contiguous_reshape(target, x.shape)


def class_rows(x: Tensor) -> Tensor:
    # Classes are dim 1.
    return x.unsqueeze(0) if x.dim() == 1 else x


def class_labels(x: Tensor, target: Tensor) -> Tensor:
    return (contiguous_reshape(target, [1]) if x.dim() == 1 else target).to(torch.int64)


def label_weights(labels: Tensor, weight: Optional[Tensor], ignore_index: int, like: Tensor) -> Tensor:
    # What each label counts; those that are ignored count nothing.
    counted = labels != ignore_index
    if weight is not None:
        safe = torch.where(counted, labels, zero_of(labels))
        each = contiguous_reshape(wide(weight).index_select(0, flat(safe)), labels.shape)
    else:
        each = torch.full(labels.shape, 1, dtype=like.dtype, device=like.device)
    return torch.where(counted, each, zero_of(each))


def likelihood_loss(x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int) -> Tuple[Tensor, Tensor]:
    scores = wide(class_rows(x))
    labels = class_labels(x, target)
    counted = labels != ignore_index
    safe = torch.where(counted, labels, zero_of(labels))
    weights = label_weights(labels, weight, ignore_index, scores)
    picked = scores.gather(1, safe.unsqueeze(1)).squeeze(1)
    each = torch.where(counted, -picked * weights, zero_of(picked))
    if reduction == 0 and x.dim() != 1:
        return each.to(x.dtype), zero_of(x)
    total = each.sum()
    count = weights.sum()
    if reduction == 1:
        total = total / count
    return total.to(x.dtype), count.to(x.dtype)


def likelihood_gradient(grad: Tensor, x: Tensor, target: Tensor, weight: Optional[Tensor], reduction: int, ignore_index: int, total_weight: Tensor) -> Tensor:
    rows = class_rows(x)
    labels = class_labels(x, target)
    safe = torch.where(labels != ignore_index, labels, zero_of(labels))
    weights = label_weights(labels, weight, ignore_index, wide(x))
    g = wide(grad)
    if reduction != 0 or x.dim() == 1:
        g = contiguous_reshape(g, [])
    each = -g * weights
    if reduction == 1:
        each = each / contiguous_reshape(wide(total_weight), [])
    # Nothing, rather than NaN of 0 / 0, for what is ignored.
    each = torch.where(labels != ignore_index, each, zero_of(each)).to(x.dtype)
    base = torch.full(rows.shape, 0, dtype=x.dtype, device=x.device)
    out = torch.scatter(base, 1, safe.unsqueeze(1), each.unsqueeze(1))
    return out.squeeze(0) if x.dim() == 1 else out


def matrix_of(x: Tensor) -> Tensor:
    # One row for a vector or a number.
    return x if x.dim() == 2 else contiguous_reshape(x, [1, x.numel()])


def reduced_rows(rows: Tensor, reduction: int, each: bool, dtype: int) -> Tensor:
    if each:
        return rows.to(dtype)
    total = rows.sum()
    if reduction == 1 and rows.size(0) > 0:
        total = total / rows.size(0)
    return total.to(dtype)


def class_margins(x: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int) -> Tensor:
    rows = wide(matrix_of(x))
    labels = contiguous_reshape(target, [rows.size(0), 1])
    z = (rows - rows.gather(1, labels) + margin).relu()
    if p == 2:
        z = z * z
    z = torch.scatter(z, 1, labels, 0)
    if weight is not None:
        z = z * wide(weight).index_select(0, labels.squeeze(1)).unsqueeze(1)
    each = z.sum([1]) / rows.size(1)
    return reduced_rows(each, reduction, reduction == 0 and target.dim() > 0, x.dtype)


def label_margins(x: Tensor, target: Tensor, reduction: int) -> Tuple[Tensor, Tensor]:
    rows = wide(matrix_of(x))
    labels = contiguous_reshape(target, rows.shape)
    classes = rows.size(1)
    # Labels stand before the first -1; others go to a class that is cut off.
    valid = (labels == -1).to(torch.int64).cumsum(1) == 0
    marked = torch.scatter(torch.full([rows.size(0), classes + 1], 0, dtype=rows.dtype, device=x.device), 1, torch.where(valid, labels, torch.full([], classes, dtype=torch.int64, device=x.device)), 1)
    is_label = marked.slice(1, 0, classes)
    own = rows.gather(1, torch.where(valid, labels, zero_of(labels)))
    z = (1 - own.unsqueeze(2) + rows.unsqueeze(1)).relu()
    counts = valid.unsqueeze(2).logical_and((is_label == 0).unsqueeze(1))
    each = torch.where(counts, z, zero_of(z)).sum([1, 2]) / classes
    loss = reduced_rows(each, reduction, reduction == 0 and target.dim() == 2, x.dtype)
    return loss, contiguous_reshape(is_label.to(x.dtype), target.shape)


def sequence_loss(log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], blank: int) -> Tuple[Tensor, Tensor]:
    # A target is read with blanks around its labels: states. alpha[b, t, s] is the log probability of being in state s.
    steps = log_probs.size(0)
    batch = log_probs.size(1)
    longest = 0
    for length in target_lengths:
        longest = max(longest, length)
    states = 2 * longest + 1
    device = log_probs.device
    never = torch.full([], -float("inf"), dtype=log_probs.dtype, device=device)
    rows: List[Tensor] = []
    start = 0
    for b in range(batch):
        if targets.dim() == 1:
            row = targets.slice(0, start, start + target_lengths[b])
        else:
            row = targets.select(0, b).slice(0, 0, target_lengths[b])
        rows.append(torch.constant_pad_nd(row.to(torch.int64), [0, longest - target_lengths[b]], blank))
        start = start + target_lengths[b]
    labels = torch.cat([row.unsqueeze(0) for row in rows])
    blanks = torch.full([batch, longest, 1], blank, dtype=torch.int64, device=device)
    read = torch.constant_pad_nd(contiguous_reshape(torch.cat([blanks, labels.unsqueeze(2)], 2), [batch, 2 * longest]), [0, 1], blank)
    lengths = integers(target_lengths, torch.int64, device).unsqueeze(1)
    state = torch.arange(0, states, 1, dtype=torch.int64, device=device)
    exists = state < 2 * lengths + 1
    # A way may leave out the blank between labels that differ.
    two_before = torch.constant_pad_nd(read, [2, 0], blank).slice(1, 0, states)
    skips = torch.logical_and(state % 2 == 1, state >= 3).logical_and(read != two_before)
    seen = log_probs.gather(2, read.unsqueeze(0).expand([steps, batch, states]))
    alpha = torch.where((state < 2).logical_and(exists), seen.select(0, 0), never)
    alphas = [alpha]
    for t in range(1, steps):
        one = torch.constant_pad_nd(alpha, [1, 0], -float("inf")).slice(1, 0, states)
        two = torch.where(skips, torch.constant_pad_nd(alpha, [2, 0], -float("inf")).slice(1, 0, states), never)
        top = torch.maximum(alpha, torch.maximum(one, two))
        safe = torch.where(top == -float("inf"), zero_of(top), top)
        joined = ((alpha - safe).exp() + (one - safe).exp() + (two - safe).exp()).log() + safe
        alpha = torch.where(exists, joined + seen.select(0, t), never)
        alphas.append(alpha)
    table = torch.cat([a.unsqueeze(1) for a in alphas], 1)
    times = integers(input_lengths, torch.int64, device).unsqueeze(1)
    table = torch.where((torch.arange(0, steps, 1, dtype=torch.int64, device=device) < times).unsqueeze(2), table, never)
    last = table.gather(1, (times - 1).clamp(0).unsqueeze(2).expand([batch, 1, states])).squeeze(1)
    end = last.gather(1, 2 * lengths)
    before = torch.where(lengths > 0, last.gather(1, (2 * lengths - 1).clamp(0)), never)
    top = torch.maximum(end, before)
    safe = torch.where(top == -float("inf"), zero_of(top), top)
    found = ((end - safe).exp() + (before - safe).exp()).log() + safe
    # Without input only an empty target is certain.
    empty = torch.where(lengths == 0, zero_of(found), never)
    return -torch.where(times > 0, found, empty).squeeze(1), table


def sequence_loss_reduced(log_probs: Tensor, targets: Tensor, input_lengths: List[int], target_lengths: List[int], blank: int, reduction: int, zero_infinity: bool) -> Tensor:
    batched = log_probs.dim() == 3
    logs = log_probs if batched else log_probs.unsqueeze(1)
    wanted = targets if batched or targets.dim() == 1 else targets.unsqueeze(0)
    loss, alpha = sequence_loss(logs, wanted, input_lengths, target_lengths, blank)
    if zero_infinity:
        loss = torch.where(loss == float("inf"), zero_of(loss), loss)
    if reduction == 1:
        return (loss / integers([max(length, 1) for length in target_lengths], torch.int64, loss.device).to(loss.dtype)).mean()
    if reduction == 2:
        return loss.sum()
    return loss if batched else loss.squeeze(0)


def cross_entropy_of_rows(x: Tensor, target: Tensor, ignore_index: int) -> Tuple[Tensor, Tensor]:
    # The loss of every row, and the logarithm of the sum that its softmax divides by.
    top = x.amax([1], True)
    logsumexp = ((x - top).exp().sum([1], True).log() + top).squeeze(1)
    counted = target != ignore_index
    safe = torch.where(counted, target, zero_of(target))
    picked = x.gather(1, safe.unsqueeze(1)).squeeze(1)
    return torch.where(counted, logsumexp - picked, zero_of(picked)), logsumexp
