// The operator that compares the arguments of a call with those that a file was compiled for.
#include "sconce/dispatch/op.h"
#include "sconce/generated/export_kernels.h"
#include "sconce/kernels/boxed/call_signature.h"

namespace sconce::boxed {
namespace {

template <class Items, class F>
std::string joined(const Items& items, F&& text) {
  std::string all;
  for (const auto& item : items) all += (all.empty() ? "" : ", ") + text(item);
  return all;
}

}  // namespace

// Meta tensors may be asked for what a call of the CPU gives.
DeviceType own_device(const Tensor& t) { return t.is_meta() ? DeviceType::cpu : t.device().type; }

std::string argument_text(const Value& v, const DeviceOfTensor& device_of) {
  const auto text = [&](const Value& item) { return argument_text(item, device_of); };
  switch (v.tag()) {
    case Tag::tensor: {
      const DeviceType device = device_of(v.to_tensor());
      return std::string(dtype_name(v.to_tensor().dtype())) + " [" +
             joined(v.to_tensor().sizes(), [](int64_t size) { return std::to_string(size); }) + "]" +
             (device == DeviceType::cpu ? "" : " on " + to_string(Device{device}));
    }
    case Tag::list:
      return "[" + joined(v.to_list().values(), text) + "]";
    case Tag::tuple:
      return "(" + joined(v.to_tuple().items, text) + ")";
    case Tag::dict:
      return "{" +
             joined(v.to_dict().items(),
                    [&](const auto& item) { return text(item.first) + ": " + text(item.second); }) +
             "}";
    default:
      return v.repr();
  }
}

std::string call_text(const Value& args, const std::vector<std::string>& names, const DeviceOfTensor& device_of) {
  const std::vector<Value>& items = args.to_tuple().items;
  std::string all;
  for (size_t i = 0; i < items.size(); ++i)
    all +=
        (i ? ", " : "") + (i < names.size() ? names[i] : std::to_string(i)) + ": " + argument_text(items[i], device_of);
  return "(" + all + ")";
}

void compiled_for(const Op&, KeySet, Value* args, Value* returns) {
  std::vector<std::string> names;
  for (const Value& name : args[1].to_list().values()) names.push_back(name.to_string_ref());
  const std::string given = call_text(args[0], names);
  const std::vector<Value> signatures = args[2].to_list().values();
  for (size_t i = 0; i < signatures.size(); ++i) {
    if (signatures[i].to_string_ref() != given) continue;
    returns[0] = Value(static_cast<int64_t>(i));
    return;
  }
  std::string known;
  for (const Value& signature : signatures) known += (known.empty() ? "" : " or ") + signature.to_string_ref();
  fail("the file was compiled for arguments {}, given were {}", known, given);
}

}  // namespace sconce::boxed
