// Tensor files: reads and writes safetensors, .npy, .npz, and torch.save files (.pth; zip and legacy). Nothing in a
// file is trusted; tensors lie in the mapped file if it is aligned and uncompressed.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sconce/serialization/file/file_bytes.h"
#include "sconce/types/value.h"

namespace sconce {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Tensors of kinds that Sconce does not have (quantised, sparse): name and description.
using UnsupportedTensors = std::vector<std::pair<std::string, std::string>>;

// Objects of Python classes that nothing here knows (opaque_objects.h): name and class.
using OpaqueObjects = std::vector<std::pair<std::string, std::string>>;

struct TensorFile {
  NamedTensors tensors;                         // in the file's order
  std::map<std::string, std::string> metadata;  // of safetensors
  UnsupportedTensors unsupported;               // the rest, which cannot be written
  OpaqueObjects opaque = {};                    // of torch.save files: what stands beside the tensors
};

// Throw Error with the file's name and what is wrong.
SCONCE_API TensorFile read_safetensors(FileBytesPtr file);
SCONCE_API Tensor read_npy(FileBytesPtr file);
SCONCE_API NamedTensors read_npz(FileBytesPtr file);
// torch.load: any value made of numbers, strings, containers and tensors. Reads zip and legacy files, calls nothing.
// Sets become lists, bytes strings, dtypes numbers, NumPy's arrays tensors and its scalars numbers; special_tensors.h
// describes quantised and sparse tensors, opaque_objects.h objects of unknown classes.
SCONCE_API Value read_pickled(FileBytesPtr file);
// The tensors of a (nested) state dict or of an object with dotted names; "" for a lone tensor. Values that are neither
// containers nor tensors are left out. Quantised and sparse tensors go to `unsupported`; without it they are an Error.
SCONCE_API NamedTensors flatten_tensors(const Value& v, UnsupportedTensors* unsupported = nullptr);
// The opaque objects in a value, with dotted names.
SCONCE_API OpaqueObjects find_opaque(const Value& v);
// Throws Error that names the first opaque object, if there is one: `file` holds what cannot be used.
SCONCE_API void refuse_opaque(const Value& v, const std::string& file);
// By the file's content: any of the above; for programs (.pt, .ptl, .pt2) the parameters and buffers by name.
// Nothing of a program is compiled or run.
SCONCE_API TensorFile read_tensors(const std::string& path);
SCONCE_API TensorFile read_tensors(const FileBytesPtr& file);

// Each is written whole or not at all. Throw Error for values that the format cannot hold.
SCONCE_API void write_safetensors(const std::string& path, const TensorFile& content);
SCONCE_API void write_npy(const std::string& path, const Tensor& t);
SCONCE_API void write_npz(const std::string& path, const NamedTensors& tensors, bool deflate = false);
// torch.save: PyTorch's torch.load(weights_only=True) reads it.
SCONCE_API void write_pickled(const std::string& path, const Value& v);

}  // namespace sconce
