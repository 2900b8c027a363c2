// Writes safetensors, .npy and .npz files.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "sconce/base/error.h"
#include "sconce/dispatch/registry.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/tensors/npy.h"
#include "sconce/serialization/tensors/safetensors_dtypes.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/tensor/copy.h"
#include "sconce/tensor/sparse/sparse_parts.h"

namespace sconce {
namespace {

constexpr size_t kAlignment = 64;  // of the first tensor of a safetensors file

// The elements, one after the other.
Tensor contiguous(const Tensor& t, const std::string& path, const std::string& name) {
  SCONCE_CHECK(!t.is_meta(), "{}: tensor '{}' has no data: it is on the device meta", path, name);
  SCONCE_CHECK(t.layout() == Layout::strided,
               "{}: tensor '{}' cannot be written: its layout is torch.{}, and these files "
               "hold strided tensors",
               path, name, layout_name(t.layout()));
  const Tensor host = host_copy(t);
  return host.is_contiguous() ? host : call_op("aten::contiguous", {host}).at(0).to_tensor();
}

std::span<const std::byte> bytes_of(const Tensor& t) {
  return {t.data<const std::byte>(), static_cast<size_t>(t.numel()) * t.item_size()};
}

std::string json_text(const std::string& text, const std::string& path) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail("{}: a name is not valid UTF-8: '{}'", path, text);
  }
}

void check_names(const NamedTensors& tensors, const std::string& path) {
  std::set<std::string_view> names;
  for (const auto& [name, t] : tensors) {
    SCONCE_CHECK(names.insert(name).second, "{}: two tensors are called '{}'", path, name);
  }
}

}  // namespace

void write_safetensors(const std::string& path, const TensorFile& content) {
  const NamedTensors& tensors = content.tensors;
  check_names(tensors, path);
  if (!content.unsupported.empty()) {
    const auto& [name, description] = content.unsupported.front();
    fail("{}: tensor '{}' cannot be written: it is a {}", path, name, description);
  }
  // Those with the largest elements come first, so that all are aligned.
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return tensors[a].second.item_size() > tensors[b].second.item_size(); });
  std::vector<uint64_t> begins(tensors.size());
  uint64_t end = 0;
  for (size_t i : order) {
    begins[i] = end;
    end += static_cast<uint64_t>(tensors[i].second.numel()) * tensors[i].second.item_size();
  }
  std::string header = "{";
  if (!content.metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, text] : content.metadata) {
      header += (header.back() == '{' ? "" : ",") + json_text(key, path) + ":" + json_text(text, path);
    }
    header += "}";
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto& [name, t] = tensors[i];
    SCONCE_CHECK(name != "__metadata__", "{}: a tensor cannot be called '__metadata__'", path);
    if (header.size() > 1) header += ",";
    header += json_text(name, path) + ":{\"dtype\":\"" + std::string(safetensors_name(t.dtype())) + "\",\"shape\":[";
    for (int64_t n : t.sizes()) header += (header.back() == '[' ? "" : ",") + std::to_string(n);
    const uint64_t bytes = static_cast<uint64_t>(t.numel()) * t.item_size();
    header += "],\"data_offsets\":[" + std::to_string(begins[i]) + "," + std::to_string(begins[i] + bytes) + "]}";
  }
  header += "}";
  header.append((kAlignment - (8 + header.size()) % kAlignment) % kAlignment, ' ');

  FileWriter out(path);
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i);
  out.write(length);
  out.write(header);
  for (size_t i : order) {
    const Tensor t = contiguous(tensors[i].second, path, tensors[i].first);
    out.write(bytes_of(t));
  }
  out.commit();
}

void write_npy(const std::string& path, const Tensor& t) {
  const Tensor whole = contiguous(t, path, "");
  FileWriter out(path);
  out.write(npy_header(t.dtype(), t.sizes()));
  out.write(bytes_of(whole));
  out.commit();
}

void write_npz(const std::string& path, const NamedTensors& tensors, bool deflate) {
  check_names(tensors, path);
  FileWriter out(path);
  ZipWriter zip(out, "");
  for (const auto& [name, t] : tensors) {
    const Tensor whole = contiguous(t, path, name);
    std::string content = npy_header(t.dtype(), t.sizes());
    const std::span<const std::byte> bytes = bytes_of(whole);
    content.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    zip.add(name + ".npy", content, deflate);
  }
  zip.finish();
  out.commit();
}

}  // namespace sconce
