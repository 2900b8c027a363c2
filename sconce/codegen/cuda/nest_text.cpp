#include "sconce/codegen/cuda/nest_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/cpu/engine/iterate.h"
#include "sconce/kernels/cuda/texts.h"

namespace sconce::cuda {
namespace {

using loops::LoopCall;
using loops::Nest;
using loops::RowOp;
using loops::Source;

constexpr int64_t kHuge = int64_t{1} << 31;

int64_t size_of(DType dtype) { return static_cast<int64_t>(item_size(dtype)); }

// As on the CPU: bools that the byte loop cannot compute go through integers.
Compute compute_of(const LoopCall& call) {
  const Compute compute = compute_type(call.common);
  const bool is_there = call.loops->loops[0][static_cast<int>(compute)] != nullptr;
  return !is_there && call.common == DType::bool_ ? Compute::i32 : compute;
}

const char* expression_text(const LoopCall& call) {
  const char* text = text_of(*call.loops).texts[static_cast<int>(class_of(compute_of(call)))];
  SCONCE_CHECK(text, "nest: {} has no CUDA text for {}", call.loops->name, dtype_name(call.common));
  return text;
}

std::string space_of(const LoopCall& call) {
  constexpr const char* kNames[] = {"f32", "f64", "i32", "i64", "u8", "c64", "c128"};
  return fmt::format("op_{}_{}", text_of(*call.loops).name, kNames[static_cast<int>(compute_of(call))]);
}

}  // namespace

std::string operator_texts(std::span<const LoopCall> calls) {
  bool complex = false, special_vectors = false;
  uint8_t specials = 0;
  for (const LoopCall& call : calls) {
    complex |= is_complex(call.common) || is_complex(call.result);
    if (!call.loops) continue;
    specials |= text_of(*call.loops).specials;
    special_vectors |= uses_special_vectors(expression_text(call));
  }
  std::string out = vocabulary(complex, specials, special_vectors);
  std::set<std::string> written;
  for (const LoopCall& call : calls) {
    if (!call.loops) continue;
    const std::string space = space_of(call);
    if (!written.insert(space).second) continue;
    out += fmt::format("#undef L\n#undef V_INF\n#undef V_NAN\nnamespace word {{ namespace {} {{\n{}{}}} }}\n", space,
                       compute_lines(compute_of(call)), expression_text(call));
  }
  return out;
}

namespace {

std::string real_text(double x) {
  if (std::isnan(x)) return "NAN_64";
  if (std::isinf(x)) return x < 0 ? "-INFINITY_64" : "INFINITY_64";
  return fmt::format("{:a}", x);
}
std::string integer_text(int64_t n) { return n == INT64_MIN ? "-9223372036854775807LL - 1" : std::to_string(n) + "LL"; }

}  // namespace

std::string NestNumbers::expression(const Param& p) {
  const bool is_common = p.imag == 0 && !(p.real == 0 && std::signbit(p.real)) &&
                         (p.real == 0 || p.real == 1 || p.real == -1 || p.real == 2 || p.real == 0.5);
  if (is_common || all.size() == room)
    return fmt::format("Number{{{}, {}, {}}}", real_text(p.real), real_text(p.imag), integer_text(p.integer));
  all.push_back({p.real, p.imag, p.integer});
  return fmt::format("a.numbers[{}]", all.size() - 1);
}

namespace {

// What bodies write: 16-bit floats are converted a pack at a time, behind them.
const char* written_type(const loops::Buffer& b) { return is_reduced_float(b.dtype) ? "f32" : stored_type(b.dtype); }

// Whether a result is a 16-bit float that was computed as a float.
bool is_narrowed(const LoopCall& call) {
  if (call.is_row() || !is_reduced_float(call.result)) return false;
  return call.is_conversion() || (call.common == call.result && call.loops->result != LoopResult::boolean &&
                                  call.loops->result != LoopResult::real);
}

// How a result is held: as it is stored; as a float with its bits, where other calls read it (rounding is one
// instruction then, and widening none); as the float that it is made of, where it is only stored.
enum class Hold : uint8_t { stored, rounded, exact };

// The value of a pointwise call or a conversion; `source(s)` is the text of what it reads, `held(s, dtype)` that of a
// float that has the bits of that dtype, or nothing.
template <class F, class H>
std::string call_text(const LoopCall& call, NestNumbers& numbers, const F& source, const H& held, Hold hold) {
  const char* result = stored_type(call.result);
  if (call.is_conversion()) {
    const std::string x = source(call.inputs[0]);
    return hold == Hold::exact     ? fmt::format("as<f32>({})", x)
           : hold == Hold::rounded ? fmt::format("rounded<{}>(as<f32>({}))", result, x)
                                   : fmt::format("as<{}>({})", result, x);
  }
  const PointwiseLoops& loops = *call.loops;
  const std::string space = space_of(call);
  const char* common = stored_type(call.common);
  std::string arguments;
  for (size_t k = 0; k < call.inputs.size(); ++k) {
    const std::string x = source(call.inputs[k]), number = held(call.inputs[k], call.common);
    arguments += loops.mask_inputs >> k & 1 ? fmt::format("as<b8>({}).byte != 0, ", x)
                 : !number.empty()          ? number + ", "
                                            : fmt::format("as<word::{}::V>(as<{}>({})), ", space, common, x);
  }
  for (const Param& p : call.params)
    arguments += fmt::format("number<word::{}::V>({}), ", space, numbers.expression(p));
  const int narrow = call.common == DType::float16 ? 1 : call.common == DType::bfloat16 ? 2 : 0;
  const std::string value = fmt::format("word::{}::op({}{})", space, arguments, narrow);
  if (hold == Hold::exact) return value;
  if (hold == Hold::rounded) return fmt::format("rounded<{}>({})", result, value);
  const bool boolean = loops.result == LoopResult::boolean || compute_of(call) == Compute::u8;
  const std::string made = loops.result == LoopResult::boolean ? fmt::format("b8{{u8({})}}", value)
                           : boolean                           ? fmt::format("as<{}>(b8{{u8({})}})", common, value)
                           : loops.result == LoopResult::real
                               ? fmt::format("as<{}>({})", stored_type(real_dtype(call.common)), value)
                               : fmt::format("as<{}>({})", common, value);
  return fmt::format("as<{}>({})", result, made);
}

std::string not_held(const Source&, DType) { return {}; }

std::string numbered(char letter, size_t n) { return fmt::format("{}{}", letter, n); }

// ---- nests without rows ----

}  // namespace

std::string body_function(const Nest& nest, NestNumbers& numbers, const std::string& name, const char* arguments,
                          bool as_floats) {
  std::string parameters, lines;
  for (size_t k = 0; k < nest.buffers.size(); ++k) {
    const loops::Buffer& b = nest.buffers[k];
    parameters += b.written ? fmt::format("{}& y{}, ", as_floats ? written_type(b) : stored_type(b.dtype), k)
                            : fmt::format("{} x{}, ", stored_type(b.dtype), k);
  }
  std::vector<Hold> holds;
  for (size_t c = 0; c < nest.calls.size(); ++c) {
    const auto reads = [&](const LoopCall& call) {
      return std::any_of(call.inputs.begin(), call.inputs.end(),
                         [&](const Source& s) { return s.kind != Source::buffer && s.number == c; });
    };
    const bool is_read = std::any_of(nest.calls.begin(), nest.calls.end(), reads);
    holds.push_back(!is_narrowed(nest.calls[c]) ? Hold::stored
                    : is_read                   ? Hold::rounded
                    : as_floats                 ? Hold::exact
                                                : Hold::stored);
  }
  const auto source = [&](const Source& s) {
    if (s.kind == Source::buffer || holds[s.number] == Hold::stored)
      return numbered(s.kind == Source::buffer ? 'x' : 't', s.number);
    return fmt::format("as<{}>(t{})", stored_type(nest.calls[s.number].result), s.number);
  };
  const auto held = [&](const Source& s, DType as) {
    const bool fits = s.kind != Source::buffer && holds[s.number] == Hold::rounded && nest.calls[s.number].result == as;
    return fits ? numbered('t', s.number) : std::string();
  };
  for (size_t c = 0; c < nest.calls.size(); ++c) {
    const LoopCall& call = nest.calls[c];
    lines += fmt::format("  const {} t{} = {};\n", holds[c] == Hold::stored ? stored_type(call.result) : "f32", c,
                         call_text(call, numbers, source, held, holds[c]));
  }
  for (const loops::Store& s : nest.stores) {
    const DType dtype = nest.buffers[s.buffer].dtype;
    const bool is_float = holds[s.call] != Hold::stored;
    lines += is_float == (as_floats && is_reduced_float(dtype))
                 ? fmt::format("  y{} = t{};\n", s.buffer, s.call)
                 : fmt::format("  y{} = as<{}>(t{});\n", s.buffer, is_float ? stored_type(dtype) : "f32", s.call);
  }
  return fmt::format("HOT void {}({}const {}& a) {{\n{}}}\n", name, parameters, arguments, lines);
}

namespace {

enum class Walk : uint8_t { line, one, strided };
Walk walk_of(const PointwiseSchedule& s, size_t buffer) {
  const int64_t stride = s.layout.stride[buffer][0];
  return stride == 1 ? Walk::line : stride == 0 ? Walk::one : Walk::strided;
}

// A line of text for every buffer for which `f` has one.
template <class F>
std::string each_buffer(const Nest& nest, const F& f) {
  std::string out;
  for (size_t k = 0; k < nest.buffers.size(); ++k) out += f(k, nest.buffers[k], stored_type(nest.buffers[k].dtype));
  return out;
}

std::string pointers(const Nest& nest) {
  return each_buffer(nest, [](size_t k, const loops::Buffer& b, const char* t) {
    return b.written ? fmt::format("  {0}* const q{1} = static_cast<{0}*>(a.data[{1}]);\n", t, k)
                     : fmt::format("  const {0}* const p{1} = static_cast<const {0}*>(a.data[{1}]);\n", t, k);
  });
}

// Arguments of body: `read(k)` and `written(k)` are texts.
template <class R, class W>
std::string body_call(const Nest& nest, const R& read, const W& written) {
  return "body(" +
         each_buffer(nest, [&](size_t k, const loops::Buffer& b,
                               const char*) { return (b.written ? written(k) : read(k)) + ", "; }) +
         "a);\n";
}

std::string dense_kernel(const Nest& nest, const PointwiseSchedule& s) {
  const auto is_one = [&](size_t k) { return walk_of(s, k) == Walk::one; };
  std::string out =
      "extern \"C\" __global__ void __launch_bounds__(kThreads) nest(const __grid_constant__ NestArguments a) {\n"
      "  DEPENDENT_START\n"
      "  constexpr i64 kTile = i64(kThreads) * UNROLL * WIDTH;\n"
      "  const i64 tile = i64(blockIdx.x) * kTile;\n" +
      pointers(nest);
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char* t) {
    return !b.written && is_one(k) ? fmt::format("  const {} s{} = *p{};\n", t, k, k) : "";
  });
  out += "  if (tile + kTile <= a.elements) {\n";
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char* t) {
    return b.written || is_one(k) ? "" : fmt::format("    Pack<{}, WIDTH> x{}[UNROLL];\n", t, k);
  });
  out +=
      "#pragma unroll\n"
      "    for (int u = 0; u < UNROLL; ++u) {\n"
      "      const i64 at = tile + i64(u * kThreads + threadIdx.x) * WIDTH;\n";
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char*) {
    return b.written || is_one(k) ? "" : fmt::format("      x{0}[u] = read<WIDTH>(p{0} + at);\n", k);
  });
  out +=
      "    }\n"
      "#pragma unroll\n"
      "    for (int u = 0; u < UNROLL; ++u) {\n"
      "      const i64 at = tile + i64(u * kThreads + threadIdx.x) * WIDTH;\n";
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char*) {
    return b.written ? fmt::format("      {} y{}[WIDTH];\n", written_type(b), k) : "";
  });
  out += "#pragma unroll\n      for (int i = 0; i < WIDTH; ++i) ";
  out += body_call(
      nest, [&](size_t k) { return is_one(k) ? numbered('s', k) : fmt::format("x{}[u].v[i]", k); },
      [](size_t k) { return fmt::format("y{}[i]", k); });
  out += each_buffer(nest, [](size_t k, const loops::Buffer& b, const char* t) {
    return b.written ? fmt::format("      write<WIDTH>(q{0} + at, pack_of<{1}>(y{0}));\n", k, t) : "";
  });
  out +=
      "    }\n"
      "  } else {\n"
      "    for (i64 i = tile + threadIdx.x; i < a.elements; i += kThreads) {\n";
  out += each_buffer(nest, [](size_t k, const loops::Buffer& b, const char*) {
    return b.written ? fmt::format("      {} y{};\n", written_type(b), k) : "";
  });
  out += "      " + body_call(
                        nest, [&](size_t k) { return is_one(k) ? numbered('s', k) : fmt::format("p{}[i]", k); },
                        [](size_t k) { return numbered('y', k); });
  out += each_buffer(nest, [](size_t k, const loops::Buffer& b, const char* t) {
    return b.written ? fmt::format("      q{0}[i] = as<{1}>(y{0});\n", k, t) : "";
  });
  return out + "    }\n  }\n}\n";
}

