#include "sconce/kernels/cpu/advanced_index.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/views.h"
#include "sconce/kernels/cpu/accumulate.h"
#include "sconce/kernels/cpu/nonzero.h"
#include "sconce/kernels/pointwise.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

constexpr int64_t kParallelElements = 1 << 14;

std::string shapes_text(const std::vector<Tensor>& tensors) {
  std::string text;
  for (const Tensor& t : tensors) {
    if (!t.defined()) continue;
    if (!text.empty()) text += ", ";
    text += format_message("{}", {ErrorArg(t.sizes())});
  }
  return text;
}

// Masks replaced by index tensors.
std::vector<Tensor> without_masks(const Tensor& self, TensorList indices) {
  std::vector<Tensor> out;
  for (const Tensor& index : indices) {
    if (!index.defined()) {
      out.emplace_back();
      continue;
    }
    if (index.dtype() != DType::bool_ && index.dtype() != DType::uint8) {
      SCONCE_CHECK_AS(index, index.dtype() == DType::int64 || index.dtype() == DType::int32,
                      "tensors used as indices must be long, int, byte or bool tensors, got {}", dtype_name(index.dtype()));
      out.push_back(index);
      continue;
    }
    for (int64_t j = 0; j < index.dim(); ++j) {
      const auto d = static_cast<int64_t>(out.size()) + j;
      SCONCE_CHECK_AS(index, d < self.dim() && index.sizes()[j] == self.sizes()[d],
                      "The shape of the mask {} at index {} does not match the shape of the indexed tensor {} at index {}",
                      index.sizes(), j, self.sizes(), d);
    }
    const Tensor positions = nonzero_positions(index);
    for (int64_t j = 0; j < index.dim(); ++j) out.push_back(any_device::select_int(positions, 1, j));
  }
  return out;
}

// Offsets in bytes of every position of an n-dimensional geometry, row-major.
std::vector<int64_t> offsets_of(IntList sizes, IntList strides, int64_t item) {
  int64_t count = 1;
  for (int64_t s : sizes) count *= s;
  std::vector<int64_t> out(static_cast<size_t>(count));
  if (count == 0) return out;
  out[0] = 0;
  int64_t filled = 1;  // innermost dimensions done so far
  for (size_t d = sizes.size(); d-- > 0;) {
    const int64_t step = strides[d] * item;
    for (int64_t i = 1; i < sizes[d]; ++i) {
      for (int64_t k = 0; k < filled; ++k) out[i * filled + k] = out[k] + i * step;
    }
    filled *= sizes[d];
  }
  return out;
}

// Offsets in bytes into self for every position of the index tensors; checks bounds.
std::vector<int64_t> index_offsets(const AdvancedIndex& plan) {
  int64_t count = 1;
  for (int64_t s : plan.shape) count *= s;
  std::vector<int64_t> out(static_cast<size_t>(count), 0);
  const auto item = static_cast<int64_t>(plan.self.item_size());
  for (size_t k = 0; k < plan.indices.size(); ++k) {
    const int64_t d = plan.first + static_cast<int64_t>(k);
    const int64_t size = plan.self.sizes()[d], step = plan.self.strides()[d] * item;
    const Tensor index = contiguous_tensor(plan.indices[k]);
    const auto* values = index.data<int64_t>();
    for (int64_t i = 0; i < count; ++i) {
      int64_t v = values[i];
      SCONCE_CHECK_AS(index, -size <= v && v < size, "index {} is out of bounds for dimension {} with size {}", v, d, size);
      if (v < 0) v += size;
      out[i] += v * step;
    }
  }
  return out;
}

// The three groups of positions over which an indexed tensor and its dense counterpart are walked: the dimensions in
// front, the index positions, the dimensions behind. The innermost dimensions behind that are dense on both sides are
// one run.
struct Walk {
  std::vector<int64_t> self_before, self_index, self_after;
  std::vector<int64_t> other_before, other_index, other_after;
  int64_t run = 1;  // elements

