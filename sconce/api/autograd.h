// Automatic differentiation, for programs: one header for all of it.
//
//   Tensor w = randn({3}).requires_grad_();
//   sum(w * w).backward();
//   w.grad();                                               // 2 * w
//   autograd::grad({y}, {x}, {}, {{.create_graph = true}});  // without touching leaves
//   const NoGrad quiet;                                      // nothing is recorded in this scope
#pragma once

#include "sconce/api/arithmetic.h"
#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/backward.h"
#include "sconce/autograd/checkpoint.h"
#include "sconce/autograd/custom_function.h"
#include "sconce/autograd/hooks.h"
#include "sconce/autograd/variable.h"
#include "sconce/tensor/grad_mode.h"
