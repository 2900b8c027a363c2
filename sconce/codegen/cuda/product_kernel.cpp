#include "sconce/codegen/cuda/product_kernel.h"

#include <algorithm>
#include <bit>
#include <mutex>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/codegen/cuda/compiled_text.h"
#include "sconce/codegen/cuda/nest_kernel.h"
#include "sconce/codegen/cuda/nest_text.h"
#include "sconce/kernels/cuda/device/graphs.h"
#include "sconce/kernels/cuda/matmul/narrow_product.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

#include "sconce/kernels/cuda/matmul/text/narrow_product_arguments.cuh"

#include "sconce/codegen/cuda/text/nest_arguments.cuh"
#include "sconce/codegen/cuda/text/product_nest_arguments.cuh"

using codegen::ProductNest;
using loops::LoopCall;

static_assert(sizeof(HeadedProductArguments) <= 4096 && sizeof(ChainArguments) <= 4096);

constexpr int kChainThreads = 1024;
constexpr int64_t kMostChainPacks = 6;        // of a thread on their way at once
constexpr int64_t kMostLayerPacks = 4;        // of a thread in one layer
constexpr int64_t kMostChainElements = 2048;  // of a layer's result, all rows

size_t written_buffer(const ProductNest& p) { return p.tail.buffers.size() - 1; }

int width_of(const ProductNest& p) { return narrow_width(p.dtype, p.depth, p.x_row, p.w_column); }

std::vector<LoopCall> calls_of(std::span<const ProductNest> chain) {
  std::vector<LoopCall> all;
  for (const ProductNest& p : chain) all.insert(all.end(), p.head.calls.begin(), p.head.calls.end());
  for (const ProductNest& p : chain) all.insert(all.end(), p.tail.calls.begin(), p.tail.calls.end());
  return all;
}

// Blocks that make rows themselves are few, so that all run at once: each has the whole work of a row before it.
constexpr int64_t kMostHeadedBlocks = 264;
NarrowShare share_of_warps(const ProductNest& p, int width) {
  NarrowShare share = narrow_share(p.rows, p.columns, p.depth, width);
  share.columns = std::min(share.columns, 2);  // registers hold those and the next
  NarrowShare few = share;
  while (few.columns < 4 && few.blocks(p.columns) > kMostHeadedBlocks) few.columns *= 2;
  if (!p.head.calls.empty() && few.blocks(p.columns) <= kMostHeadedBlocks) return few;
  return share;
}

std::string shared_lines(std::span<const ProductNest> chain, int width, const NarrowShare& share) {
  return operator_texts(calls_of(chain)) + std::string(text_file("block")) +
         std::string(text_file("narrow_product_arguments")) + std::string(text_file("nest_arguments")) +
         std::string(text_file("product_nest_arguments")) +
         narrow_product_lines(chain[0].dtype, chain[0].rows, width, share) + std::string(text_file("narrow_product"));
}

// Which elements of the tail's buffers a lane reads, and the bias: asked for before the sums are there.
std::string tail_reads(const ProductNest& p) {
  std::string out =
      "  const i64 n = first + lane / ROWS;\n"
      "  const bool mine = lane < ROWS * COLUMNS && n < a.p.columns && depth_part() == 0;\n";
  if (p.has_bias) out += "  T bias{};\n  if (mine) bias = static_cast<const T*>(a.p.bias)[n];\n";
  for (size_t k = 1; k < written_buffer(p); ++k) {
    out += fmt::format(
        "  {0} e{1}{{}};\n"
        "  if (mine) e{1} = static_cast<const {0}*>(a.data[{1}])[row * a.stride[{1}][0] + n * a.stride[{1}][1]];\n",
        stored_type(p.tail.buffers[k].dtype), k);
  }
  return out;
}

// The statement that writes `out` from the product `x0`: the tail's body, or the product as it is. `operand(k)` is an
// element of buffer k.
template <class F>
std::string finish_text(const ProductNest& p, const std::string& body, const std::string& out, const F& operand) {
  if (p.tail.calls.empty()) return fmt::format("{} = x0;\n", out);
  std::string arguments = "x0, ";
  for (size_t k = 1; k < p.tail.buffers.size(); ++k) arguments += (k == written_buffer(p) ? out : operand(k)) + ", ";
  return fmt::format("{}({}a);\n", body, arguments);
}

