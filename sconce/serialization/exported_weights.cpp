#include "sconce/serialization/exported_weights.h"

namespace sconce::exported {
namespace {

class WeightReader {
 public:
  WeightReader(const Records& records, std::string folder)
      : records_(records), folder_(std::move(folder)), storages_(records, folder_) {}

  Tensor read(const Payload& payload) {
    SCONCE_CHECK(!payload.is_pickled, "{}: tensor '{}' is pickled, which is not supported", records_.name(),
                 payload.name);
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
      const Tensor bytes = storages_.find(payload.file, std::nullopt, static_cast<int64_t>(record->size));
      return make_tensor(Ref<Storage>::share(bytes.storage()), dtype, sizes, strides, offset);
    } catch (const Error& error) {
      fail("{}: tensor '{}': {}", records_.name(), payload.name, error.what());
    }
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

}  // namespace

Weights read_weights(const Records& records, const std::string& model) {
  Weights weights;
  weights.payloads = payloads_of(records, "data/weights/" + model + "_weights_config.json");
  WeightReader reader(records, "data/weights/"), constants(records, "data/constants/");
  for (const Payload& p : weights.payloads) weights.tensors.emplace(p.name, reader.read(p));
  for (const Payload& p : payloads_of(records, "data/constants/" + model + "_constants_config.json")) {
    SCONCE_CHECK(weights.tensors.emplace(p.name, constants.read(p)).second, "{}: there are two tensors '{}'",
                 records.name(), p.name);
  }
  return weights;
}

}  // namespace sconce::exported
