// Umbrella header: all that programs in C++ include to load, run, train and save PyTorch programs. (Programs in C
// include sconce/api/sconce.h.)
#pragma once

#include "sconce/api/autograd.h"                        // backward, grad, checkpoints, hooks
#include "sconce/api/compile/inference.h"               // freeze, optimize_for_inference, plans made beforehand
#include "sconce/api/from_blob.h"                       // tensors over memory of the caller
#include "sconce/api/items.h"                           // items of tuples and lists
#include "sconce/api/jit.h"                             // load, compile, functions and modules
#include "sconce/api/optim.h"                           // optimisers and schedules
#include "sconce/api/trace.h"                           // functions from runs of C++
#include "sconce/base/parallel.h"                       // set_num_threads
#include "sconce/dispatch/budget/budget_scope.h"        // limits on memory, work, steps and time
#include "sconce/dispatch/library.h"                    // custom operators, load_library
#include "sconce/executor/graph_backend.h"              // compilers that take parts of programs
#include "sconce/ops.h"                                 // every operator, as a function and as a method
#include "sconce/runtime/interpreter.h"                 // ScriptError
#include "sconce/serialization/tensors/tensor_files.h"  // state dicts, safetensors, .npy, .npz
#include "sconce/tensor/generator.h"                    // manual_seed
#include "sconce/tensor/grad_mode.h"                    // NoGrad, InferenceMode
