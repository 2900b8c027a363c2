#include "sconce/kernels/cpu/index/advanced_index.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "sconce/base/error.h"
#include "sconce/base/parallel.h"
#include "sconce/base/variants/variants.h"
#include "sconce/dispatch/glue.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/cpu/engine/accumulate.h"
#include "sconce/kernels/cpu/index/nonzero.h"
#include "sconce/kernels/pointwise.h"
#include "sconce/tensor/element.h"
#include "sconce/tensor/strides.h"

namespace sconce {
namespace {

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
                      "tensors used as indices must be long, int, byte or bool tensors, got {}",
                      dtype_name(index.dtype()));
      out.push_back(index);
      continue;
    }
    for (int64_t j = 0; j < index.dim(); ++j) {
      const auto d = static_cast<int64_t>(out.size()) + j;
      SCONCE_CHECK_AS(
          index, d < self.dim() && index.sizes()[j] == self.sizes()[d],
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

SCONCE_VARIANT(even_positions, "index.even_positions", "the other tensor's index positions are evenly spaced");
SCONCE_VARIANT(single_elements, "index.elements", "one element a position");
SCONCE_VARIANT(rows_of_elements, "index.rows", "adjacent elements behind the indexed dims, copied together");
SCONCE_VARIANT(several_chunks, "index.chunks", "more than 512 positions");

constexpr int64_t kChunk = 512;  // index positions whose offsets are computed at a time

// The three groups of positions over which an indexed tensor and its dense counterpart are walked: the dimensions in
// front, the index positions, the dimensions behind. The innermost dimensions behind that are dense on both sides
// are one run.
class Walk {
 public:
  std::vector<int64_t> self_after, other_after;  // offsets in bytes
  int64_t run = 1;                               // elements

  Walk(const AdvancedIndex& plan, const Tensor& other) : item_(static_cast<int64_t>(plan.self.item_size())) {
    const Tensor& self = plan.self;
    const auto first = static_cast<size_t>(plan.first), shaped = plan.shape.size();
    const size_t behind = first + plan.indices.size();  // first dimension of self behind the indexed ones
    self_before_ = offsets_of(self.sizes().slice(0, first), self.strides().slice(0, first), item_);
    other_before_ = offsets_of(other.sizes().slice(0, first), other.strides().slice(0, first), item_);
    for (size_t k = 0; k < plan.indices.size(); ++k) {
      indices_.push_back(contiguous_tensor(plan.indices[k]));
      dims_.push_back({self.sizes()[first + k], self.strides()[first + k] * item_, static_cast<int64_t>(first + k)});
    }
    for (int64_t size : plan.shape) positions_ *= size;
    const IntList sizes = other.sizes().slice(first, shaped), strides = other.strides().slice(first, shaped);
    several_chunks(positions_ > kChunk);
    if (const std::optional<Dims> flat = view_strides(sizes, strides, {positions_}); even_positions(flat.has_value()))
      other_step_ = (*flat)[0] * item_;
    else
      other_index_ = offsets_of(sizes, strides, item_);
    size_t left = self.sizes().size() - behind;
    while (left > 0) {
      const size_t s = behind + left - 1, o = first + shaped + left - 1;
      if (self.sizes()[s] != 1 && (self.strides()[s] != run || other.strides()[o] != run)) break;
      run *= self.sizes()[s];
      --left;
    }
    self_after = offsets_of(self.sizes().slice(behind, left), self.strides().slice(behind, left), item_);
    other_after =
        offsets_of(other.sizes().slice(first + shaped, left), other.strides().slice(first + shaped, left), item_);
  }

  int64_t positions() const { return positions_; }
  int64_t elements_per_position() const {
    return run * static_cast<int64_t>(self_after.size()) * static_cast<int64_t>(self_before_.size());
  }
  bool single() const { return run == 1 && self_after.size() == 1; }

  // body(self offsets, other offsets, n, self base, other base) for chunks of the positions [begin, end).
  template <class Body>
  void each(int64_t begin, int64_t end, const Body& body) const {
    int64_t self_offsets[kChunk], other_offsets[kChunk];
    for (int64_t at = begin; at < end; at += kChunk) {
      const int64_t n = std::min(kChunk, end - at);
      offsets(at, n, self_offsets);
      for (int64_t i = 0; i < n; ++i)
        other_offsets[i] = other_index_.empty() ? (at + i) * other_step_ : other_index_[at + i];
      for (size_t b = 0; b < self_before_.size(); ++b)
        body(self_offsets, other_offsets, n, self_before_[b], other_before_[b]);
    }
  }

 private:
  struct IndexedDim {
    int64_t size, step, dim;
  };

  // Offsets in bytes into self for index positions [at, at + n); checks bounds.
  void offsets(int64_t at, int64_t n, int64_t* out) const {
    std::fill(out, out + n, 0);
    for (size_t k = 0; k < indices_.size(); ++k) {
      const IndexedDim& d = dims_[k];
      const int64_t* values = indices_[k].data<int64_t>() + at;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t v = values[i];
        SCONCE_CHECK_AS(index, -d.size <= v && v < d.size, "index {} is out of bounds for dimension {} with size {}", v,
                        d.dim, d.size);
        out[i] += (v < 0 ? v + d.size : v) * d.step;
      }
    }
  }

  int64_t item_, positions_ = 1, other_step_ = 0;
  std::vector<int64_t> self_before_, other_before_, other_index_;
  std::vector<Tensor> indices_;
  std::vector<IndexedDim> dims_;
};

// Moves the elements that the positions [begin, end) name, from self or to it.
template <class T, bool kFromSelf>
void copy_positions(const Walk& walk, const char* from, char* to, int64_t begin, int64_t end) {
  const auto bytes = static_cast<size_t>(walk.run) * sizeof(T);
  const std::vector<int64_t>& source_after = kFromSelf ? walk.self_after : walk.other_after;
  const std::vector<int64_t>& target_after = kFromSelf ? walk.other_after : walk.self_after;
  walk.each(
      begin, end,
      [&](const int64_t* self_offsets, const int64_t* other_offsets, int64_t n, int64_t self_base, int64_t other_base) {
        const char* source = from + (kFromSelf ? self_base : other_base);
        char* target = to + (kFromSelf ? other_base : self_base);
        const int64_t* source_offsets = kFromSelf ? self_offsets : other_offsets;
        const int64_t* target_offsets = kFromSelf ? other_offsets : self_offsets;
        if (single_elements(walk.single())) {
          for (int64_t i = 0; i < n; ++i)
            *reinterpret_cast<T*>(target + target_offsets[i]) = *reinterpret_cast<const T*>(source + source_offsets[i]);
          return;
        }
        for (int64_t i = 0; i < n; ++i) {
          for (size_t k = 0; k < source_after.size(); ++k) {
            char* t = target + target_offsets[i] + target_after[k];
            const char* s = source + source_offsets[i] + source_after[k];
            if (!rows_of_elements(walk.run != 1))
              *reinterpret_cast<T*>(t) = *reinterpret_cast<const T*>(s);
            else
              std::memcpy(t, s, bytes);
          }
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
                      "shape mismatch: indexing tensors could not be broadcast together with shapes {}",
                      shapes_text(indices));
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
  for (size_t k = 0; k < plan.indices.size(); ++k)
    empty_dim |= plan.self.sizes()[plan.first + static_cast<int64_t>(k)] == 0;
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
  const Walk walk(plan, result);
  const auto* from = plan.self.data<char>();
  auto* to = result.data<char>();
  visit_item_size(result.dtype(), [&]<class T>() {
    parallel_for(walk.positions(), grain_for(2 * walk.elements_per_position()),
                 [&](int64_t begin, int64_t end) { copy_positions<T, true>(walk, from, to, begin, end); });
  });
}

void put_index(const AdvancedIndex& plan, const Tensor& values, bool accumulate) {
  const Walk walk(plan, values);
  auto* to = plan.self.data<char>();
  const auto* from = values.data<char>();
  if (!accumulate) {
    visit_item_size(values.dtype(), [&]<class T>() { copy_positions<T, false>(walk, from, to, 0, walk.positions()); });
    return;
  }
  const auto add = [&]<class T>() {
    walk.each(0, walk.positions(),
              [&](const int64_t* self_offsets, const int64_t* other_offsets, int64_t n, int64_t self_base,
                  int64_t other_base) {
                for (int64_t i = 0; i < n; ++i) {
                  for (size_t k = 0; k < walk.self_after.size(); ++k) {
                    auto* target = reinterpret_cast<T*>(to + self_base + self_offsets[i] + walk.self_after[k]);
                    const auto* source =
                        reinterpret_cast<const T*>(from + other_base + other_offsets[i] + walk.other_after[k]);
                    for (int64_t j = 0; j < walk.run; ++j) target[j] = add_elements(target[j], source[j]);
                  }
                }
              });
  };
  if (values.dtype() == DType::float8_e4m3fn) return add.operator()<Float8E4M3FN>();
  if (values.dtype() == DType::float8_e5m2) return add.operator()<Float8E5M2>();
  visit_dtype(values.dtype(), add);
}

}  // namespace sconce