// What a pack reads: lines that are streamed ahead of everything, others, which lie in a cache, when they are needed,
// so that registers hold more of the first.
std::string strided_kernel(const Nest& nest, const PointwiseSchedule& s) {
  const Layout& l = s.layout;
  const bool whole = l.rank > 1;  // lines are multiples of a pack
  const char* const count = whole ? "WIDTH" : "counts[u]";
  const auto is_late = [&](size_t k) { return whole && !is_streamed(l, static_cast<int>(k)); };
  const auto take = [&](size_t k, const std::string& x, const std::string& at) {
    switch (walk_of(s, k)) {
      case Walk::line:
        return fmt::format("    take_line({}, p{} + {}, {});\n", x, k, at, count);
      case Walk::one:
        return fmt::format("    take_one({}, p{} + {});\n", x, k, at);
      default:
        return fmt::format("    take_strided({}, p{} + {}, a.stride[{}][0], {});\n", x, k, at, k, count);
    }
  };
  std::string out =
      "extern \"C\" __global__ void __launch_bounds__(kThreads) nest(const __grid_constant__ NestArguments a) {\n"
      "  DEPENDENT_START\n"
      "  const Index first = Index(blockIdx.x) * (kThreads * UNROLL) + threadIdx.x;\n" +
      pointers(nest);
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char* t) {
    return b.written || is_late(k) ? fmt::format("  i64 o{}[UNROLL];\n", k)
                                   : fmt::format("  Pack<{}, WIDTH> x{}[UNROLL];\n", t, k);
  });
  out +=
      "  int counts[UNROLL];\n"
      "#pragma unroll\n"
      "  for (int u = 0; u < UNROLL; ++u) {\n";
  // Packs that are not there read the last one: without branches all reads are on their way at once.
  out += whole ? "    const Index wanted = first + u * kThreads, last = Index(a.packs) - 1, p = wanted < last ? wanted "
                 ": last;\n"
                 "    counts[u] = wanted <= last ? WIDTH : 0;\n"
               : "    const Index p = first + u * kThreads;\n"
                 "    counts[u] = 0;\n"
                 "    if (p >= Index(a.packs)) continue;\n"
                 "    const i64 rest = a.elements - i64(p) * WIDTH;\n"
                 "    counts[u] = rest < WIDTH ? int(rest) : WIDTH;\n";
  // Digits of the pack's number, in the sizes of the dimensions.
  for (int d = 0; d < l.rank; ++d) {
    const std::string left = d == 0 ? "p" : fmt::format("q{}", d - 1);
    if (d + 1 == l.rank) {
      out += fmt::format("    const i64 d{} = i64({})", d, left);
    } else {
      out += fmt::format(
          "    const Index q{0} = quotient(a, {1}, {0});\n    const i64 d{0} = i64({1} - q{0} * a.size[{0}])", d, left);
    }
    out += d == 0 ? " * WIDTH;\n" : ";\n";
  }
  const auto offset = [&](size_t k) {
    std::string text;
    for (int d = 0; d < l.rank; ++d) {
      const int64_t stride = l.stride[k][d];
      if (stride == 0) continue;
      text += text.empty() ? "" : " + ";
      text += stride == 1 ? fmt::format("d{}", d) : fmt::format("d{} * a.stride[{}][{}]", d, k, d);
    }
    return text.empty() ? std::string("0") : text;
  };
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char*) {
    if (b.written || is_late(k)) return fmt::format("    o{}[u] = {};\n", k, offset(k));
    return take(k, fmt::format("x{}[u]", k), fmt::format("({})", offset(k)));
  });
  out +=
      "  }\n"
      "#pragma unroll\n"
      "  for (int u = 0; u < UNROLL; ++u) {\n"
      "    if (counts[u] == 0) continue;\n";
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char* t) {
    if (b.written) return fmt::format("    {} y{}[WIDTH];\n", written_type(b), k);
    if (!is_late(k)) return std::string();
    return fmt::format("    Pack<{}, WIDTH> x{};\n", t, k) + take(k, fmt::format("x{}", k), fmt::format("o{}[u]", k));
  });
  out += "#pragma unroll\n    for (int i = 0; i < WIDTH; ++i)\n      ";
  if (!whole) out += "if (i < counts[u]) ";
  out += body_call(
      nest, [&](size_t k) { return fmt::format("x{}{}.v[i]", k, is_late(k) ? "" : "[u]"); },
      [](size_t k) { return fmt::format("y{}[i]", k); });
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char* t) {
    if (!b.written) return std::string();
    const std::string pack = fmt::format("pack_of<{}>(y{})", t, k);
    return walk_of(s, k) == Walk::line
               ? fmt::format("    give_line(q{0} + o{0}[u], {1}, {2});\n", k, pack, count)
               : fmt::format("    give_strided(q{0} + o{0}[u], {1}, a.stride[{0}][0], {2});\n", k, pack, count);
  });
  return out + "  }\n}\n";
}

