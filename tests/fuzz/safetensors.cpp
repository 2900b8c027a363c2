#include "sconce/serialization/tensors/safetensors.h"

#include <cstdlib>

#include "sconce/base/error.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {

void safetensors(std::string_view bytes) {
  try {
    const SafetensorsFile file = SafetensorsFile::parse(bytes, "safetensors");
    for (const SafetensorsFile::Entry& entry : file.entries()) {
      const Tensor t = file.in_place(entry.name);
      unsigned sum = 0;
      for (size_t i = 0; i < static_cast<size_t>(t.numel()) * t.item_size(); ++i) sum += t.data<uint8_t>()[i];
      if (t.dtype() == DType::bool_ && sum > t.numel()) std::abort();
    }
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
