#include "sconce/tensor/strides.h"

#include <algorithm>

#include "sconce/base/error.h"

namespace sconce {

int64_t checked_numel(IntList sizes) {
  int64_t numel = 1;
  bool overflow = false;
  bool zero = false;
  for (int64_t size : sizes) {
    SCONCE_CHECK(size >= 0, "sizes must not be negative, got {}", sizes);
    if (size == 0) zero = true;
    overflow |= __builtin_mul_overflow(numel, size, &numel);
  }
  if (zero) return 0;
  SCONCE_CHECK(!overflow, "the number of elements of {} does not fit into 64 bits", sizes);
  return numel;
}

Dims dense_strides_in_order(IntList sizes, IntList order) {
  Dims strides(sizes.size());
  int64_t step = 1;
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t d = order[i];
    strides[d] = step;
    if (i + 1 == order.size()) break;  // the outermost size is in no stride
    SCONCE_CHECK(!__builtin_mul_overflow(step, std::max<int64_t>(sizes[d], 1), &step),
                 "the strides of {} do not fit into 64 bits", sizes);
  }
  return strides;
}

Dims dense_strides(IntList sizes, MemoryFormat format) {
  const auto rank = static_cast<int64_t>(sizes.size());
  Dims order;
  if (format == MemoryFormat::channels_last || format == MemoryFormat::channels_last_3d) {
    const int64_t wanted = format == MemoryFormat::channels_last ? 4 : 5;
    SCONCE_CHECK(rank == wanted, "memory format {} needs a tensor of rank {}, got sizes {}", memory_format_name(format),
                 wanted, sizes);
    order.push_back(1);
    for (int64_t d = rank - 1; d >= 2; --d) order.push_back(d);
    order.push_back(0);
    // Unlike row-major strides, these become 0 behind a size of 0, as in PyTorch.
    Dims strides(sizes.size());
    int64_t step = 1;
    for (int64_t d : order) {
      strides[d] = step;
      SCONCE_CHECK(d == 0 || !__builtin_mul_overflow(step, sizes[d], &step),
                   "the strides of {} do not fit into 64 bits", sizes);
    }
    return strides;
  }
  for (int64_t d = rank - 1; d >= 0; --d) order.push_back(d);
  return dense_strides_in_order(sizes, order);
}

namespace {

// Do the dimensions, innermost first, follow each other without gaps? Sizes of 1 may have any stride.
bool follows(IntList sizes, IntList strides, IntList order) {
  int64_t step = 1;
  for (int64_t d : order) {
    if (sizes[d] == 1) continue;
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

bool row_major(IntList sizes, IntList strides) {
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0;) {
    if (sizes[d] == 1) continue;
    if (strides[d] != step) return false;
    step *= sizes[d];
  }
  return true;
}

// Channels innermost, batch outermost, and strides that do not shrink in between; told apart from row-major where sizes
// of 1 make both true.
bool channels_last_order(IntList sizes, IntList strides, IntList order) {
  if (strides[1] == 0) return false;
  int64_t least = 0;
  for (int64_t d : order) {
    if (sizes[d] == 0 || strides[d] < least) return false;
    if (d == 0 && least == strides[1]) return false;
    least = strides[d];
    if (sizes[d] > 1) least *= sizes[d];
  }
  return true;
}

constexpr int64_t kOrder4[] = {1, 3, 2, 0};
constexpr int64_t kOrder5[] = {1, 4, 3, 2, 0};

// Sizes are not 0, and those of 1 do not matter: at each step at most one dimension can be the next.
bool dense_in_some_order(IntList sizes, IntList strides) {
  size_t left = 0;
  for (int64_t size : sizes) left += size != 1;
  for (int64_t step = 1; left > 0; --left) {
    size_t d = 0;
    while (d < sizes.size() && (sizes[d] == 1 || strides[d] != step)) ++d;
    if (d == sizes.size()) return false;
    step *= sizes[d];
  }
  return true;
}

}  // namespace

bool is_channels_last(IntList sizes, IntList strides) {
  return sizes.size() == 4 && channels_last_order(sizes, strides, IntList(kOrder4, 4));
}

bool is_channels_last_3d(IntList sizes, IntList strides) {
  return sizes.size() == 5 && channels_last_order(sizes, strides, IntList(kOrder5, 5));
}

StrideFacts stride_facts(IntList sizes, IntList strides) {
  bool empty = false;
  for (int64_t s : sizes) empty |= s == 0;
  StrideFacts facts{};
  facts.contiguous = empty || row_major(sizes, strides);
  facts.channels_last = sizes.size() == 4 && follows(sizes, strides, IntList(kOrder4, 4));
  facts.channels_last_3d = sizes.size() == 5 && follows(sizes, strides, IntList(kOrder5, 5));
  facts.dense =
      facts.contiguous || facts.channels_last || facts.channels_last_3d || dense_in_some_order(sizes, strides);
  return facts;
}

Dims memory_order(IntList sizes, IntList strides) {
  // Insertion sort, because pairs that cannot be told apart make the comparison no total order.
  const auto rank = static_cast<int64_t>(sizes.size());
  Dims order;
  for (int64_t d = rank - 1; d >= 0; --d) order.push_back(d);
  const auto compare = [&](int64_t a, int64_t b) {  // 1: a belongs outside b, -1: inside, 0: cannot tell
    if (strides[a] == 0 || strides[b] == 0) return 0;
    if (strides[a] != strides[b]) return strides[a] < strides[b] ? -1 : 1;
    return sizes[a] > sizes[b] ? 1 : 0;
  };
  for (int64_t i = 1; i < rank; ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int c = compare(order[j], order[at]);
      if (c > 0) {
        std::swap(order[j], order[at]);
        at = j;
      } else if (c < 0) {
        break;
      }
    }
  }
  return order;
}