// ---- rows ----

// How long rows are: known when the text is compiled, so that nothing is asked about packs inside of them.
std::string columns_line(const Nest& nest) { return fmt::format("#define ROW_COLUMNS i64({})\n", nest.sizes[1]); }

const char* row_type(const LoopCall& call) { return call.common == DType::float64 ? "f64" : "f32"; }

// Statements of a row operator that reads the array `from` and makes the array t<number>; `parameters` are those that
// read the weights of a norm.
std::string row_call_text(const LoopCall& call, size_t number, const std::string& from, const std::string& parameters) {
  const char *v = row_type(call), *result = stored_type(call.result);
  std::string out = fmt::format(
      "  __shared__ {0} shared{1}[2 * TY * (THREADS / 32)];\n"
      "  {0} v{1}[PACKS][WIDTH];\n"
      "  EACH_PACK EACH v{1}[k][i] = as<{0}>({2}[k][i]);\n",
      v, number, from);
  if (call.row == RowOp::softmax || call.row == RowOp::log_softmax) {
    out +=
        fmt::format("  softmax_row<{}>(v{}, ROW_COLUMNS, shared{});\n", call.row == RowOp::log_softmax, number, number);
  } else {
    out += fmt::format("  norm_row<{}>(v{}, ROW_COLUMNS, {}({:a}), shared{});\n", call.row == RowOp::rms_norm, number,
                       v, call.params[0].real, number);
  }
  out += parameters;
  std::string value = fmt::format("v{}[k][i]", number);
  if (call.inputs.size() > 1) value = fmt::format("{} * as<{}>(x{}[k][i])", value, v, call.inputs[1].number);
  if (call.inputs.size() > 2) value = fmt::format("({}) + as<{}>(x{}[k][i])", value, v, call.inputs[2].number);
  return out +
         fmt::format("  {0} t{1}[PACKS][WIDTH];\n  EACH_PACK EACH t{1}[k][i] = as<{0}>({2});\n", result, number, value);
}

