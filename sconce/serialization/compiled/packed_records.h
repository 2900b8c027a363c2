// Packed weights in compiled files: constants as kernels read them, so that loading need not pack. They are a copy of
// what the constants say, good for one level of instructions and one revision of the packers; where either differs, the
// constants are packed as if there were none.
//
//   packed.scx    revision; for each: where the weight lies (record, offset, dtype, sizes, strides), form, record
//   packed/0, ... the bytes, on 64-byte boundaries, used where they lie
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sconce/kernels/cpu/gemm/packed_weights.h"
#include "sconce/serialization/file/records.h"

namespace sconce::compiled {

inline constexpr const char* kPackedRecord = "packed.scx";
inline constexpr uint32_t kMaxPacked = 1u << 16;

// What plans have packed of these storages, which are the records data/0, data/1, ... of a file to be.
struct PackedContent {
  std::string index;
  std::vector<PackedPtr> packed;
};
PackedContent packed_content(std::span<const Ref<Storage>> data);

// The storage of a record of data; throws Error when no constant lies there.
using StorageOfRecord = std::function<Ref<Storage>(uint32_t record)>;

// Offers the packed weights of a file to plans, which take them while the result lives. Throws Error for an index that
// leads outside of records.
std::vector<PackedPtr> adopt_packed(const Records& records, const StorageOfRecord& storage_of);
// Compares them with those that plans in this process have packed, and gives how many there were. Throws Error where
// they differ.
size_t compare_packed(const Records& records, const StorageOfRecord& storage_of);

}  // namespace sconce::compiled