Dims preserved_strides(IntList sizes, IntList strides) {
  if (stride_facts(sizes, strides).dense) return strides;
  return dense_strides_in_order(sizes, memory_order(sizes, strides));
}

Dims broadcast_sizes(IntList a, IntList b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims out(rank);
  for (size_t i = 0; i < rank; ++i) {  // from the right
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    SCONCE_CHECK(
        x == y || x == 1 || y == 1,
        "the size of one tensor ({}) must match the size of the other ({}) at dimension {}: shapes {} and {} do not "
        "broadcast",
        x, y, rank - 1 - i, a, b);
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Dims expanded_strides(IntList sizes, IntList strides, IntList target) {
  SCONCE_CHECK(target.size() >= sizes.size(), "cannot expand {} to {}: fewer dimensions", sizes, target);
  const size_t lead = target.size() - sizes.size();
  Dims out(target.size(), 0);
  for (size_t i = target.size(); i-- > 0;) {
    const int64_t size = i < lead ? 1 : sizes[i - lead];
    SCONCE_CHECK(size == 1 || size == target[i],
                 "the expanded size ({}) must match the existing size ({}) at dimension {}: {} does not expand to {}",
                 target[i], size, i, sizes, target);
    if (size != target[i] || sizes.empty()) continue;  // repeats
    // A new dimension of size 1 gets the stride that a contiguous tensor would have there.
    out[i] = i >= lead ? strides[i - lead] : target[i + 1] * out[i + 1];
  }
  return out;
}

int64_t wrap_dim(int64_t dim, int64_t rank) {
  const int64_t n = std::max<int64_t>(rank, 1);
  SCONCE_CHECK_AS(index, -n <= dim && dim < n,
                  "Dimension out of range (expected to be in range of [{}, {}], but got {})", -n, n - 1, dim);
  return dim < 0 ? dim + n : dim;
}

Dims infer_size(IntList sizes, int64_t numel) {
  Dims out(sizes);
  int64_t known = 1;
  std::optional<size_t> open;
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == -1) {
      SCONCE_CHECK(!open, "only one dimension can be inferred, got {}", sizes);
      open = i;
    } else {
      SCONCE_CHECK(out[i] >= 0, "invalid shape dimension {} in {}", out[i], sizes);
      SCONCE_CHECK(!__builtin_mul_overflow(known, out[i], &known),
                   "the number of elements of {} does not fit into 64 bits", sizes);
    }
  }
  if (!open) {
    SCONCE_CHECK(known == numel, "shape '{}' is invalid for input of size {}", sizes, numel);
    return out;
  }
  SCONCE_CHECK(
      known != 0 || numel != 0,
      "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any value",
      sizes);
  SCONCE_CHECK(known != 0 && numel % known == 0, "shape '{}' is invalid for input of size {}", sizes, numel);
  out[*open] = numel / known;
  return out;
}

std::optional<Dims> view_strides(IntList old_sizes, IntList old_strides, IntList sizes) {
  Dims out(sizes.size(), 0);
  if (std::find(old_sizes.begin(), old_sizes.end(), 0) != old_sizes.end()) {
    return old_sizes == sizes ? Dims(old_strides) : dense_strides(sizes);
  }
  if (old_sizes.empty()) {
    for (auto& s : out) s = 1;
    return out;
  }
  // Walk both from the inside: a run of old dimensions that follow each other without gaps may be cut anew.
  auto view_d = static_cast<int64_t>(sizes.size()) - 1;
  int64_t run_stride = old_strides.back();
  int64_t run_numel = 1, view_numel = 1;
  for (auto d = static_cast<int64_t>(old_sizes.size()) - 1; d >= 0; --d) {
    run_numel *= old_sizes[d];
    const bool run_ends = d == 0 || (old_sizes[d - 1] != 1 && old_strides[d - 1] != run_numel * run_stride);
    if (!run_ends) continue;
    while (view_d >= 0 && (view_numel < run_numel || sizes[view_d] == 1)) {
      out[view_d] = view_numel * run_stride;
      view_numel *= sizes[view_d];
      --view_d;
    }
    if (view_numel != run_numel) return std::nullopt;
    if (d > 0) {
      run_stride = old_strides[d - 1];
      run_numel = view_numel = 1;
    }
  }
  if (view_d != -1) return std::nullopt;
  return out;
}

}  // namespace sconce
