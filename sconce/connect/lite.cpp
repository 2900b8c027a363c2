// The connections of libsconce_lite (Note [Connections]), which runs bytecode and has neither front end nor passes.
#include "sconce/autograd/anomaly.h"
#include "sconce/autograd/variable.h"
#include "sconce/dispatch/admission.h"
#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/dispatch/formats.h"
#include "sconce/kernels/any/views/views.h"
#include "sconce/kernels/boxed/object_order.h"
#include "sconce/kernels/quantized/packed_params.h"
#include "sconce/runtime/bytecode/code.h"
#include "sconce/runtime/class_methods.h"
#include "sconce/runtime/execute.h"
#include "sconce/runtime/planner.h"
#include "sconce/serialization/lite/lite_upgraders.h"
#include "sconce/tensor/limited_dtypes.h"
#include "sconce/tensor/math_bits.h"
#include "sconce/tensor/view_base.h"

namespace sconce {

constinit const HistoryName history_name = autograd::name_of_history;
constinit const LimitedTensorMade limited_tensor_made = admit_limited_dtypes;
constinit const FormatUsed format_used = guard_format;
constinit const ResolveMathBits resolve_math_bits = any_device::with_math_bits_applied;

constinit const BodyRunnerSource body_runner_source = nullptr;
constinit const DefineClassMethods define_class_methods = runtime::define_class_methods;
constinit const BuiltinClasses builtin_classes = quantized::register_packed_classes;

namespace boxed {
constinit const ObjectLess object_less = runtime::object_less;
}
namespace autograd {
constinit const PlaceSource place_source = runtime::current_lines;
}
namespace runtime {
constinit const GraphCompiler* const graph_compiler = nullptr;
constinit const Planner* const planner = nullptr;
}  // namespace runtime
namespace lite {
constinit const FindUpgrader find_upgrader = nullptr;
}

}  // namespace sconce
