// The connections of libsconce_lite as it is built for a selection of operators (Note [Connections]): bytecode and
// compiled files run; gradients, printing of their history, custom operators and plans are not there.
#include "sconce/autograd/anomaly.h"
#include "sconce/dispatch/custom/body.h"
#include "sconce/dispatch/custom/custom_class.h"
#include "sconce/kernels/boxed/object_order.h"
#include "sconce/tensor/view_base.h"

namespace sconce {

constinit const HistoryName history_name = nullptr;
constinit const BodyRunnerSource body_runner_source = nullptr;
constinit const DefineClassMethods define_class_methods = nullptr;

namespace boxed {
constinit const ObjectLess object_less = nullptr;  // lite archives have no script classes
}
namespace autograd {
constinit const PlaceSource place_source = nullptr;
}

}  // namespace sconce
