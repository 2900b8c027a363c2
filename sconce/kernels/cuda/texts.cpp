#include "sconce/kernels/cuda/texts.h"

#include <unordered_map>

#include <fmt/format.h>

#include "sconce/base/error.h"
#include "sconce/kernels/loop_lists.h"

namespace sconce::cuda {
namespace {

template <class Loops>
std::unordered_map<const Loops*, const DeviceText*> joined(std::span<const Loops* const> loops,
                                                           std::span<const std::span<const DeviceText>> families,
                                                           size_t without_text) {
  std::unordered_map<const Loops*, const DeviceText*> map;
  size_t at = 0;
  for (const auto family : families) {
    for (const DeviceText& text : family) {
      SCONCE_CHECK(at < loops.size(),
                   "libsconce_cuda.so is of another build than libsconce.so: it knows more operators");
      map[loops[at++]] = &text;
    }
  }
  SCONCE_CHECK(at + without_text == loops.size(),
               "libsconce_cuda.so is of another build than libsconce.so: it has texts of {} operators, not of {}", at,
               loops.size() - without_text);
  return map;
}

constexpr const char* kSpecialFiles[] = {"special_gamma", "special_incomplete_gamma", "special_bessel",
                                         "special_airy",  "special_orthogonal",       "special_draw_gradients"};
constexpr size_t kHandWritten = 4;  // reductions: argmax, argmin, max_index, min_index

}  // namespace

const DeviceText& text_of(const PointwiseLoops& loops) {
  static const auto& map = *new auto(joined<PointwiseLoops>(pointwise_loops(), pointwise_texts(), 0));
  const auto found = map.find(&loops);
  SCONCE_CHECK(found != map.end(), "{}: no CUDA text: these loops are not of the table", loops.name);
  return *found->second;
}

const DeviceText* text_of(const ReduceLoops& loops) {
  static const auto& map = *new auto(joined<ReduceLoops>(reduce_loops(), reduce_texts(), kHandWritten));
  const auto found = map.find(&loops);
  return found == map.end() ? nullptr : found->second;
}

std::string_view text_file(std::string_view name) {
  for (const NamedText& file : text_files()) {
    if (name == file.name) return file.text;
  }
  fail("libsconce_cuda has no text '{}'", name);
}

std::string vocabulary(bool complex, uint8_t specials, bool special_vectors) {
  std::string out(text_file("prelude"));
  out += text_file("vocabulary");
  if (complex) out += text_file("complex");
  // The draws' gradients use the incomplete gamma function, both gamma's own.
  if (specials & 32) specials |= 2;
  if (specials & 2 || special_vectors) specials |= 1;
  if (specials == 0) return out;
  out += text_file("special_before");
  out += text_file("special_shared");
  for (int i = 0; i < 6; ++i) {
    if (specials >> i & 1) out += text_file(kSpecialFiles[i]);
  }
  if (special_vectors) out += text_file("special_vectors");
  out += "namespace word { namespace special = sconce::special; }\n";
  return out;
}

bool uses_special_vectors(std::string_view expression) {
  for (const std::string_view name : {"bessel_j0(", "bessel_j1(", "bessel_y0(", "bessel_y1(", "digamma(", "erfcx(",
                                      "erfinv(", "i0(", "i0e(", "i1(", "i1e(", "lgamma(", "ndtri(", "trigamma("}) {
    if (expression.find(name) != std::string_view::npos) return true;
  }
  return false;
}

std::string compute_lines(Compute compute) {
  switch (compute) {
    case Compute::f32:
      return "using V = float; using P = float;\n#define L(x) x##f\n#define V_INF float(INFINITY_64)\n#define V_NAN "
             "float(NAN_64)\n";
    case Compute::f64:
      return "using V = double; using P = double;\n#define L(x) x\n#define V_INF INFINITY_64\n#define V_NAN NAN_64\n";
    case Compute::i32:
      return "using V = i32; using P = i32;\n";
    case Compute::i64:
      return "using V = i64; using P = i64;\n";
    case Compute::u8:
      return "using V = u8; using P = u8;\n";
    case Compute::c64:
      return "using V = c64; using Z = c64; using P = float;\n#define L(x) x##f\n#define V_INF "
             "float(INFINITY_64)\n#define "
             "V_NAN float(NAN_64)\n";
    case Compute::c128:
      return "using V = c128; using Z = c128; using P = double;\n#define L(x) x\n#define V_INF INFINITY_64\n#define "
             "V_NAN "
             "NAN_64\n";
  }
  fail("unknown compute type");
}

Class class_of(Compute compute) {
  switch (compute) {
    case Compute::u8:
      return Class::boolean;
    case Compute::i32:
    case Compute::i64:
      return Class::integer;
    case Compute::c64:
    case Compute::c128:
      return Class::complex;
    default:
      return Class::real;
  }
}

const char* stored_type(DType dtype) {
  switch (dtype) {
    case DType::bool_:
      return "b8";
    case DType::uint8:
      return "u8";
    case DType::int8:
      return "i8";
    case DType::int16:
      return "i16";
    case DType::int32:
      return "i32";
    case DType::int64:
      return "i64";
    case DType::uint16:
      return "u16";
    case DType::uint32:
      return "u32";
    case DType::uint64:
      return "u64";
    case DType::float16:
      return "f16";
    case DType::bfloat16:
      return "bf16";
    case DType::float32:
      return "f32";
    case DType::float64:
      return "f64";
    case DType::complex64:
      return "c64";
    case DType::complex128:
      return "c128";
    case DType::float8_e4m3fn:
      return "e4m3";
    case DType::float8_e5m2:
      return "e5m2";
    default:
      fail("no CUDA kernels for elements of {}", dtype_name(dtype));
  }
}

const char* moved_type(int64_t item_size) {
  switch (item_size) {
    case 1:
      return "u8";
    case 2:
      return "u16";
    case 4:
      return "u32";
    case 8:
      return "u64";
    case 16:
      return "u128";
    default:
      fail("no CUDA kernels for elements of {} bytes", item_size);
  }
}

}  // namespace sconce::cuda
