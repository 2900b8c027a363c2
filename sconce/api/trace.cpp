#include "sconce/api/trace.h"

#include "sconce/tracing/tracer.h"

namespace sconce::jit {

Function trace(const std::function<Value(const std::vector<Value>& inputs)>& f, std::vector<Value> inputs,
               const TraceSettings& settings) {
  tracing::TraceOptions options;
  options.argument_names = settings.argument_names;
  options.strict = settings.strict;
  const tracing::Trace made =
      tracing::trace([&](const std::vector<Value>& in) { return f(in); }, std::move(inputs), options);
  const auto unit = std::make_shared<ir::CompilationUnit>();
  return Function(unit, &tracing::define_traced(*unit, "__torch__." + settings.name, made.graph));
}

}  // namespace sconce::jit