// What a row of threads does; `r` is its row, which is there where `there` is true. `line(buffer)` is the text of the
// row that is written. `late`: weights of norms are read behind the sums, so that registers hold more rows.
template <class F>
std::string row_statements(const Nest& nest, NestNumbers& numbers, bool late, const F& line) {
  const auto take = [&](size_t k) {
    const loops::Buffer& b = nest.buffers[k];
    return fmt::format(
        "  const {0}* const p{1} = static_cast<const {0}*>(a.data[{1}]) + row * a.row[{1}];\n"
        "  {0} x{1}[PACKS][WIDTH];\n"
        "  EACH_PACK {2};\n",
        stored_type(b.dtype), k,
        b.strides[1] == 0 ? fmt::format("take_cell(x{0}[k], p{0})", k)
                          : fmt::format("take_columns(x{0}[k], p{0}, AT(k), ROW_COLUMNS)", k));
  };
  // Weights that only the norm reads, and all rows share.
  const auto is_late = [&](size_t k) {
    if (!late || nest.buffers[k].strides[0] != 0) return false;
    size_t readers = 0, norms = 0;
    for (const LoopCall& call : nest.calls) {
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        if (call.inputs[i].kind != Source::buffer || call.inputs[i].number != k) continue;
        ++readers;
        norms += call.is_row() && i > 0 ? 1 : 0;
      }
    }
    return readers == 1 && norms == 1;
  };
  std::string out = each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char*) {
    return b.written || is_late(k) ? std::string() : take(k);
  });
  const auto name = [](const Source& s) { return numbered(s.kind == Source::buffer ? 'x' : 't', s.number); };
  const auto source = [&](const Source& s) { return name(s) + "[k][i]"; };
  for (size_t c = 0; c < nest.calls.size(); ++c) {
    const LoopCall& call = nest.calls[c];
    if (call.is_row()) {
      std::string parameters;
      for (size_t i = 1; i < call.inputs.size(); ++i) {
        if (is_late(call.inputs[i].number)) parameters += take(call.inputs[i].number);
      }
      out += row_call_text(call, c, name(call.inputs[0]), parameters);
      continue;
    }
    out += fmt::format("  {0} t{1}[PACKS][WIDTH];\n  EACH_PACK EACH t{1}[k][i] = {2};\n", stored_type(call.result), c,
                       call_text(call, numbers, source, not_held, Hold::stored));
  }
  for (const loops::Store& s : nest.stores) {
    out +=
        fmt::format("  if (there) EACH_PACK give_columns({}, AT(k), ROW_COLUMNS, t{}[k]);\n", line(s.buffer), s.call);
  }
  return out + "}\n";
}

