#include "capture/output/emit.h"

#include "capture/output/effects.h"

namespace sconce::python::capture {
namespace {

// Fetches what is needed, runs the graph, writes the effects: what every emitted code begins with.
void write_beginning(Evaluator& e, Writer& w, Rebuilder& rebuilder, Effects& effects, PyObject* globals, Trace& trace) {
  rebuilder.fetch(w);
  if (trace.graph) {
    w.begin_call(trace.graph.get());
    for (SourceId id : trace.inputs) w.source(e.origins.sources(), id, globals);
    w.end_call(static_cast<int>(trace.inputs.size()));
    const int results = w.temporary();
    w.op(Op::store_fast, results);
    rebuilder.set_results(results);
  }
  effects.write(w, rebuilder, globals);
}

void finish_graph(Evaluator& e, const Rebuilder& rebuilder, Trace& trace) {
  trace.nodes = e.recorder.node_count();
  if (trace.nodes == 0 && rebuilder.outputs().empty()) return;
  trace.graph = e.recorder.finish(rebuilder.outputs());
  trace.inputs = e.recorder.inputs();
}

}  // namespace

void emit_return(Evaluator& e, Frame& root, PyObject* result, Trace& trace) {
  Effects effects(e);
  Rebuilder rebuilder(e, root.globals);
  effects.scan(rebuilder);
  rebuilder.scan(result);
  finish_graph(e, rebuilder, trace);
  if (!trace.graph && effects.empty()) return;  // the function itself does as well
  if (effects.empty()) {
    trace.result = rebuilder.recipe(result);
    if (trace.result) return;
  }
  Writer w(*root.code);
  write_beginning(e, w, rebuilder, effects, root.globals, trace);
  rebuilder.write(w, result);
  w.op(Op::return_value);
  trace.code = w.finish();
}

void emit_break(Evaluator& e, Trace& trace) {
  (void)e;
  (void)trace;
}

}  // namespace sconce::python::capture
