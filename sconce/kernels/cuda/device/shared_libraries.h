// Shared libraries of CUDA that are opened when first needed: NVRTC, cuBLASLt.
#pragma once

#include <initializer_list>
#include <string>

namespace sconce::cuda {

// The first of the names that can be opened: in the folders of SCONCE_CUDA_LIBRARIES (separated by colons: wheels of
// pip lie where the system does not look), else where the system looks. Null when there is none.
void* open_shared_library(std::initializer_list<const char*> names);
// "libnvrtc.so.13, libnvrtc.so.12"
std::string joined_names(std::initializer_list<const char*> names);

}  // namespace sconce::cuda
