// Random nests for tests of makers: operators of the table that have loops, all dtypes, sizes around those of vectors,
// strides of every kind, results over operands, numbers of every kind.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>

#include "sconce/dispatch/registry.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/loops/nest.h"

namespace sconce::codegen {

using loops::Buffer;
using loops::LoopCall;
using loops::Nest;

inline constexpr DType kDTypes[] = {DType::float32,    DType::float32,  DType::float32,  DType::float64,
                                    DType::float64,    DType::bfloat16, DType::bfloat16, DType::float16,
                                    DType::int32,      DType::int64,    DType::int8,     DType::uint8,
                                    DType::int16,      DType::bool_,    DType::bool_,    DType::complex64,
                                    DType::complex128, DType::uint16,   DType::uint32,   DType::float8_e5m2};

struct Candidate {
  const Op* op;
  const PointwiseCase* rule;
  bool cheap;
};

// What asks for the sign of a NaN has no one answer (maker.h).
inline bool asks_for_sign(const PointwiseCase& rule) {
  for (const Expression& e : rule.expressions()) {
    for (const Step& s : e.steps()) {
      switch (s.kind) {
        case StepKind::signbit:
        case StepKind::copysign:
        case StepKind::nextafter:
        case StepKind::angle:
        case StepKind::atan2:
          return true;
        default:
          break;
      }
    }
  }
  return false;
}

inline std::vector<Candidate> candidates() {
  std::vector<Candidate> list;
  for (const Op* op : all_ops()) {
    if (op->info.entry == nullptr || op->has(Trait::inplace) || op->has(Trait::out)) continue;
    for (const PointwiseCase& c : op->info.entry->pointwise()) {
      if (!asks_for_sign(c)) list.push_back({op, &c, !c.loops->math});
    }
  }
  return list;
}

// Memory of a buffer: what lies between its elements is compared, too.
struct Memory {
  std::vector<char> bytes;
  int64_t start = 0;  // of the first element
  int shares = -1;    // the memory of another buffer
};

struct NestKinds {
  std::span<const DType> dtypes = kDTypes;
  bool is_tame = false;  // no infinities, no NaN, nothing that an integer of 32 bits cannot hold; nothing over operands
  bool is_cheap = false;  // no functions of a math library
};

class RandomNest {
 public:
  RandomNest(uint32_t seed, const std::vector<Candidate>& all, NestKinds kinds = {})
      : random_(seed), all_(all), kinds_(kinds) {
    const int rank = pick(5);
    int64_t numel = 1;
    for (int d = 0; d < rank; ++d) {
      constexpr int64_t kSizes[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 513, 1000, 2100};
      int64_t size = kSizes[pick(16)];
      if (numel * size > 6000) size = 1 + pick(3);
      if (pick(60) == 0) size = 0;
      nest.sizes.push_back(size);
      numel *= size;
    }
    const int inputs = 1 + pick(5);
    for (int k = 0; k < inputs; ++k) add_buffer(any_dtype(), pick(3) == 0, false);
    const int calls = 1 + pick(12);
    for (int k = 0; k < calls; ++k) add_call();
    add_store(nest.calls.size() - 1);
    for (int k = pick(3); k > 0; --k) add_store(pick(static_cast<int>(nest.calls.size())));
  }

  std::vector<Memory> fresh_memory() const { return memory_; }
  Nest nest;

 private:
  int pick(size_t n) { return static_cast<int>(random_() % n); }
  DType any_dtype() { return kinds_.dtypes[static_cast<size_t>(pick(kinds_.dtypes.size()))]; }

