// Second device: a test double of an accelerator, in host memory that host code must not touch.
//
// Its type is privateuse1, which PyTorch keeps for devices whose code lies elsewhere. Its memory is mapped twice:
// tensors carry addresses of a mapping without any rights, the device's own functions work in a second, writable one.
// So code that takes a tensor of this device for one of the CPU faults. The fault is noted, the access then goes on
// (both mappings show the same bytes), and a test asks `take_touch` which call it was. Fresh memory is full of NaN.
//
// The device names no operator. Its Backend hands loops to the CPU's engine, and that is all there is to it.
#pragma once

#include <cstddef>
#include <string>

#include "sconce/tensor/device.h"

namespace sconce::testing {

inline constexpr Device kSecondDevice{DeviceType::privateuse1, 0};

// Makes the device known to this process; the second time nothing happens. Memory is mapped when it is first asked for,
// so a process may register the device and fork: each child has memory of its own.
void register_second_device();

// The accesses of host code to the device's memory since the last call: "host code touched memory of privateuseone:0
// (first at byte 64)". Empty when nothing. Takes the rights away again.
std::string take_touch();

// Bytes that are allocated now.
size_t second_device_bytes();

}  // namespace sconce::testing