// Whether registers hold what a warp reads.
bool is_held(const ProductNest& p, int width) {
  constexpr int64_t kAtOnce = 4;  // of the text
  return width > 1 && p.depth <= int64_t{32} * width * share_of_warps(p, width).split * kAtOnce;
}
// Constants are read before the kernels in front have ended.
bool is_read_early(const ProductNest& p, int width) { return p.has_constant && is_held(p, width); }
// Products of many columns have as many blocks as run at once, which read the next columns while they sum these.
constexpr int64_t kLoopedBlocks = 396, kMostBlocks = 1056;
bool is_looped(const ProductNest& p, int width) {
  return is_held(p, width) && share_of_warps(p, width).blocks(p.columns) > kMostBlocks;
}

struct ProductText {
  std::string source;
  std::vector<Number> numbers;
};

ProductText single_text(const ProductNest& p, int width) {
  NestNumbers numbers;
  ProductText text;
  const bool has_head = !p.head.calls.empty(), early = is_read_early(p, width), looped = is_looped(p, width);
  text.source = shared_lines({&p, 1}, width, share_of_warps(p, width));
  if (has_head) {
    const RowSchedule rows = schedule_rows(p.head, width > 1);
    text.source += row_function(p.head, rows, "head_row");
    text.source += fmt::format("#undef WIDTH\n#define WIDTH {}\n", width);
  }
  if (!p.tail.calls.empty()) text.source += body_function(p.tail, numbers, "body", "ProductNestArguments");
  const auto element = [&](size_t k) {
    return fmt::format("static_cast<{0}*>(a.data[{1}])[row * a.stride[{1}][0] + n * a.stride[{1}][1]]",
                       stored_type(p.tail.buffers[k].dtype), k);
  };
  const bool held = early || looped;
  const std::string take = held ? "  take_packs(packs, w, first_of_lane(), kDepth);\n" : "";
  // Where a block makes a row, registers hold that, too: no more than two blocks run on a processor at once.
  text.source += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(kWarps * 32, {}) product_nest(const __grid_constant__ {} whole) "
      "{{\n"
      "  const ProductNestArguments& a = whole{};\n"
      "  constexpr i64 kDepth = {}, kOfBlock = kWarps / SPLIT * COLUMNS;\n"
      "  i64 block = blockIdx.x, first = first_column(block);\n"
      "  const T* w[COLUMNS];\n"
      "  EACH_COLUMN w[c] = column_at(a.p, first + c);\n"
      "{}{}"
      "  DEPENDENT_START\n",
      has_head && !looped ? 2 : 3, has_head ? "HeadedProductArguments" : "ProductNestArguments",
      has_head ? ".product" : "", p.depth, held ? "  ColumnPacks packs;\n" : "",
      early ? take : "  request_columns(a.p, first);\n");
  text.source += "  const int lane = threadIdx.x % 32, row = lane % ROWS;\n";
  if (!looped) text.source += tail_reads(p);
  if (has_head) {
    text.source += fmt::format(
        "  __shared__ Pack<T, 16 / sizeof(T)> room[(ROWS * {0} * sizeof(T) + 15) / 16];\n"
        "  T* const x = reinterpret_cast<T*>(room);\n"
        "  const i64 x_row = {0};\n"
        "  if (threadIdx.x / 32 < ROWS) head_row(x + threadIdx.x / 32 * {0}, threadIdx.x / 32, whole.head);\n"
        "  __syncthreads();\n",
        p.depth);
  } else {
    text.source += "  const T* const x = static_cast<const T*>(a.p.x);\n  const i64 x_row = a.p.x_row;\n";
  }
  if (!early) text.source += take;
  text.source += "  A sum[COLUMNS][ROWS];\n";
  if (looped) {
    text.source += "  for (;;) {\n" + tail_reads(p) +
                   "  const i64 following = block + gridDim.x;\n"
                   "  const bool more = following * kOfBlock < a.p.columns;\n"
                   "  ColumnPacks next;\n"
                   "  if (more) {\n"
                   "    EACH_COLUMN w[c] = column_at(a.p, first_column(following) + c);\n"
                   "    take_packs(next, w, first_of_lane(), kDepth);\n"
                   "  }\n";
  }
  text.source += held ? "  EACH_COLUMN EACH_ROW sum[c][r] = 0;\n"
                        "  add_packs(sum, packs, x, x_row, first_of_lane(), kDepth);\n"
                        "  join_sums(sum);\n"
                      : "  narrow_sums(x, x_row, w, kDepth, sum);\n";
  text.source += fmt::format("  if (mine) {{\n    const T x0 = as<T>(sum_of_lane(sum){});\n    ",
                             p.has_bias ? " + as<A>(bias)" : "");
  text.source +=
      finish_text(p, "body", element(written_buffer(p)), [](size_t k) { return fmt::format("e{}", k); }) + "  }\n";
  if (looped) {
    text.source +=
        "  if (!more) break;\n"
        "  if (SPLIT > 1) __syncthreads();\n"
        "  packs = next;\n"
        "  block = following;\n"
        "  first = first_column(block);\n"
        "  }\n";
  }
  text.source += "}\n";
  text.numbers = std::move(numbers.all);
  return text;
}

