#include "server/protocol/wire_tensor.h"

#include <cmath>
#include <cstring>

#include "sconce/ops.h"
#include "server/protocol/datatype.h"
#include "server/protocol/failure.h"
#include "server/protocol/json_reader.h"
#include "server/protocol/json_writer.h"

namespace sconce::server {
namespace {

constexpr size_t kMaxRank = 64;              // as PyTorch
constexpr int64_t kMaxElements = 1ll << 40;  // times 8 bytes still is a size
constexpr int64_t kFewestBytesOfString = 4;  // its length

DType wanted_dtype(const WireTensor& t) {
  const auto dtype = dtype_of(t.datatype);
  if (!dtype) refuse("tensor '{}': there is no datatype '{}'", t.name, t.datatype.substr(0, 40));
  return *dtype;
}

// Calls f with a value of the C++ type of elements. The 16-bit floats are read and written as float.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bool_:
      return f(bool());
    case DType::uint8:
      return f(uint8_t());
    case DType::uint16:
      return f(uint16_t());
    case DType::uint32:
      return f(uint32_t());
    case DType::uint64:
      return f(uint64_t());
    case DType::int8:
      return f(int8_t());
    case DType::int16:
      return f(int16_t());
    case DType::int32:
      return f(int32_t());
    case DType::int64:
      return f(int64_t());
    case DType::float64:
      return f(double());
    default:
      return f(float());
  }
}

template <class T>
T read_element(JsonReader& in, const WireTensor& t) {
  if constexpr (std::is_same_v<T, bool>) {
    const char c = in.peek();
    if (c == 't' || c == 'f') return in.boolean();
    const int64_t v = in.integer();
    if (v != 0 && v != 1) refuse("tensor '{}': {} is neither true nor false", t.name, v);
    return v != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    const double v = in.number();
    const T narrow = static_cast<T>(v);
    if (std::isinf(narrow) && !std::isinf(v)) refuse("tensor '{}': {} is too large for {}", t.name, v, t.datatype);
    return narrow;
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return in.unsigned_integer();
  } else {
    const int64_t v = in.integer();
    if (v != static_cast<int64_t>(static_cast<T>(v)))
      refuse("tensor '{}': {} does not fit into {}", t.name, v, t.datatype);
    return static_cast<T>(v);
  }
}

// Elements of an array, in order. `nested`: it is an array of arrays, as the shape says.
class ArrayReader {
 public:
  ArrayReader(const WireTensor& t, std::string_view text) : in_(text), t_(t), count_(element_count(t.name, t.shape)) {}
  template <class Each>
  void read(Each&& each) {
    if (in_.peek() != '[') refuse("tensor '{}': data has to be an array", t_.name);
    read_level(0, each);
    in_.end();
    if (seen_ != count_) refuse("tensor '{}': data has {} elements, the shape says {}", t_.name, seen_, count_);
  }

 private:
  template <class Each>
  void read_level(size_t level, Each& each) {
    int64_t items = 0;
    bool arrays = false;
    in_.array([&] {
      const bool is_array = in_.peek() == '[';
      if (items++ == 0) arrays = is_array;
      if (is_array != arrays) refuse("tensor '{}': data has arrays beside elements", t_.name);
      if (is_array) return read_level(level + 1, each);
      if (seen_ == count_) refuse("tensor '{}': data has more than the {} elements of its shape", t_.name, count_);
      each(in_);
      ++seen_;
    });
    const bool flat = level == 0 && !arrays;
    if (flat) return;
    if (level >= t_.shape.size() || items != t_.shape[level])
      refuse("tensor '{}': data is not nested as its shape says", t_.name);
    if (!arrays && items > 0 && level + 1 != t_.shape.size())
      refuse("tensor '{}': data is not nested as its shape says", t_.name);
  }

  JsonReader in_;
  const WireTensor& t_;
  int64_t count_, seen_ = 0;
};

}  // namespace

int64_t element_count(const std::string& name, const std::vector<int64_t>& shape) {
  if (shape.size() > kMaxRank)
    refuse("tensor '{}': a shape has at most {} dimensions, got {}", name, kMaxRank, shape.size());
  int64_t count = 1;
  bool empty = false;
  for (const int64_t n : shape) {
    if (n < 0) refuse("tensor '{}': a size of its shape is {}", name, n);
    if (n == 0)
      empty = true;
    else if (__builtin_mul_overflow(count, n, &count) || count > kMaxElements)
      refuse("tensor '{}': its shape has too many elements", name);
  }
  return empty ? 0 : count;
}