std::string rows_kernel(const Nest& nest, NestNumbers& numbers) {
  return "extern \"C\" __global__ void __launch_bounds__(THREADS * TY) nest_rows(const __grid_constant__ "
         "RowNestArguments a) {\n"
         "  DEPENDENT_START\n"
         "  const i64 r = i64(blockIdx.x) * TY + threadIdx.y;\n"
         "  const bool there = r < a.rows;\n"
         "  const i64 row = there ? r : 0;\n" +
         row_statements(nest, numbers, true, [&](size_t buffer) {
           return fmt::format("static_cast<{0}*>(a.data[{1}]) + r * a.row[{1}]",
                              stored_type(nest.buffers[buffer].dtype), buffer);
         });
}

}  // namespace

std::string row_function(const Nest& nest, const RowSchedule& s, const std::string& name) {
  NestNumbers numbers;
  numbers.room = 0;  // all stand in the text
  const auto written = std::find_if(nest.buffers.begin(), nest.buffers.end(), [](const auto& b) { return b.written; });
  std::string out = fmt::format(
      "#undef WIDTH\n#define WIDTH {}\n#define THREADS {}\n#define TY 1\n#define PACKS {}\n#define PACKED {}\n"
      "#define ROW_THREAD (threadIdx.x % 32)\n{}",
      s.width, s.threads, s.packs, s.packed ? 1 : 0, columns_line(nest));
  out += text_file("row_nest");
  out += fmt::format(
      "HOT void {}({}* line, const i64 row, const RowNestArguments& a) {{\n  constexpr bool there = true;\n", name,
      stored_type(written->dtype));
  return out + row_statements(nest, numbers, false, [](size_t) { return "line"; });
}