// How the threads of a chain's block share a layer: `lanes` threads sum a column, in `rounds` turns, each of `parts`
// packs.
struct LayerShare {
  int lanes, rounds, parts;
  int packs() const { return rounds * parts; }
};
LayerShare share_of(const ProductNest& p, int width) {
  const int64_t packs = (p.depth + width - 1) / width;
  LayerShare s;
  s.lanes = static_cast<int>(std::clamp<uint64_t>(std::bit_ceil(static_cast<uint64_t>(packs)), 4, 32));
  s.parts = static_cast<int>((packs + s.lanes - 1) / s.lanes);
  s.rounds = static_cast<int>((p.columns * s.lanes + kChainThreads - 1) / kChainThreads);
  return s;
}

int chain_width(std::span<const ProductNest> chain) {
  int width = width_of(chain[0]);
  for (const ProductNest& p : chain) width = std::min(width, width_of(p));
  return width;
}

}  // namespace

bool is_product_chain(std::span<const ProductNest> chain) {
  const int width = chain_width(chain);
  if (width == 1) return false;
  size_t addresses = 1;
  for (size_t i = 0; i < chain.size(); ++i) {
    const ProductNest& p = chain[i];
    if (p.dtype != chain[0].dtype || p.rows != chain[0].rows || p.rows > kMostNarrowRows) return false;
    if (!p.head.calls.empty()) return false;
    if (i > 0 && p.depth != chain[i - 1].columns) return false;
    if (share_of(p, width).packs() > kMostLayerPacks) return false;
    if (p.rows * std::max(p.depth, p.columns) > kMostChainElements) return false;
    addresses += 1 + (p.has_bias ? 1 : 0) + p.tail.buffers.size();
  }
  return addresses <= std::size(ChainArguments().data);
}

// A warp makes each row, which then lies in shared memory: rows that eager's kernels hold in a warp, too.
bool is_product_head(const loops::Nest& rows, const ProductNest& product) {
  if (!has_rows(rows) || rows.sizes.size() != 2 || rows.sizes[0] != product.rows || rows.sizes[1] != product.depth ||
      rows.stores.size() != 1)
    return false;
  const loops::Buffer& made = rows.buffers[rows.stores[0].buffer];
  ProductNest both = product;
  both.head = rows;
  const int width = width_of(product);
  if (share_of_warps(both, width).blocks(product.columns) > kMostHeadedBlocks && !is_looped(both, width)) return false;
  const RowSchedule s = schedule_rows(rows, true);
  return made.dtype == product.dtype && s.threads == 32 && s.width > 1 && s.packed && width_of(product) > 1 &&
         made.strides[1] == 1 && (product.rows == 1 || made.strides[0] == product.x_row);
}

std::string product_nest_text(const ProductNest& product, bool packed) {
  return single_text(product, packed ? width_of(product) : 1).source;
}

