// Recorder: the graph of one capture while it grows. Tensors of the program are fakes: sconce.Tensor objects without
// memory (device meta inside, the program's device outside) whose every operation becomes a node.
//
// Note [Two graphs in one pass]
// Readers and backends want the calls that the program made (torch.abs, operator.add, Tensor.relu), as fx shows them;
// running wants operators. The evaluator makes each call through call(), which notes it for the first graph, and runs it
// on fakes under a tracer, which records the second. Operators that code of C calls on its own (sum([a, b])) appear in
// both as operators.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/guards/source.h"
#include "object.h"

namespace sconce::python::capture {

// Thrown where a call cannot be part of a graph; the program goes on in Python from there.
struct NotRecordable {
  std::string reason;
  bool needs_data = false;  // the answer is known only when the graph has run: item(), truth, sizes by values
};

// From its making to finish() or its end, a Recorder sees every operator that this thread calls: what code of CPython
// calls on fakes, too (sum([a, b])). Recorders of a thread nest.
class Recorder {
 public:
  virtual ~Recorder() = default;

  // The fake for a tensor of the program (sconce's or PyTorch's), an input of the graph; one for each object. `name`: as
  // Sources::input_name gives it. Borrowed. `free_dims`: bits of dimensions whose size is not fixed.
  virtual PyObject* input(PyObject* tensor, SourceId source, const std::string& name, uint64_t free_dims) = 0;
  // The SymInt or SymFloat for a number of the program that is not fixed, an input of the graph where that uses it; one
  // for each source. Null: it has to be a constant. Borrowed.
  virtual PyObject* input_number(PyObject* number, SourceId source, const std::string& name) = 0;
  // A fake, or a SymInt or SymFloat: a number that the graph computes (sym_int.h).
  virtual bool is_fake(PyObject* object) const = 0;
  // Where the fake came from; kNoSource for one that the graph computes.
  virtual SourceId source_of(PyObject* fake) const = 0;
  // The program's tensor that an input stands for; null for what the graph computes. Borrowed.
  virtual PyObject* original(PyObject* fake) const = 0;

  // Calls an operator of the library: a function, a method descriptor of Tensor with self first, or a slot wrapper.
  // Throws PythonError with what the call raised (shapes that do not fit), or NotRecordable.
  virtual Owned call(PyObject* target, std::span<PyObject* const> args, PyObject* names) = 0;
  // The same memory without a history, as an object of a subclass of Tensor. Throws as call() does.
  virtual Owned as_class(PyTypeObject* type, PyObject* fake) = 0;
  // The element of a tensor that has one, a float or int, as a number that operators of the graph may take.
  virtual Owned element(PyObject* fake) = 0;
  // Changes when the graph has written to the tensor.
  virtual uint64_t stamp(PyObject* fake) const = 0;
  // May a call of this callable be recorded? Operators of sconce, and those of PyTorch that map to one.
  virtual bool is_operator(PyObject* target) const = 0;
  // Attributes of fakes that are no operators: shape, dtype, device, requires_grad, ndim, is_leaf ... Null when the value
  // is not known before the graph runs.
  virtual Owned attribute(PyObject* fake, PyObject* name) = 0;

  // ---- training: Note [Gradients while recording] in training.cpp
  // Tensor.backward, and what torch.autograd.backward and grad are made of. Throws as call() does.
  virtual Owned differentiate(PyObject* target, std::span<PyObject* const> args, PyObject* names) = 0;
  // Are the program's tensors PyTorch's? Then methods that were found on fakes are not theirs.
  virtual bool is_over_pytorch() const = 0;
  // Is .grad of a fake the recorder's affair? Not that of PyTorch's tensors.
  virtual bool records_gradients(PyObject* fake) const = 0;
  // .grad as the graph has it by now; nothing: as the program's tensor has it when the graph begins, which the caller
  // reads and tells with note_gradient. Throws NotRecordable for a tensor that the graph made and that is no leaf.
  virtual std::optional<Owned> gradient(PyObject* fake) = 0;
  virtual void note_gradient(PyObject* fake, PyObject* grad) = 0;
  // fake.grad = value, a fake or None.
  virtual void set_gradient(PyObject* fake, PyObject* value) = 0;
  // A call that the graph makes through Python, in its turn (python_call.h). Fakes in `result` are what stands for the
  // tensors that it will return.
  virtual void call_in_turn(PyObject* callable, std::span<PyObject* const> args, PyObject* names, PyObject* result) = 0;
  // The same for a function that makes tensors with a history of its own: `on_fakes` takes its place while recording.
  virtual Owned call_opaque(PyObject* callable, PyObject* on_fakes, std::span<PyObject* const> args) = 0;
  // A call in turn has registered a function that backward calls.
  virtual void note_hook() = 0;
  // A call in turn writes to these tensors of the program, a list.
  virtual void note_written(PyObject* tensors) = 0;
  // The gradients of these tensors of the program, a list, are None from here on.
  virtual void clear_gradients(PyObject* tensors) = 0;

  // ---- control flow: Note [Parts] in subgraphs.cpp
  virtual void open_parts() = 0;
  virtual void begin_part() = 0;
  virtual void end_part(std::span<PyObject* const> outputs) = 0;
  // The graphs of the parts since open_parts. They take `operands`, then what is added to `lifted`.
  virtual std::vector<Owned> make_parts(std::span<PyObject* const> operands, std::vector<Owned>& lifted) = 0;
  // function(*fakes), unrecorded: a fake for an argument of a part, and for a result of call_in_turn.
  virtual Owned placeholder(PyObject* function, std::span<PyObject* const> args) = 0;
  virtual Owned pending(PyObject* function, std::span<PyObject* const> args) = 0;
  // The same for an answer that is no tensor, about histories, say.
  virtual Owned ask(PyObject* function, std::span<PyObject* const> args) = 0;
  // Does a graph, which make_parts made, draw random numbers?
  virtual bool draws(PyObject* graph) const = 0;

  // After code of C failed on fakes: was it for want of data, or of a graph's form? Then takes the exception away and
  // says so; a break is due. Otherwise the exception is the program's own.
  virtual std::optional<NotRecordable> explain_failure() = 0;

  virtual size_t node_count() const = 0;
  // Elements of the tensors that the nodes compute.
  virtual size_t element_count() const = 0;
  // Did an operator change the shape of an input, or whether it requires grad? Another input that is the same tensor would
  // have changed with it.
  virtual bool reshapes_inputs() const = 0;
  // Places of inputs in the order in which the compiled graph takes them.
  virtual const std::vector<SourceId>& inputs() const = 0;
  // What guards must check beside what the evaluator read: expressions for FactKind::relation.
  virtual const std::vector<Owned>& relations() const = 0;
  // For FactKind::sizes, once finish() was called; null: sizes are not guessed. Borrowed.
  virtual PyObject* size_check() const = 0;
  // The compiled graph: a callable that takes the inputs and returns a tuple of the values of `outputs` (fakes and SymInts).
  virtual Owned finish(std::span<PyObject* const> outputs) = 0;
};

std::unique_ptr<Recorder> make_recorder(PyObject* backend, PyObject* options);

}  // namespace sconce::python::capture