  Walk(const AdvancedIndex& plan, const Tensor& other) {
    const Tensor& self = plan.self;
    const auto item = static_cast<int64_t>(self.item_size());
    const auto first = static_cast<size_t>(plan.first), shaped = plan.shape.size();
    const size_t behind = first + plan.indices.size();  // first dimension of self behind the indexed ones
    self_before = offsets_of(self.sizes().slice(0, first), self.strides().slice(0, first), item);
    self_index = index_offsets(plan);
    other_before = offsets_of(other.sizes().slice(0, first), other.strides().slice(0, first), item);
    other_index = offsets_of(other.sizes().slice(first, shaped), other.strides().slice(first, shaped), item);
    size_t left = self.sizes().size() - behind;
    while (left > 0) {
      const size_t s = behind + left - 1, o = first + shaped + left - 1;
      if (self.sizes()[s] != 1 && (self.strides()[s] != run || other.strides()[o] != run)) break;
      run *= self.sizes()[s];
      --left;
    }
    self_after = offsets_of(self.sizes().slice(behind, left), self.strides().slice(behind, left), item);
    other_after = offsets_of(other.sizes().slice(first + shaped, left), other.strides().slice(first + shaped, left), item);
  }

  int64_t blocks() const { return static_cast<int64_t>(self_before.size() * self_index.size()); }

  // body(self offset, other offset, runs) for blocks [begin, end).
  template <class Body>
  void each(int64_t begin, int64_t end, const Body& body) const {
    const auto per_row = static_cast<int64_t>(self_index.size());
    if (begin >= end) return;
    int64_t b = begin / per_row, m = begin % per_row;
    for (int64_t i = begin; i < end; ++i) {
      body(self_before[b] + self_index[m], other_before[b] + other_index[m]);
      if (++m == per_row) m = 0, ++b;
    }
  }
};

template <class T>
void copy_blocks(const Walk& walk, const char* from, char* to, bool from_self, int64_t begin, int64_t end) {
  const bool single = walk.run == 1 && walk.self_after.size() == 1;
  const auto bytes = static_cast<size_t>(walk.run) * sizeof(T);
  walk.each(begin, end, [&](int64_t self_offset, int64_t other_offset) {
    const char* source = from + (from_self ? self_offset : other_offset);
    char* target = to + (from_self ? other_offset : self_offset);
    if (single) {
      *reinterpret_cast<T*>(target) = *reinterpret_cast<const T*>(source);
      return;
    }
    const std::vector<int64_t>& source_after = from_self ? walk.self_after : walk.other_after;
    const std::vector<int64_t>& target_after = from_self ? walk.other_after : walk.self_after;
    for (size_t k = 0; k < source_after.size(); ++k) {
      if (walk.run == 1)
        *reinterpret_cast<T*>(target + target_after[k]) = *reinterpret_cast<const T*>(source + source_after[k]);
      else
        std::memcpy(target + target_after[k], source + source_after[k], bytes);
    }
  });
}

}  // namespace