std::string chain_text(std::span<const ProductNest> chain) {
  const int width = chain_width(chain);
  NestNumbers numbers;
  numbers.room = 0;  // all stand in the text
  std::string out = shared_lines(chain, width, {}) + std::string(text_file("chain"));
  int64_t widest = 0, most_packs = 1;
  for (size_t i = 0; i < chain.size(); ++i) {
    const ProductNest& p = chain[i];
    if (!p.tail.calls.empty()) out += body_function(p.tail, numbers, fmt::format("body{}", i), "ChainArguments");
    widest = std::max({widest, p.depth, p.columns});
    most_packs = std::max<int64_t>(most_packs, share_of(p, width).packs());
  }
  const auto ahead = static_cast<size_t>(kMostChainPacks / most_packs);
  // Addresses: what number each has.
  struct Numbers {
    size_t weight, bias, first;  // of buffer 1
  };
  std::vector<Numbers> at;
  size_t next = 1;
  for (size_t i = 0; i < chain.size(); ++i) {
    const ProductNest& p = chain[i];
    Numbers n{next, next + 1, next + 1 + (p.has_bias ? 1 : 0)};
    next = n.first + p.tail.buffers.size() - 2 + (i + 1 == chain.size() ? 1 : 0);
    at.push_back(n);
  }
  out += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__(kChainThreads) chain(const __grid_constant__ ChainArguments a) "
      "{{\n"
      "  DEPENDENT_START\n"
      "  __shared__ Pack<T, WIDTH> room[2][ROWS * {}];\n"
      "  T *const line0 = reinterpret_cast<T*>(room[0]), *const line1 = reinterpret_cast<T*>(room[1]);\n"
      "  const int t = threadIdx.x;\n",
      (widest + width - 1) / width);
  const auto request = [&](size_t i) {
    const ProductNest& p = chain[i];
    const LayerShare s = share_of(p, width);
    std::string text;
    for (int r = 0; r < s.rounds; ++r) {
      for (int part = 0; part < s.parts; ++part) {
        text += fmt::format(
            "  Pack<T, WIDTH> w{0}_{1}_{2};\n"
            "  take_weights(w{0}_{1}_{2}, a.data[{3}], {4}, t / {5} + {6}, {7}, (t % {5} + {8}) * WIDTH, {9});\n",
            i, r, part, at[i].weight, p.w_column, s.lanes, r * (kChainThreads / s.lanes), p.columns, part * s.lanes,
            p.depth);
      }
      if (p.has_bias) {
        text += fmt::format(
            "  T b{0}_{1}{{}};\n"
            "  if (t / {2} + {3} < {4}) b{0}_{1} = static_cast<const T*>(a.data[{5}])[t / {2} + {3}];\n",
            i, r, s.lanes, r * (kChainThreads / s.lanes), p.columns, at[i].bias);
      }
    }
    return text;
  };
  for (size_t i = 0; i < std::min(ahead, chain.size()); ++i) out += request(i);
  out += fmt::format(
      "  for (int i = t; i < ROWS * {0}; i += kChainThreads) line0[i] = static_cast<const T*>(a.data[0])[i / {0} * "
      "{1} + i "
      "% {0}];\n"
      "  __syncthreads();\n",
      chain[0].depth, chain[0].x_row);
  for (size_t i = 0; i < chain.size(); ++i) {
    const ProductNest& p = chain[i];
    const LayerShare s = share_of(p, width);
    const bool is_last = i + 1 == chain.size();
    if (i + ahead < chain.size()) out += request(i + ahead);
    for (int r = 0; r < s.rounds; ++r) {
      out += "  {\n    A sum[ROWS];\n    EACH_ROW sum[r] = 0;\n";
      for (int part = 0; part < s.parts; ++part) {
        out += fmt::format("    add_products(sum, line{}, {}, w{}_{}_{}, (t % {} + {}) * WIDTH, {});\n", i % 2, p.depth,
                           i, r, part, s.lanes, part * s.lanes, p.depth);
      }
      out += fmt::format("    EACH_ROW sum[r] = sum_lanes<{}>(sum[r]);\n", s.lanes);
      out += fmt::format("    const int n = t / {0} + {1}, row = t % {0};\n", s.lanes, r * (kChainThreads / s.lanes));
      out += fmt::format("    if (n < {} && row < ROWS) {{\n", p.columns);
      out += fmt::format("      const A value = row_of(sum, row);\n      const T x0 = as<T>({});\n      ",
                         p.has_bias ? fmt::format("value + as<A>(b{}_{})", i, r) : "value");
      const auto element = [&](size_t k) {
        const loops::Buffer& b = p.tail.buffers[k];
        return fmt::format("static_cast<{}*>(a.data[{}])[row * {} + n * {}]", stored_type(b.dtype), at[i].first + k - 1,
                           b.strides[0], b.strides[1]);
      };
      const std::string to =
          is_last ? element(written_buffer(p)) : fmt::format("line{}[row * {} + n]", (i + 1) % 2, p.columns);
      out += finish_text(p, fmt::format("body{}", i), to, element) + "    }\n  }\n";
    }
    if (!is_last) out += "  __syncthreads();\n";
  }
  return out + "}\n";
}

namespace {

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

class SingleProduct final : public codegen::Kernel {
 public:
  SingleProduct(const ProductNest& product, Device device)
      : codegen::Kernel(false), product_(product), device_(device), name_(name_of(product)) {
    packed_ = variant(width_of(product_));
    packed_.compiled->begin();
  }
  void run_block(void* const*, int64_t, int64_t, int64_t, int64_t) const override {
    fail("product: a kernel of a device runs as a whole");
  }
  bool is_ready() const override { return packed_.compiled->find() != nullptr; }
  void wait() const override { packed_.compiled->wait(); }
  std::string to_string() const override { return packed_.compiled->source(); }