  void add_buffer(DType dtype, bool broadcast, bool written) {
    Buffer b{dtype, Dims(nest.sizes.size()), written};
    Memory m;
    // A dense layout in some order of dimensions, with gaps, and backwards along some of them.
    std::vector<size_t> order(nest.sizes.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (pick(3) == 0) std::shuffle(order.begin(), order.end(), random_);
    int64_t stride = pick(6) == 0 ? 2 : 1;
    int64_t first = 0;
    for (size_t k = order.size(); k-- > 0;) {
      const size_t d = order[k];
      if (broadcast && pick(2) == 0) continue;
      const bool backwards = pick(10) == 0;
      b.strides[d] = backwards ? -stride : stride;
      if (backwards) first += stride * std::max<int64_t>(0, nest.sizes[d] - 1);
      stride *= std::max<int64_t>(1, nest.sizes[d]);
      if (pick(8) == 0) stride += pick(3);
    }
    const auto item = static_cast<int64_t>(item_size(dtype));
    const int64_t before = pick(2) * 3;
    m.start = (first + before) * item;
    m.bytes.resize(static_cast<size_t>((stride + 8 + before) * item));
    fill(m, dtype);
    nest.buffers.push_back(b);
    memory_.push_back(std::move(m));
  }

  void fill(Memory& m, DType dtype) {
    const auto item = item_size(dtype);
    for (size_t at = 0; at + item <= m.bytes.size(); at += item) {
      const double x = number(is_floating(dtype) || is_complex(dtype));
      const double pair[2] = {x, number(true)};
      convert(m.bytes.data() + at, dtype, is_complex(dtype) ? static_cast<const void*>(pair) : &x,
              is_complex(dtype) ? DType::complex128 : DType::float64, 1);
      // Every byte but 0 is true: see Note [Bytes of bools].
      if (dtype == DType::bool_ && m.bytes[at] != 0 && pick(2)) m.bytes[at] = static_cast<char>(1 + pick(255));
    }
  }

  double number(bool real) {
    if (!real) return pick(4) == 0 ? pick(100000) - 50000 : pick(20) - 8;
    if (kinds_.is_tame) return std::normal_distribution<double>(0, pick(3) == 0 ? 30 : 2)(random_);
    switch (pick(24)) {
      case 0:
        return std::numeric_limits<double>::quiet_NaN();
      case 1:
        return std::numeric_limits<double>::infinity();
      case 2:
        return -std::numeric_limits<double>::infinity();
      case 3:
        return -0.0;
      case 4:
        return 0;
      case 5:
        return 1e-41;
      case 6:
        return -3e-310;
      case 7:
        return 3e38;
      case 8:
        return pick(2) ? 65520 : 1e-6;
      default:
        return std::normal_distribution<double>(0, pick(3) == 0 ? 30 : 2)(random_);
    }
  }

  loops::Source source() {
    if (!nest.calls.empty() && pick(3) != 0) {
      const size_t n = nest.calls.size();
      return loops::from_call(pick(2) ? n - 1 : static_cast<size_t>(pick(n)));
    }
    return loops::from_buffer(static_cast<size_t>(pick(nest.buffers.size())));
  }

  DType dtype_of(loops::Source s) const {
    return s.kind == loops::Source::buffer ? nest.buffers[s.number].dtype : nest.calls[s.number].result;
  }

  void add_call() {
    if (pick(10) == 0) {
      LoopCall call = loops::make_conversion(any_dtype());
      call.inputs.push_back(source());
      nest.calls.push_back(call);
      return;
    }
    for (;;) {
      const Candidate& c = all_[static_cast<size_t>(pick(all_.size()))];
      if (!c.cheap && (kinds_.is_cheap || pick(3) != 0)) continue;
      const loops::Source first = source();
      // Mostly what the operands are, so that chains stay in one dtype.
      const DType common = pick(4) != 0 ? dtype_of(first) : any_dtype();
      if (!has_loop(*c.rule->loops, common)) continue;
      LoopCall call = loops::make_call(*c.op, *c.rule->loops, common, common);
      if (!loops::fusible(call)) continue;
      if (call.loops->result == LoopResult::boolean) call.result = DType::bool_;
      if (call.loops->result == LoopResult::real) call.result = real_dtype(common);
      if (pick(8) == 0) call.result = any_dtype();
      for (int k = 0; k < call.loops->inputs; ++k) call.inputs.push_back(k == 0 ? first : source());
      for (int k = 0; k < call.loops->params; ++k) {
        const double x = pick(3) == 0 ? 1 : number(true);
        const bool whole = category(common) < Category::floating || pick(2);
        call.params.push_back(whole ? Param::from_int(pick(12) - 4) : Param::from_float(x));
      }
      nest.calls.push_back(call);
      return;
    }
  }

  void add_store(size_t call) {
    if (nest.buffers.size() >= loops::kMaxBuffers) return;
    const DType dtype = nest.calls[call].result;
    // Over an operand, where one has a place for every element.
    for (size_t k = 0; !kinds_.is_tame && k < nest.buffers.size() && pick(2); ++k) {
      const Buffer& b = nest.buffers[k];
      bool whole = b.dtype == dtype && !b.written && memory_[k].shares < 0;
      for (size_t d = 0; d < nest.sizes.size(); ++d) whole &= b.strides[d] != 0 || nest.sizes[d] <= 1;
      for (const Memory& m : memory_) whole &= m.shares != static_cast<int>(k);
      if (!whole) continue;
      nest.buffers.push_back({dtype, b.strides, true});
      Memory m;
      m.shares = static_cast<int>(k);
      memory_.push_back(m);
      nest.stores.push_back({static_cast<uint16_t>(call), static_cast<uint16_t>(nest.buffers.size() - 1)});
      return;
    }
    add_buffer(dtype, false, true);
    nest.stores.push_back({static_cast<uint16_t>(call), static_cast<uint16_t>(nest.buffers.size() - 1)});
  }

  std::mt19937 random_;
  const std::vector<Candidate>& all_;
  const NestKinds kinds_;
  std::vector<Memory> memory_;
};

inline std::vector<void*> pointers(std::vector<Memory>& memory) {
  std::vector<void*> list;
  for (Memory& m : memory) {
    Memory& owner = m.shares < 0 ? m : memory[static_cast<size_t>(m.shares)];
    list.push_back(owner.bytes.data() + owner.start);
  }
  return list;
}

template <class Bits>
bool both_nan(const char* a, const char* b, Bits infinity) {
  Bits x, y;
  std::memcpy(&x, a, sizeof x);
  std::memcpy(&y, b, sizeof y);
  const Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
  return (x & magnitude) > infinity && (y & magnitude) > infinity;
}

inline bool both_nan(DType dtype, const char* a, const char* b) {
  switch (dtype) {
    case DType::float64:
    case DType::complex128:
      return both_nan<uint64_t>(a, b, 0x7ff0000000000000);
    case DType::float32:
    case DType::complex64:
      return both_nan<uint32_t>(a, b, 0x7f800000);
    case DType::bfloat16:
      return both_nan<uint16_t>(a, b, 0x7f80);
    case DType::float16:
      return both_nan<uint16_t>(a, b, 0x7c00);
    case DType::float8_e5m2:
      return both_nan<uint8_t>(a, b, 0x7c);
    default:
      return false;
  }
}

// The first byte that differs, or -1.
inline int64_t difference(const Nest& nest, const std::vector<Memory>& a, const std::vector<Memory>& b,
                          bool nans_are_equal) {
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k].bytes == b[k].bytes) continue;
    const DType dtype = nest.buffers[k].dtype;
    const auto part = item_size(is_complex(dtype) ? real_dtype(dtype) : dtype);
    for (size_t at = 0; at + part <= a[k].bytes.size(); at += part) {
      const char *x = a[k].bytes.data() + at, *y = b[k].bytes.data() + at;
      if (dtype == DType::bool_ && (*x != 0) == (*y != 0)) continue;
      if (std::memcmp(x, y, part) == 0 || (nans_are_equal && both_nan(dtype, x, y))) continue;
      return static_cast<int64_t>(at);
    }
  }
  return -1;
}

}  // namespace sconce::codegen