std::string element_function(const Nest& nest, const RowSchedule& s, const std::string& name, size_t given) {
  NestNumbers numbers;
  numbers.room = 0;  // all stand in the text
  const auto written = std::find_if(nest.buffers.begin(), nest.buffers.end(), [](const auto& b) { return b.written; });
  std::string out = fmt::format("constexpr int kRowThreads = {};\n#define ROW_WIDTH {}\n{}", kElementThreads, s.width,
                                columns_line(nest));
  out += text_file("block_rows");
  out += fmt::format(
      "HOT void {}({}* line, const {}* given, const i64 row, const RowNestArguments& a) {{\n"
      "  const int n = threadIdx.x;\n"
      "  const bool there = n < ROW_COLUMNS;\n",
      name, stored_type(written->dtype), stored_type(nest.buffers[given].dtype));
  out += each_buffer(nest, [&](size_t k, const loops::Buffer& b, const char* t) {
    if (b.written) return std::string();
    const std::string line =
        k == given ? "given" : fmt::format("(static_cast<const {0}*>(a.data[{1}]) + row * a.row[{1}])", t, k);
    return fmt::format("  {0} x{1}{{}};\n  if (there) x{1} = {2}[{3}];\n", t, k, line, b.strides[1] == 0 ? "0" : "n");
  });
  const auto source = [](const Source& x) { return numbered(x.kind == Source::buffer ? 'x' : 't', x.number); };
  for (size_t c = 0; c < nest.calls.size(); ++c) {
    const LoopCall& call = nest.calls[c];
    const char* result = stored_type(call.result);
    out += call.is_row()
               ? fmt::format("  const {0} t{1} = as<{0}>(softmax_element<{2}>(as<{3}>({4}), there, ROW_COLUMNS));\n",
                             result, c, call.row == RowOp::log_softmax, row_type(call), source(call.inputs[0]))
               : fmt::format("  const {} t{} = {};\n", result, c,
                             call_text(call, numbers, source, not_held, Hold::stored));
  }
  for (const loops::Store& x : nest.stores) out += fmt::format("  if (there) line[n] = t{};\n", x.call);
  return out + "}\n";
}

