#include "sconce/serialization/exported/exported_weights.h"

#include "sconce/serialization/tensors/tensor_files.h"

namespace sconce::exported {
namespace {

Value read_pickled_text(const std::string& text, const std::string& name) {
  return read_pickled(FileBytes::copy(std::as_bytes(std::span(text)), name));
}

class WeightReader {
 public:
  WeightReader(const Records& records, std::string folder)
      : records_(records), folder_(std::move(folder)), storages_(records) {}

  Tensor read(const Payload& payload) {
    if (payload.is_pickled) return unpickled(payload);
    SCONCE_CHECK(payload.meta, "{}: tensor '{}' has no tensor_meta", records_.name(), payload.name);
    const TensorMeta& meta = *payload.meta;
    SCONCE_CHECK(meta.device.type == DeviceType::cpu,
                 "{}: tensor '{}' is on {}; programs exported for the CPU can be read", records_.name(), payload.name,
                 to_string(meta.device));
    const std::vector<int64_t> sizes = numbers(payload, meta.sizes), strides = numbers(payload, meta.strides);
    const int64_t offset = number(payload, meta.offset);
    std::string key = payload.file + "|" + std::string(dtype_name(meta.dtype)) + "|" + std::to_string(offset);
    for (int64_t n : sizes) key += "," + std::to_string(n);
    key += "|";
    for (int64_t n : strides) key += "," + std::to_string(n);
    Tensor& t = tensors_[key];
    if (!t.defined()) t = make(payload, meta.dtype, sizes, strides, offset);
    return t;
  }

 private:
  Tensor make(const Payload& payload, DType dtype, IntList sizes, IntList strides, int64_t offset) {
    const ZipReader::Record* record = records_.find(folder_ + payload.file);
    SCONCE_CHECK(record, "{}: there is no record '{}{}' for tensor '{}'", records_.name(), folder_, payload.file,
                 payload.name);
    try {
      const Tensor bytes = storages_.find(folder_, payload.file, std::nullopt, static_cast<int64_t>(record->size));
      return make_tensor(Ref<Storage>::share(bytes.storage()), dtype, sizes, strides, offset);
    } catch (const Error& error) {
      fail("{}: tensor '{}': {}", records_.name(), payload.name, error.what());
    }
  }
  // One torch.save file for each record, which holds one tensor.
  Tensor unpickled(const Payload& payload) {
    Tensor& t = tensors_[payload.file];
    if (t.defined()) return t;
    const Value v =
        read_pickled_text(records_.read(folder_ + payload.file), records_.name() + ": " + folder_ + payload.file);
    SCONCE_CHECK(v.is_tensor(), "{}: '{}' is no tensor but a {}; custom objects are not supported", records_.name(),
                 payload.name, v.type()->annotation());
    return t = v.to_tensor();
  }
  int64_t number(const Payload& payload, const Size& size) const {
    SCONCE_CHECK(size.number, "{}: tensor '{}' has a size that is no number: '{}'", records_.name(), payload.name,
                 size.expression);
    return *size.number;
  }
  std::vector<int64_t> numbers(const Payload& payload, const std::vector<Size>& sizes) const {
    std::vector<int64_t> out;
    for (const Size& s : sizes) out.push_back(number(payload, s));
    return out;
  }

  const Records& records_;
  std::string folder_;
  Storages storages_;
  std::map<std::string, Tensor> tensors_;
};

std::vector<Payload> payloads_of(const Records& records, const std::string& record) {
  if (!records.find(record)) return {};
  return read_payloads(records.read(record), records.name() + ": " + record);
}

// The tensors of a pickled dict.
std::vector<std::pair<std::string, Tensor>> pickled_tensors(const std::string& text, const std::string& name) {
  const Value v = read_pickled_text(text, name);
  SCONCE_CHECK(v.is_dict(), "{}: is no dict of tensors but a {}", name, v.type()->annotation());
  std::vector<std::pair<std::string, Tensor>> tensors;
  v.to_dict().for_each([&](const Value& key, const Value& item) {
    SCONCE_CHECK(key.is_string() && item.is_tensor(), "{}: {} is no tensor; custom objects are not supported", name,
                 key.repr());
    tensors.emplace_back(key.to_string_ref(), item.to_tensor());
  });
  return tensors;
}

void add(Weights& weights, const std::string& name, Tensor t, const std::string& file) {
  SCONCE_CHECK(weights.tensors.emplace(name, std::move(t)).second, "{}: there are two tensors '{}'", file, name);
}

}  // namespace

Weights read_weights(const Records& records, const std::string& model) {
  const std::string weights_folder = "data/weights/", constants_folder = "data/constants/";
  if (records.find(weights_folder + model + ".pt")) {
    const std::string constants = constants_folder + model + ".pt";
    return read_pickled_weights(records.read(weights_folder + model + ".pt"),
                                records.find(constants) ? records.read(constants) : "", records.name());
  }
  Weights weights;
  WeightReader reader(records, weights_folder), constants(records, constants_folder);
  for (const Payload& p : payloads_of(records, weights_folder + model + "_weights_config.json")) {
    weights.state.emplace_back(p.name, p.is_parameter);
    add(weights, p.name, reader.read(p), records.name());
  }
  for (const Payload& p : payloads_of(records, constants_folder + model + "_constants_config.json")) {
    add(weights, p.name, constants.read(p), records.name());
  }
  return weights;
}

Weights read_pickled_weights(const std::string& state, const std::string& constants, const std::string& file) {
  Weights weights;
  for (auto& [name, t] : pickled_tensors(state, file + ": state dict")) {
    weights.state.emplace_back(name, false);
    add(weights, name, std::move(t), file);
  }
  if (constants.empty()) return weights;
  for (auto& [name, t] : pickled_tensors(constants, file + ": constants")) add(weights, name, std::move(t), file);
  return weights;
}

}  // namespace sconce::exported
