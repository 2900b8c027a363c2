// WireTensor: a named tensor of a request or a response, and its serialization as bytes and as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sconce/tensor/tensor.h"

namespace sconce::server {

class JsonWriter;

struct WireTensor {
  std::string name;
  std::string datatype;  // of the protocol
  std::vector<int64_t> shape;
  Tensor tensor;                     // unless the datatype is BYTES: contiguous, on the CPU
  std::vector<std::string> strings;  // BYTES: one for each element
};

// How many elements a shape has. Throws Failure, which names the tensor, for negative sizes, more than 64 dimensions
// and products that no memory could hold.
int64_t element_count(const std::string& name, const std::vector<int64_t>& shape);

// Fills in tensor or strings from elements that lie one after the other (BYTES: each after its length in 4 bytes). They
// are copied. Throws Failure when they are not exactly as many as shape and datatype say.
void read_bytes(WireTensor& t, std::string_view bytes);
// The same from a JSON array, flat or nested as the shape says. Throws Failure for numbers that the datatype does not
// hold.
void read_json_data(WireTensor& t, std::string_view array);

// Appends.
void write_bytes(const WireTensor& t, std::string& out);
size_t byte_size(const WireTensor& t);
// An array of all elements. Throws Failure for numbers that JSON does not have.
void write_json_data(const WireTensor& t, JsonWriter& out);

// A tensor of a result. Throws Failure for dtypes and devices that the protocol does not have.
WireTensor make_wire_tensor(std::string name, const Tensor& tensor);
WireTensor make_wire_strings(std::string name, std::vector<std::string> strings);

}  // namespace sconce::server