void read_bytes(WireTensor& t, std::string_view bytes) {
  const int64_t count = element_count(t.name, t.shape);
  if (t.datatype == kBytes) {
    if (count * kFewestBytesOfString > static_cast<int64_t>(bytes.size()))
      refuse("tensor '{}': {} bytes are too few for {} strings", t.name, bytes.size(), count);
    t.strings.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      uint32_t length = 0;
      if (bytes.size() < sizeof length) refuse("tensor '{}': its bytes end before string {}", t.name, i);
      std::memcpy(&length, bytes.data(), sizeof length);
      bytes.remove_prefix(sizeof length);
      if (length > bytes.size())
        refuse("tensor '{}': string {} has {} bytes, and {} are left", t.name, i, length, bytes.size());
      t.strings.emplace_back(bytes.substr(0, length));
      bytes.remove_prefix(length);
    }
    if (!bytes.empty()) refuse("tensor '{}': {} bytes follow its {} strings", t.name, bytes.size(), count);
    return;
  }
  const DType dtype = wanted_dtype(t);
  const size_t wanted = static_cast<size_t>(count) * item_size(dtype);
  if (wanted != bytes.size())
    refuse("tensor '{}': {} of shape [{}] has {} bytes, got {}", t.name, t.datatype, fmt::join(t.shape, ", "), wanted,
           bytes.size());
  if (dtype == DType::bool_) {
    for (const char c : bytes) {
      if (c != 0 && c != 1) refuse("tensor '{}': {} is no BOOL", t.name, static_cast<int>(c));
    }
  }
  t.tensor = empty_tensor(t.shape, dtype);
  if (wanted) std::memcpy(t.tensor.data(), bytes.data(), wanted);
}

void read_json_data(WireTensor& t, std::string_view array) {
  const int64_t count = element_count(t.name, t.shape);
  ArrayReader reader(t, array);
  // Each element takes two characters: a shape cannot ask for more memory than the text is worth.
  if (count > static_cast<int64_t>(array.size() / 2 + 1))
    refuse("tensor '{}': data has fewer elements than the {} that the shape says", t.name, count);
  if (t.datatype == kBytes) {
    reader.read([&](JsonReader& in) {
      if (in.peek() != '"') in.wrong("a string");
      t.strings.push_back(in.string());
    });
    return;
  }
  const DType dtype = wanted_dtype(t);
  const bool half = dtype == DType::float16 || dtype == DType::bfloat16;
  Tensor tensor = empty_tensor(t.shape, half ? DType::float32 : dtype);
  with_type(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* to = tensor.data<T>();
    reader.read([&](JsonReader& in) { *to++ = read_element<T>(in, t); });
  });
  t.tensor = half ? sconce::to(tensor, dtype) : tensor;
}

size_t byte_size(const WireTensor& t) {
  if (t.datatype != kBytes) return static_cast<size_t>(t.tensor.numel()) * t.tensor.item_size();
  size_t n = 0;
  for (const std::string& s : t.strings) n += 4 + s.size();
  return n;
}

void write_bytes(const WireTensor& t, std::string& out) {
  if (t.datatype != kBytes) {
    if (t.tensor.numel()) out.append(static_cast<const char*>(t.tensor.data()), byte_size(t));
    return;
  }
  for (const std::string& s : t.strings) {
    const auto length = static_cast<uint32_t>(s.size());
    out.append(reinterpret_cast<const char*>(&length), sizeof length);
    out += s;
  }
}

void write_json_data(const WireTensor& t, JsonWriter& out) {
  out.open('[');
  if (t.datatype == kBytes) {
    for (const std::string& s : t.strings) out.text(s);
  } else {
    const bool half = t.tensor.dtype() == DType::float16 || t.tensor.dtype() == DType::bfloat16;
    const Tensor tensor = half ? sconce::to(t.tensor, DType::float32) : t.tensor;
    with_type(tensor.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* from = tensor.data<T>();
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        if constexpr (std::is_floating_point_v<T>) {
          if (!std::isfinite(from[i]))
            refuse("output '{}' has {}, which JSON does not have: ask for it with binary_data", t.name, from[i]);
        }
        if constexpr (std::is_same_v<T, bool>)
          out.boolean(from[i]);
        else
          out.number(from[i]);
      }
    });
  }
  out.close(']');
}

WireTensor make_wire_tensor(std::string name, const Tensor& tensor) {
  WireTensor t;
  t.datatype = datatype_of(tensor.dtype());
  if (t.datatype.empty())
    refuse(Code::unimplemented, "output '{}' is of {}, which the protocol does not have", name,
           dtype_name(tensor.dtype()));
  t.name = std::move(name);
  t.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
  Tensor there = tensor;
  if (there.layout() != Layout::strided) there = there.to_dense();
  if (there.device().type != DeviceType::cpu) there = there.to(std::nullopt, std::nullopt, Device());
  t.tensor = there.resolve_conj().resolve_neg().contiguous();
  return t;
}

WireTensor make_wire_strings(std::string name, std::vector<std::string> strings) {
  return {std::move(name), std::string(kBytes), {static_cast<int64_t>(strings.size())}, {}, std::move(strings)};
}

}  // namespace sconce::server
