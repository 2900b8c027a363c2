#include "sconce/executor/device/device_attention.h"

#include "sconce/executor/device/device_copies.h"

namespace sconce::executor {
namespace {

bool is_same_memory(const Tape& tape, ValueId a, ValueId b) {
  const TapeValue &x = tape.values[a], &y = tape.values[b];
  return x.block == y.block && x.offset == y.offset && x.twin.numel() == y.twin.numel() && x.twin.is_contiguous() &&
         y.twin.is_contiguous();
}

}  // namespace

std::optional<DeviceAttention> attention_of(const Tape& tape, const TapeNode& scores, const loops::BuiltNest& rows,
                                            const TapeNode& product, const codegen::DeviceMaker& maker) {
  if (scores.uses.size() != 2 || product.uses.size() != 2 || rows.nest.stores.size() != 1 ||
      rows.nest.sizes.size() != 2)
    return std::nullopt;
  const ValueId q = scores.uses[0].value, k = scores.uses[1].value, v = product.uses[1].value;
  for (const ValueId each : {q, k, v}) {
    if (!(tape.values[each].device == tape.device)) return std::nullopt;
  }
  const Tensor &query = tape.twin(q), &key = tape.twin(k), &value = tape.twin(v), &made = tape.twin(product.results[0]);
  DeviceAttention found;
  codegen::AttentionNest& n = found.nest;
  n.dtype = query.dtype();
  n.batches = query.size(0);
  n.keys = key.size(2);
  n.depth = query.size(2);
  n.size = value.size(2);
  if (query.size(1) != 1 || (query.stride(2) != 1 && n.depth != 1) || key.stride(1) != 1 || value.stride(2) != 1 ||
      !made.is_contiguous() || n.depth == 0)
    return std::nullopt;
  for (const Tensor* t : {&key, &value, &made}) {
    if (t->dtype() != n.dtype) return std::nullopt;
  }
  n.query_batch = n.batches == 1 ? n.depth : query.stride(0);
  n.key_batch = n.batches == 1 ? n.keys * n.depth : key.stride(0);
  n.key_row = key.stride(2);
  n.value_batch = n.batches == 1 ? n.keys * n.size : value.stride(0);
  n.value_row = value.stride(1);
  n.rows = rows.nest;
  const size_t written = rows.nest.stores[0].buffer;
  if (n.rows.sizes[0] != n.batches || n.rows.sizes[1] != n.keys || n.rows.buffers[written].dtype != n.dtype ||
      !is_same_memory(tape, static_cast<ValueId>(rows.values[written]), product.uses[0].value))
    return std::nullopt;
  found.values = {q, k};
  size_t readers = 0;
  for (size_t i = 0; i < rows.values.size(); ++i) {
    if (i == written) continue;
    const auto read = static_cast<ValueId>(rows.values[i]);
    if (is_same_memory(tape, read, scores.results[0])) {
      n.scores = i;
      ++readers;
    } else if (tape.block_of(read) == tape.block_of(scores.results[0])) {
      return std::nullopt;
    } else {
      found.values.push_back(read);
    }
  }
  const loops::Buffer &from = n.rows.buffers[n.scores], &to = n.rows.buffers[written];
  if (readers != 1 || from.dtype != n.dtype || from.strides[0] != n.keys || from.strides[1] != 1 ||
      to.strides[0] != n.keys || to.strides[1] != 1 || !maker.is_attention(n))
    return std::nullopt;
  found.values.push_back(v);
  found.values.push_back(product.results[0]);
  return found;
}

std::optional<DeviceAttention> with_cache(const Tape& tape, const DeviceAttention& attention, const TapeNode& of_key,
                                          const TapeNode& of_value, const codegen::DeviceMaker& maker) {
  DeviceAttention found = attention;
  codegen::AttentionNest& n = found.nest;
  if (n.key_row != n.depth || n.key_batch != n.keys * n.depth || n.value_row != n.size ||
      n.value_batch != n.keys * n.size)
    return std::nullopt;
  const size_t at_value = found.values.size() - 2;
  for (const TapeNode* cat : {&of_key, &of_value}) {
    const bool keys = cat == &of_key;
    const TapeValue &whole = tape.values[cat->results[0]], &used = tape.values[found.values[keys ? 1 : at_value]];
    const Tensor& made = whole.twin;
    const int64_t given = cat->args[1].to_int(), dim = given < 0 ? given + made.dim() : given;
    if (pieces_of(tape, *cat).empty() || cat->uses.size() != 2 || made.dim() < 2 || dim != made.dim() - 2 ||
        whole.block != used.block || whole.offset != used.offset || made.numel() != used.twin.numel() ||
        made.size(-1) != (keys ? n.depth : n.size) || made.size(-2) != n.keys)
      return std::nullopt;
    const int64_t first = tape.twin(cat->uses[0].value).size(dim);
    if (first == 0 || first == n.keys || (n.first != 0 && n.first != first)) return std::nullopt;
    n.first = first;
    for (const TensorUse& use : cat->uses) found.values.push_back(use.value);
  }
  if (!maker.is_attention(n)) return std::nullopt;
  return found;
}

}  // namespace sconce::executor
