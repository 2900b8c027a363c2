// One device for all: the precondition of kernels that are written for one device.
#pragma once

#include <initializer_list>

#include "sconce/tensor/tensor.h"

namespace sconce {

// An argument that is a tensor or a list of tensors, as messages name it; undefined tensors agree with everything.
struct OnDevice {
  const char* name;
  const Tensor* tensors;
  size_t count;
  OnDevice(const char* n, const Tensor& t) : name(n), tensors(&t), count(1) {}
  OnDevice(const char* n, TensorList list) : name(n), tensors(list.data()), count(list.size()) {}
};

// Throws Error in PyTorch's words unless all are on one device:
//   Expected all tensors to be on the same device, but got mat2 is on cpu, different from other tensors on cuda:0 (when
//   checking argument in method wrapper_CUDA_mm)
void check_one_device(const char* op, std::initializer_list<OnDevice> arguments);

}  // namespace sconce
