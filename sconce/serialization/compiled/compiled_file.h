// Compiled files (.scx): a function recorded for arguments of known sizes, with its weights. Loads without a front end.
//
//   version       the format's
//   device        "cuda", of a file for a device
//   calls.scx     the function and its programs (program_writer.h)
//   data/0, ...   memory of constants, on 64-byte boundaries, used where it lies
//   packed.scx, packed/0, ...  the same as kernels read it (packed_records.h)
//
// All of a file is verified before anything runs (Note [Verified tapes] in compiled_program.h).
#pragma once

#include <map>

#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/compiled/compiled_program.h"
#include "sconce/serialization/compiled/packed_records.h"
#include "sconce/serialization/file/records.h"

namespace sconce::compiled {

inline constexpr const char* kCallsRecord = "calls.scx";
inline constexpr const char* kDeviceRecord = "device";

// The verified content. Throws Error with the file's name and what is wrong; names the version of one that this
// Sconce does not read.
class CompiledFile {
 public:
  explicit CompiledFile(const FileBytesPtr& file, const Limits& limits = {});
  CompiledFunction function;  // with all constants in the file's memory
  // Packed weights for plans that are made while the result lives (packed_records.h).
  std::vector<PackedPtr> adopt_packed() const;
  size_t compare_packed() const;

 private:
  Ref<Storage> storage_of(uint32_t record) const;
  Records records_;
  std::map<uint32_t, Ref<Storage>> storages_;  // that constants lie in
};

// The records of a file to be. Data lies in the memory of the constants, which must live longer; that of constants of a
// device in a copy.
struct CompiledRecords {
  DeviceType device = DeviceType::cpu;
  std::string calls;
  std::vector<Ref<Storage>> data;
  PackedContent packed;  // none without an index
};
CompiledRecords make_records(const CompiledFunction& function);
// What a reader of the file will find. `file` is its name in messages.
CompiledFunction read_records(const CompiledRecords& records, const std::string& file);
// Writes the file, whole or not at all.
void write_compiled(const std::string& path, const CompiledRecords& records);

// A module with the function as its method, and plans for it, on the function's device; `bytes`: how large the file is.
Archive make_archive(CompiledFunction function, const std::string& file, uint64_t bytes);

}  // namespace sconce::compiled

namespace sconce {

// A module with one method, ready to run: plans are made, and calls with other arguments than it was compiled for are
// an Error that names both. It has no attributes. A file for a device is put on the thread's current one, and kernels
// that are not in the folder of kernels are compiled, which is waited for. Throws Error.
SCONCE_API Archive load_compiled(const std::string& path);
SCONCE_API Archive load_compiled(const FileBytesPtr& file, const LoadOptions& options = {});

// What `sconce info` shows.
struct CompiledInfo {
  DeviceType device = DeviceType::cpu;
  std::string function;                 // "forward(Tensor x) -> Tensor"
  std::vector<std::string> signatures;  // what it was compiled for, one text a program
  std::vector<std::vector<std::string>> calls;
  struct Weight {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape;
    uint64_t bytes;
  };
  std::vector<Weight> constants;
  std::vector<std::string> operators;  // "aten::add.Tensor", each once
  std::vector<DType> dtypes;           // of all its tensors, each once
};
SCONCE_API CompiledInfo describe_compiled(const FileBytesPtr& file);

// Checks a file as loading it does, and its packed weights against its constants. Gives what `sconce verify` says. One
// for a device needs none: its calls are made on Meta, its plans are not.
SCONCE_API std::string verify_compiled(const FileBytesPtr& file);

}  // namespace sconce
