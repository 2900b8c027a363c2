// Checks of exported programs on their inputs.
#include <cmath>

#include "sconce/dispatch/registry.h"
#include "sconce/generated/export_kernels.h"
#include "sconce/types/value.h"

namespace sconce::boxed {
namespace {

std::string limits(const Value& min, const Value& max) {
  if (min.is_none()) return "at most " + std::to_string(max.to_int());
  if (max.is_none()) return "at least " + std::to_string(min.to_int());
  return std::to_string(min.to_int()) + " to " + std::to_string(max.to_int());
}

// [3, ?, 4]
std::string sizes_text(IntList sizes) {
  std::string out;
  for (int64_t size : sizes) out += (out.empty() ? "[" : ", ") + (size < 0 ? std::string("?") : std::to_string(size));
  return out.empty() ? "[]" : out + "]";
}

// Equal in value and in kind; a nan is equal to itself.
bool same_constant(const Value& a, const Value& b) {
  if (a.tag() != b.tag()) return false;
  if (a.is_double() && std::isnan(a.to_double())) return std::isnan(b.to_double());
  return a.equals(b);
}

// Does some byte belong to elements of both, going by the first and the last of each?
bool share_memory(const Tensor& a, const Tensor& b) {
  if (a.storage() != b.storage() || a.numel() == 0 || b.numel() == 0) return false;
  const auto end = [](const Tensor& t) {
    int64_t last = t.storage_offset();
    for (int64_t d = 0; d < t.dim(); ++d) last += (t.sizes()[d] - 1) * t.strides()[d];
    return (last + 1) * static_cast<int64_t>(t.item_size());
  };
  const auto begin = [](const Tensor& t) { return t.storage_offset() * static_cast<int64_t>(t.item_size()); };
  return begin(a) < end(b) && begin(b) < end(a);
}

}  // namespace

void check_tensor(const Op&, KeySet, Value* args, Value*) {
  const Tensor& t = args[0].to_tensor();
  const std::string& name = args[1].to_string_ref();
  const DType dtype = dtype_from_number(args[2].to_int());
  const IntList sizes = args[3].to_list().ints();
  SCONCE_CHECK(t.dtype() == dtype, "input '{}': is a tensor of {}, the program was exported for {}", name,
               dtype_name(t.dtype()), dtype_name(dtype));
  SCONCE_CHECK(t.sizes().size() == sizes.size(),
               "input '{}': has {} dimensions (sizes {}), the program was exported for {} (sizes {})", name,
               t.sizes().size(), t.sizes(), sizes.size(), sizes_text(sizes));
  for (size_t i = 0; i < sizes.size(); ++i) {
    SCONCE_CHECK(sizes[i] < 0 || t.sizes()[i] == sizes[i],
                 "input '{}': dimension {} is {}, the program was exported for {}", name, i, t.sizes()[i], sizes[i]);
  }
}

void check_range(const Op&, KeySet, Value* args, Value*) {
  const int64_t value = args[0].to_int();
  SCONCE_CHECK((args[2].is_none() || value >= args[2].to_int()) && (args[3].is_none() || value <= args[3].to_int()),
               "{} is {}, the program was exported for {}", args[1].to_string_ref(), value, limits(args[2], args[3]));
}

void check_size(const Op&, KeySet, Value* args, Value*) {
  SCONCE_CHECK(args[0].to_int() == args[2].to_int(), "{} is {}, the program was exported for {} = {}",
               args[1].to_string_ref(), args[0].to_int(), args[3].to_string_ref(), args[2].to_int());
}

void check_guard(const Op&, KeySet, Value* args, Value*) {
  SCONCE_CHECK(args[0].to_bool(), "the program was exported for inputs with {}", args[1].to_string_ref());
}

void check_constant(const Op&, KeySet, Value* args, Value*) {
  SCONCE_CHECK(same_constant(args[0], args[2]), "input '{}': is {}, the program was exported for {}",
               args[1].to_string_ref(), args[0].repr(), args[2].repr());
}

void check_length(const Op&, KeySet, Value* args, Value*) {
  const auto length = static_cast<int64_t>(args[0].to_list().size());
  SCONCE_CHECK(length == args[2].to_int(), "input '{}': has {} items, the program was exported for {}",
               args[1].to_string_ref(), length, args[2].to_int());
}

void check_keys(const Op&, KeySet, Value* args, Value*) {
  const Dict& dict = args[0].to_dict();
  const std::vector<Value> keys = args[2].to_list().values();
  for (const Value& key : keys) {
    SCONCE_CHECK(dict.find(key), "input '{}': has no key {}, the program was exported for {}", args[1].to_string_ref(),
                 key.repr(), args[2].repr());
  }
  if (dict.size() == keys.size()) return;
  dict.for_each([&](const Value& key, const Value&) {
    bool known = false;
    for (const Value& k : keys) known |= k.equals(key);
    SCONCE_CHECK(known, "input '{}': has a key {}, the program was exported for {}", args[1].to_string_ref(),
                 key.repr(), args[2].repr());
  });
}

void check_apart(const Op&, KeySet, Value* args, Value*) {
  std::vector<Value> all = args[0].to_list().values();
  const size_t written = all.size();
  for (const Value& v : args[1].to_list().values()) all.push_back(v);
  for (size_t i = 0; i < written; ++i) {
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (!all[j].is_tensor() || !all[j].to_tensor().defined()) continue;
      SCONCE_CHECK(
          !share_memory(all[i].to_tensor(), all[j].to_tensor()),
          "'{}' and '{}' share memory: the program writes to the first and was lowered for tensors that do not",
          args[2].to_list().get(i).to_string_ref(), args[2].to_list().get(j).to_string_ref());
    }
  }
}

void number_tensor(const Op&, KeySet, Value* args, Value* returns) { returns[0] = wrapped_number(args[0].to_scalar()); }

void check_type(const Op&, KeySet, Value* args, Value*) {
  const TypePtr type = parse_type(args[2].to_string_ref());
  SCONCE_CHECK_AS(type, is_subtype(args[0].type(), type), "input '{}': is of type {}, the program was exported for {}",
                  args[1].to_string_ref(), args[0].type()->annotation(), type->annotation());
}

}  // namespace sconce::boxed
