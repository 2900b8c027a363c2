// Package archives: reads what torch.package.PackageExporter writes: pickles, resources, Python source, and the
// TorchScript modules that pickles refer to. Python source is listed and never run.
#pragma once

#include <string>
#include <vector>

#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/file/records.h"
#include "sconce/types/value.h"

namespace sconce {

struct PackageContent {
  struct Module {
    std::string name;    // the pickle that holds it: "models/a.pkl", "models/b.pkl#1" if that holds several
    std::string folder;  // its place: ".data/ts_code/0"
  };
  std::vector<Module> modules;              // of TorchScript
  std::vector<std::string> pickles;         // records, in the file's order
  std::vector<std::string> python;          // likewise
  std::vector<std::string> resources;       // likewise: texts and bytes
  std::vector<std::string> extern_modules;  // Python modules that the pickles need from outside
};

// Whether the zip file is one.
SCONCE_API bool is_package(const Records& records);
// Throw Error with the file's name and what is wrong.
SCONCE_API PackageContent read_package(const Records& records);
// The pickle of a package: see read_pickled; TorchScript modules in it are dicts of their tensors.
SCONCE_API Value read_packaged(const Records& records, const std::string& pickle);
// The TorchScript module of that name; without a name the only one.
SCONCE_API Archive load_package(FileBytesPtr file, const std::string& name = {}, const LoadOptions& options = {});

}  // namespace sconce