bool has_rows(const Nest& nest) {
  return std::any_of(nest.calls.begin(), nest.calls.end(), [](const LoopCall& c) { return c.is_row(); });
}

PointwiseSchedule schedule_pointwise(const Nest& nest, bool packed) {
  // Dimensions are sorted by the strides of what is written.
  std::vector<size_t> order;
  for (const bool written : {true, false}) {
    for (size_t k = 0; k < nest.buffers.size(); ++k) {
      if (nest.buffers[k].written == written) order.push_back(k);
    }
  }
  std::vector<Operand> operands;
  const Operand* pointers[kMaxOperands];
  operands.reserve(order.size());
  SCONCE_ASSERT(order.size() <= kMaxOperands);
  for (size_t i = 0; i < order.size(); ++i) {
    const loops::Buffer& b = nest.buffers[order[i]];
    operands.push_back({nullptr, b.dtype, b.strides.data()});
    pointers[i] = &operands.back();
  }
  const Layout sorted = layout_of({nest.sizes.data(), nest.sizes.size()}, pointers, static_cast<int>(order.size()));
  SCONCE_CHECK(sorted.rank <= kNestRank, "nest: {} dimensions that cannot be merged, CUDA kernels have at most {}",
               sorted.rank, kNestRank);
  PointwiseSchedule s;
  s.layout = sorted;
  for (size_t i = 0; i < order.size(); ++i) std::copy_n(sorted.stride[i], sorted.rank, s.layout.stride[order[i]]);
  const Layout& l = s.layout;
  int64_t widest = 1, read = 0;
  for (size_t k = 0; k < nest.buffers.size(); ++k) {
    const int64_t item = size_of(nest.buffers[k].dtype);
    if (!is_streamed(l, static_cast<int>(k))) continue;
    widest = std::max(widest, item);
    if (!nest.buffers[k].written) read += item;
  }
  s.width = static_cast<int>(16 / widest);
  bool fits = packed && (l.rank == 1 || l.size[0] % s.width == 0);
  for (int k = 0; k < l.operands; ++k) {
    if (l.stride[k][0] != 1) continue;
    for (int d = 1; d < l.rank; ++d) fits &= l.stride[k][d] % s.width == 0;
  }
  if (!fits) s.width = 1;
  s.unroll = s.width == 1 ? 4 : packs_at_once(read * s.width, 32);
  s.wide_index = l.elements() / s.width >= kHuge;
  s.is_dense = l.rank == 1;
  for (size_t k = 0; k < nest.buffers.size(); ++k) s.is_dense &= walk_of(s, k) != Walk::strided;
  return s;
}