AdvancedIndex plan_index(const Tensor& self, TensorList given) {
  std::vector<Tensor> indices = without_masks(self, given);
  SCONCE_CHECK_AS(index, static_cast<int64_t>(indices.size()) <= self.dim(),
                  "too many indices for tensor of dimension {} (got {})", self.dim(), indices.size());
  indices.resize(static_cast<size_t>(self.dim()));

  AdvancedIndex plan;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    const size_t rank = std::max(plan.shape.size(), index.sizes().size());
    Dims merged(rank, 1);
    for (size_t i = 0; i < rank; ++i) {
      const int64_t a = i < plan.shape.size() ? plan.shape[plan.shape.size() - 1 - i] : 1;
      const int64_t b = i < index.sizes().size() ? index.sizes()[index.sizes().size() - 1 - i] : 1;
      SCONCE_CHECK_AS(index, a == b || a == 1 || b == 1,
                      "shape mismatch: indexing tensors could not be broadcast together with shapes {}", shapes_text(indices));
      merged[rank - 1 - i] = a == 1 ? b : a;
    }
    plan.shape = merged;
  }

  // Where the indices stand side by side they stay, otherwise they go in front.
  Dims order;
  int64_t first = -1, last = -1, count = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!indices[d].defined()) continue;
    if (first < 0) first = d;
    last = d;
    ++count;
  }
  const bool adjacent = count == 0 || last - first + 1 == count;
  plan.first = count == 0 ? self.dim() : adjacent ? first : 0;
  if (adjacent) {
    plan.self = self;
  } else {
    for (const bool indexed : {true, false}) {
      for (int64_t d = 0; d < self.dim(); ++d) {
        if (indices[d].defined() == indexed) order.push_back(d);
      }
    }
    plan.self = any_device::permute(self, order);
  }
  bool empty_dim = false;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    const Tensor wide = to_dtype(index, DType::int64);
    plan.indices.push_back(any_device::expand(wide, plan.shape, false));
  }
  for (size_t k = 0; k < plan.indices.size(); ++k) empty_dim |= plan.self.sizes()[plan.first + static_cast<int64_t>(k)] == 0;
  if (empty_dim) {
    bool none = false;
    for (int64_t s : plan.shape) none |= s == 0;
    SCONCE_CHECK_AS(index, none, "index is out of bounds for dimension with size 0: self is {}", self.sizes());
  }

  // Sizes of the result, and the strides of everything that takes part, as a pointwise operator would see them.
  const auto rank = static_cast<size_t>(self.dim());
  const auto before = static_cast<size_t>(plan.first);
  const size_t after = rank - before - plan.indices.size();
  plan.result_sizes = plan.self.sizes().slice(0, before);
  plan.result_sizes.append(plan.shape);
  plan.result_sizes.append(plan.self.sizes().slice(rank - after, after));
  std::vector<Dims> operands;
  Dims strides(plan.self.strides().slice(0, before));
  strides.resize(before + plan.shape.size(), 0);
  strides.append(plan.self.strides().slice(rank - after, after));
  operands.push_back(strides);
  for (const Tensor& index : plan.indices) {
    Dims s(before, 0);
    s.append(index.strides());
    s.resize(plan.result_sizes.size(), 0);
    operands.push_back(s);
  }
  plan.result_strides = ordered_strides(plan.result_sizes, operands.data(), static_cast<int>(operands.size()));
  return plan;
}

void gather_index(const AdvancedIndex& plan, const Tensor& result) {
  if (result.numel() == 0) {
    index_offsets(plan);
    return;
  }
  const Walk walk(plan, result);
  const int64_t per_block = walk.run * static_cast<int64_t>(walk.self_after.size());
  const auto* from = plan.self.data<char>();
  auto* to = result.data<char>();
  visit_item_size(result.dtype(), [&]<class T>() {
    parallel_for(walk.blocks(), std::max<int64_t>(1, kParallelElements / per_block),
                 [&](int64_t begin, int64_t end) { copy_blocks<T>(walk, from, to, true, begin, end); });
  });
}

void put_index(const AdvancedIndex& plan, const Tensor& values, bool accumulate) {
  if (values.numel() == 0) {
    index_offsets(plan);
    return;
  }
  const Walk walk(plan, values);
  auto* to = plan.self.data<char>();
  const auto* from = values.data<char>();
  if (!accumulate) {
    visit_item_size(values.dtype(), [&]<class T>() { copy_blocks<T>(walk, from, to, false, 0, walk.blocks()); });
    return;
  }
  visit_dtype(values.dtype(), [&]<class T>() {
    walk.each(0, walk.blocks(), [&](int64_t self_offset, int64_t other_offset) {
      for (size_t k = 0; k < walk.self_after.size(); ++k) {
        auto* target = reinterpret_cast<T*>(to + self_offset + walk.self_after[k]);
        const auto* source = reinterpret_cast<const T*>(from + other_offset + walk.other_after[k]);
        for (int64_t i = 0; i < walk.run; ++i) target[i] = add_elements(target[i], source[i]);
      }
    });
  });
}

}  // namespace sconce
