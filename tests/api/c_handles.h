// Handles of the C interface that free themselves, and checks of its calls, for tests.
#pragma once

#include <gtest/gtest.h>

#include "sconce/api/sconce.h"

#define EXPECT_OK(call) EXPECT_EQ(call, SCONCE_OK) << sconce_last_error()
#define ASSERT_OK(call) ASSERT_EQ(call, SCONCE_OK) << sconce_last_error()

template <class T, void (*kFree)(T*)>
struct Handle {
  T* v = nullptr;
  ~Handle() { kFree(v); }
  operator T*() const { return v; }
  T** operator&() { return &v; }
};

using Value = Handle<sconce_value, sconce_value_free>;
using Module = Handle<sconce_module, sconce_module_free>;
using Limits = Handle<sconce_limits, sconce_limits_free>;
using Optimizer = Handle<sconce_optimizer, sconce_optimizer_free>;