RowSchedule schedule_rows(const Nest& nest, bool packed) {
  const int64_t n = nest.sizes[1];
  SCONCE_CHECK(n <= kLongestRow, "nest: rows of {} elements, CUDA kernels hold at most {}", n, kLongestRow);
  RowSchedule s;
  int64_t widest = 1;
  for (const LoopCall& call : nest.calls) {
    if (!call.is_row()) continue;
    widest = std::max(widest, size_of(call.result));
    for (size_t k = 1; k < call.inputs.size(); ++k)
      widest = std::max(widest, size_of(nest.buffers[call.inputs[k].number].dtype));
  }
  s.width = static_cast<int>(16 / widest);
  if (n % s.width != 0) s.width = 1;
  s.packed = packed && s.width > 1;
  for (const loops::Buffer& b : nest.buffers) s.packed &= b.strides[1] != 1 || b.strides[0] % s.width == 0;
  s.threads = n <= 1024 ? 32 : n <= 4096 ? 128 : n <= 8192 ? 256 : 512;
  s.ty = s.threads == 32 ? 8 : 1;
  const int64_t of_pack = int64_t{s.threads} * s.width;
  s.packs = static_cast<int>((n + of_pack - 1) / of_pack);  // eager's kernels may have more, which add nothing
  return s;
}

NestText nest_text(const Nest& nest, const PointwiseSchedule& s) {
  NestNumbers numbers;
  NestText text;
  text.entry = "nest";
  text.source = operator_texts(nest.calls);
  text.source += text_file("nest_arguments");
  text.source += fmt::format("#define WIDTH {}\n#define UNROLL {}\nusing Index = {};\n", s.width, s.unroll,
                             s.wide_index ? "u64" : "u32");
  if (!s.is_dense) text.source += fmt::format("#define RANK {}\n", s.layout.rank);
  text.source += text_file("nest");
  text.source += body_function(nest, numbers, "body", "NestArguments", true);
  text.source += s.is_dense ? dense_kernel(nest, s) : strided_kernel(nest, s);
  text.numbers = std::move(numbers.all);
  return text;
}

NestText nest_text(const Nest& nest, const RowSchedule& s) {
  NestNumbers numbers;
  NestText text;
  text.entry = "nest_rows";
  text.source = operator_texts(nest.calls);
  text.source += text_file("nest_arguments");
  text.source +=
      fmt::format("#define WIDTH {}\n#define THREADS {}\n#define TY {}\n#define PACKS {}\n#define PACKED {}\n{}",
                  s.width, s.threads, s.ty, s.packs, s.packed ? 1 : 0, columns_line(nest));
  text.source += text_file("block");
  text.source += text_file("row_nest");
  text.source += rows_kernel(nest, numbers);
  text.numbers = std::move(numbers.all);
  return text;
}

}  // namespace sconce::cuda