  void run(void* const* buffers) const override {
    HeadedProductArguments whole;
    ProductNestArguments& a = whole.product;
    const loops::Nest& head = product_.head;
    size_t at = 0;
    bool fits = true;
    for (size_t k = 0; k < head.buffers.size(); ++k) {
      whole.head.row[k] = head.buffers[k].strides[0];
      if (head.buffers[k].written) continue;
      whole.head.data[k] = buffers[at++];
      fits &= is_aligned(whole.head.data[k]);
    }
    whole.head.rows = product_.rows;
    whole.head.columns = product_.depth;
    a.p.x = head.calls.empty() ? buffers[at++] : nullptr;
    a.p.w = buffers[at++];
    a.p.bias = product_.has_bias ? buffers[at++] : nullptr;
    a.p.x_row = product_.x_row;
    a.p.w_column = product_.w_column;
    a.p.columns = product_.columns;
    a.p.depth = product_.depth;
    for (size_t k = 1; k < product_.tail.buffers.size(); ++k) {
      a.data[k] = buffers[at++];
      for (int d = 0; d < 2; ++d) a.stride[k][d] = product_.tail.buffers[k].strides[static_cast<size_t>(d)];
    }
    const Variant& variant = fits && is_aligned(a.p.x) && is_aligned(a.p.w) ? packed_ : loose();
    std::copy(variant.numbers.begin(), variant.numbers.end(), a.numbers);
    Shape shape;
    const int64_t blocks = share_of_warps(product_, variant.width).blocks(product_.columns);
    shape.grid_x = static_cast<unsigned>(is_looped(product_, variant.width) ? kLoopedBlocks : blocks);
    shape.block_x = kNarrowWarps * 32;
    // Outside of graphs the kernel in front may be a program's that writes the constant.
    shape.is_dependent = is_capturing() || !is_read_early(product_, variant.width);
    launch(device_, variant.compiled->wait(), shape, &whole, head.calls.empty() ? sizeof a : sizeof whole, name_);
  }

  static const char* name_of(const ProductNest& p) {
    return p.tail.calls.empty() ? "product" : names_of_calls(p.tail.calls);
  }

 private:
  struct Variant {
    int width = 1;
    std::shared_ptr<CompiledText> compiled;
    std::vector<Number> numbers;
  };
  Variant variant(int width) const {
    ProductText text = single_text(product_, width);
    return {width, std::make_shared<CompiledText>(device_, std::move(text.source), "product_nest"),
            std::move(text.numbers)};
  }
  const Variant& loose() const {
    if (width_of(product_) == 1) return packed_;
    const std::lock_guard lock(mutex_);
    if (!loose_.compiled) loose_ = variant(1);
    return loose_;
  }

  const ProductNest product_;
  const Device device_;
  const char* const name_;
  Variant packed_;
  mutable std::mutex mutex_;
  mutable Variant loose_;
};

class ProductChain final : public codegen::Kernel {
 public:
  ProductChain(std::span<const ProductNest> chain, Device device)
      : codegen::Kernel(false),
        chain_(chain.begin(), chain.end()),
        device_(device),
        compiled_(std::make_shared<CompiledText>(device, chain_text(chain), "chain")) {
    compiled_->begin();
    size_t at = 1;
    packed_.push_back(0);
    for (const ProductNest& p : chain) {
      packed_.push_back(at);
      at += 1 + (p.has_bias ? 1 : 0) + p.tail.buffers.size() - 2;
    }
    addresses_ = at + 1;
  }
  void run_block(void* const*, int64_t, int64_t, int64_t, int64_t) const override {
    fail("chain: a kernel of a device runs as a whole");
  }
  bool is_ready() const override { return compiled_->find() != nullptr; }
  void wait() const override { compiled_->wait(); }
  std::string to_string() const override { return compiled_->source(); }

  void run(void* const* buffers) const override {
    ChainArguments a;
    std::copy_n(buffers, addresses_, a.data);
    for (const size_t i : packed_) {
      SCONCE_CHECK(i == 0 || is_aligned(a.data[i]), "chain: weights lie at an address that is no multiple of 16");
    }
    Shape shape;
    shape.block_x = kChainThreads;
    shape.is_dependent = true;
    launch(device_, compiled_->wait(), shape, &a, sizeof a, "a chain of products");
  }

 private:
  const std::vector<ProductNest> chain_;
  const Device device_;
  const std::shared_ptr<CompiledText> compiled_;
  std::vector<size_t> packed_;  // addresses of weights
  size_t addresses_;
};

}  // namespace

std::shared_ptr<const codegen::Kernel> make_product_kernel(std::span<const ProductNest> chain, Device device) {
  if (chain.size() > 1) return std::make_shared<ProductChain>(chain, device);
  return std::make_shared<SingleProduct>(chain[0], device);
}

}  // namespace sconce::cuda
