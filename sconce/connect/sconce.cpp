// Dependency inversion: the connections of libsconce.
//
// Note [Connections]
// A layer includes only from layers below it. If it has to ask something of a layer above (printing a tensor asks
// autograd for the name of its grad_fn), it declares a constant function pointer, which may be null, and calls that.
// Here every such pointer is given its function, in one place and at link time: no static initialiser runs, no order of
// initialisation matters, and a library without the upper layers has a file like this one with nulls in it.
//
//   asked by                       answered by
//   tensor/print.cpp               autograd: the name of a tensor's grad_fn
//   dispatch/custom/body.cpp       runtime: bodies and derivatives of custom operators, read and run
//   dispatch/custom/custom_class    runtime: methods of C++ classes as functions; whoever has classes: those
//   tensor/tensor.cpp              dispatch: guards operators once there are tensors of limited dtypes
//   tensor/tensor.cpp              dispatch: guards operators once there are tensors of limited dtypes or formats
//   kernels/boxed/list_order.cpp   runtime: a < b of instances, by their class's __lt__
//   autograd/anomaly.cpp           runtime: the script's lines that made a node
//   passes, lowering               frontend: bodies and derivatives of operators as graphs
//   runtime/bytecode/code.cpp      passes and the bytecode compiler: code of a function's graph
//   runtime/interpreter.cpp        executor: calls that run by plans
//   serialization/lite             frontend: functions that do what operators did in old archives
#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/variable.h"
#include "sconce/dispatch/admission.h"
#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/formats.h"
#include "sconce/executor/function_plans.h"
#include "sconce/frontend/script/names/upgraders.h"
#include "sconce/frontend/script/program/script_library.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/boxed/object_order.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/passes/analysis/op_graphs.h"
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/runtime/class_methods.h"
#include "sconce/runtime/execute.h"
#include "sconce/serialization/lite/lite_upgraders.h"
#include "sconce/tensor/limited_dtypes.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/view_base.h"

namespace sconce {

constinit const HistoryName history_name = autograd::name_of_history;
constinit const LimitedTensorMade limited_tensor_made = admit_limited_dtypes;
constinit const FormatUsed format_used = guard_format;
constinit const ResolveMathBits resolve_math_bits = any_device::with_math_bits_applied;

constinit const BodyRunnerSource body_runner_source = runtime::graph_runner;
constinit const DefineClassMethods define_class_methods = runtime::define_class_methods;
constinit const BuiltinClasses builtin_classes = quantized::register_packed_classes;

namespace boxed {
constinit const ObjectLess object_less = runtime::object_less;
}
namespace autograd {
constinit const PlaceSource place_source = runtime::current_lines;
}
namespace passes {
constinit const OpGraphsSource op_graphs_source = script::table_graphs;
}
namespace runtime {
constinit const GraphCompiler* const graph_compiler = &optimising_compiler;
constinit const Planner* const planner = &executor::planner;
}  // namespace runtime
namespace lite {
constinit const FindUpgrader find_upgrader = script::find_upgrader;
}

}  // namespace sconce
