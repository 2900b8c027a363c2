// Pickles of lite archives: what the C++ pickler of PyTorch writes, and `sconce convert`, read as data.
//
// The whole library's reader (serialization/pickle) knows what Python may write, too: objects of unknown classes,
// NumPy's arrays, containers that are filled after others refer to them. Here a container is complete before anything
// can refer to it, so a value's parts are older than itself, and there are no cycles; the limits of pickle_reader.h
// hold.
#pragma once

#include <string>

#include "sconce/lite/stack_machine.h"
#include "sconce/serialization/file/records.h"

namespace sconce::lite {

// What pickles of an archive refer to (archive_model.cpp). All throw Error.
struct ArchiveContext {
  Tensor storage(const std::string& key, DType dtype, int64_t count);  // a flat tensor over it
  Value build(TypePtr type, Value&& state);                            // an object of the class

  const Records& records;
  ArchiveTypes& types;
  StackProgram& program;  // has the methods that make objects
  Storages storages;
  std::string_view folder = "bytecode/";  // of storages
  bool has_objects = false;               // those of constants are refused
  const Places* places = nullptr;
  size_t restored_slots = 0;
};

// The value that the pickle in this record is. Throws Error.
Value read_archive_pickle(const char* record, ArchiveContext& context);

}  // namespace sconce::lite
