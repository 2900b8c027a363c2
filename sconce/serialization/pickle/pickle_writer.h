// Pickle writer: writes Values as pickles of protocol 2, which PyTorch reads: data.pkl, constants.pkl, bytecode.pkl of
// archives. Parts that are shared in the value are shared in the pickle; storages go to a table, in the order in which
// they are met. The same value gives the same bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sconce/types/value.h"

namespace sconce {

// The storages that pickles refer to: "0", "1", ... in the order of their first use; each is written once.
class SCONCE_API StorageTable {
 public:
  explicit StorageTable(std::string suffix = {}) : suffix_(std::move(suffix)) {}  // ".storage" in lite archives
  std::string key_of(const Tensor& t);  // of the tensor's storage; adds it when it is new
  // Flat, of bytes, in host memory.
  const std::vector<std::pair<std::string, Tensor>>& storages() const { return storages_; }

 private:
  std::string suffix_;
  std::vector<std::pair<std::string, Tensor>> storages_;
  std::unordered_map<const Storage*, size_t> by_storage_;
};

struct PickleOptions {
  // `torch.save`'s dialect: plain lists and dicts, no type tags; a dict of strings to tensors is an OrderedDict.
  bool plain = false;
  // The state of an object (the result of __getstate__, or nothing: the dict of its attributes).
  std::function<std::optional<Value>(const Value& object)> state_of;
  // The pickle's name in errors: the file and the record.
  std::string name = "pickle";
};

// Throws Error for values that cannot be written (functions, generators, futures, streams, cycles) and for values
// nested too deeply, with the place: "model.pt: data.pkl: encoder.rng: a Generator cannot be saved".
SCONCE_API std::string write_pickle(const Value& v, StorageTable& storages, const PickleOptions& options = {});

}  // namespace sconce
