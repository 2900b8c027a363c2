// ModelBytes: the file of a model in a lite library, which lives as long as the model and all that lies in it.
#pragma once

#include "sconce/serialization/file/file_bytes.h"

namespace sconce::lite {

class ModelBytes : public FileBytes {
 public:
  // Borrows them, or copies them to the host's memory; throws Error when there is none.
  ModelBytes(std::span<std::byte> bytes, bool copy);
  ~ModelBytes();
  // Owns nothing.
  FileBytesPtr pointer() const { return {FileBytesPtr(), this}; }

 private:
  const bool is_copy_;
};

}  // namespace sconce::lite
