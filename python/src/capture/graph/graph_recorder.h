// GraphRecorder: the Recorder. An operator on fakes runs on Meta tensors, and is a node of an ir::Graph.
//
// Note [Fakes]
// A fake is a tensor on device meta; `known_` says which value of the graph it is and which device the program would see.
// Operators are seen above autograd (Key::tracer), so that the graph differentiates as eager does when it runs; the
// backward graph that Meta tensors get meanwhile answers requires_grad and is_leaf. Device arguments become meta for the
// run and stay what they are in the graph.
// A tensor that is no fake (a constant that code of C found) becomes an input that the compiled graph holds itself: it is
// the tensor, not a copy.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "capture/graph/call_log.h"
#include "capture/graph/modes.h"
#include "capture/graph/python_call.h"
#include "capture/graph/recorder.h"
#include "capture/graph/size_replay.h"
#include "capture/graph/symbols.h"
#include "sconce/ir/graph.h"
#include "sconce/tracing/tracer.h"

namespace sconce::python::capture {

class GraphRecorder final : public Recorder, private tracing::CallHook {
 public:
  GraphRecorder(PyObject* backend, PyObject* options);
  ~GraphRecorder() override;

  PyObject* input(PyObject* tensor, SourceId source, const std::string& name, uint64_t free_dims) override;
  PyObject* input_number(PyObject* number, SourceId source, const std::string& name) override;
  bool is_fake(PyObject* object) const override;
  SourceId source_of(PyObject* fake) const override;
  PyObject* original(PyObject* fake) const override;
  Owned call(PyObject* target, std::span<PyObject* const> args, PyObject* names) override;
  Owned as_class(PyTypeObject* type, PyObject* fake) override;
  Owned element(PyObject* fake) override;
  uint64_t stamp(PyObject* fake) const override;
  bool is_operator(PyObject* target) const override;
  Owned attribute(PyObject* fake, PyObject* name) override;
  Owned differentiate(PyObject* target, std::span<PyObject* const> args, PyObject* names) override;
  bool is_over_pytorch() const override { return static_cast<bool>(torch_); }
  bool records_gradients(PyObject* fake) const override;
  std::optional<Owned> gradient(PyObject* fake) override;
  void note_gradient(PyObject* fake, PyObject* grad) override;
  void set_gradient(PyObject* fake, PyObject* value) override;
  void call_in_turn(PyObject* callable, std::span<PyObject* const> args, PyObject* names, PyObject* result) override;
  void clear_gradients(PyObject* tensors) override;
  Owned call_opaque(PyObject* callable, PyObject* on_fakes, std::span<PyObject* const> args) override;
  void note_written(PyObject* tensors) override;
  void note_hook() override { has_hooks_ = true; }
  void open_parts() override;
  void begin_part() override;
  void end_part(std::span<PyObject* const> outputs) override;
  std::vector<Owned> make_parts(std::span<PyObject* const> operands, std::vector<Owned>& lifted) override;
  Owned placeholder(PyObject* function, std::span<PyObject* const> args) override;
  Owned pending(PyObject* function, std::span<PyObject* const> args) override;
  Owned ask(PyObject* function, std::span<PyObject* const> args) override;
  bool draws(PyObject* graph) const override;
  std::optional<NotRecordable> explain_failure() override;
  size_t node_count() const override { return nodes_; }
  size_t element_count() const override { return elements_; }
  bool reshapes_inputs() const override { return reshapes_inputs_; }
  const std::vector<SourceId>& inputs() const override { return sources_; }
  const std::vector<Owned>& relations() const override { return symbols_.relations(); }
  PyObject* size_check() const override { return size_check_.get(); }
  Owned finish(std::span<PyObject* const> outputs) override;

 private:
  struct Known {
    Tensor kept;                           // so that its address stays its own
    ir::Value* value = nullptr;            // of the graph
    Device device;                         // as the program sees it
    SourceId source = kNoSource;           // of inputs
    Owned object, original;                // of inputs: the fake and what it stands for
    Owned shown;                           // of results in programs over PyTorch's tensors: the fake, of its own class
    bool is_leaf = false;                  // of inputs
    std::array<Tensor, kWitnesses> twins;  // for other sizes, where they differ: Note [Witnesses]
    uint64_t free_dims = 0;                // of inputs
    bool depends = false;                  // it was computed from symbols: its sizes are known from witnesses alone
    bool grad_is_known = false;            // .grad of `kept` stands for that of the program's tensor
  };

  struct Part {
    ir::Node* marker = nullptr;  // in front of its nodes
    size_t logged = 0, python_calls = 0, claims = 0;
    std::vector<ir::Node*> nodes;
    std::vector<ir::Value*> results;
    std::vector<Owned> outputs;  // the fakes of the results
    CallLog log;
    std::vector<std::unique_ptr<PythonCallNumber>> calls;
  };

  void call(const Op& op, KeySet keys, Value* args, Value* returns) override;
  const Known* known(PyObject* object) const;
  const Known& known_or_held(const Tensor& t);
  struct Look {
    bool is_leaf, requires_grad;
  };
  Known& add_fake(const Tensor& original, ir::Value* value, std::optional<Look> look = std::nullopt);
  Value with_fakes(const Value& v);
  Value for_witness(const Value& v, int witness) const;
  const SymNumber* stand_in_of(const Value& v) const;
  bool is_free(const Value& v) const;
  bool has_unknown(const Value& v) const;
  Owned size(PyObject* fake, int64_t dim);
  Owned stride(PyObject* fake, int64_t dim);
  Owned numel(PyObject* fake);
  Owned shape(PyObject* fake);
  Owned ask_geometry(const std::string& name, std::span<PyObject* const> args);
  Owned with_stand_ins(PyObject* object);
  void fix_numbers(PyObject* object);
  [[noreturn]] void want_numbers();
  bool depends(const Value& v) const;
  void claim(SizeClaim::Kind kind, ir::Value* value, int64_t dim, PyObject* expected);
  void claim_rank(const Known& of);
  void make_size_check();
  void drop_unused_numbers();
  void drop_unused_tensors();
  ir::Value* value_of(TypePtr type, const Value& v);
  ir::Value* constant(Value v);
  ir::Value* list_of(TypePtr element, const std::vector<ir::Value*>& items);
  void set_result(const Value& v, ir::Value* value, Device device, std::span<const Value> of_witnesses);
  void agree_on_rank(const Value& other, const Tensor& t, size_t witness);
  void match_modes();
  Owned adopt(PyObject* made);
  bool may_draw(PyObject* callable, std::span<PyObject* const> args) const;
  Owned run_unrecorded(PyObject* target, std::span<PyObject* const> args, PyObject* names);
  Owned call_ours(PyObject* target, std::span<PyObject* const> args, PyObject* names);
  Owned attribute_of(PyObject* fake, PyObject* name);
  Tensor borrow(PyObject* tensor, Look& look);
  void load_torch() const;
  PyObject* torch_target(PyObject* target) const;
  Owned torch_call(PyObject* target, std::span<PyObject* const> args, PyObject* names);
  Owned torch_answer(Owned value) const;
  Owned call_substitute(const std::string& name, std::span<PyObject* const> args, PyObject* names);
  Owned call_logged(PyObject* target, std::span<PyObject* const> args, PyObject* names);

  Owned backend_, options_;
  std::shared_ptr<ir::Graph> graph_ = std::make_shared<ir::Graph>();
  std::unordered_map<const TensorImpl*, Known> known_;
  std::unordered_map<PyObject*, PyObject*> fakes_;  // of the program's tensors; both borrowed from known_
  std::vector<SourceId> sources_;                   // of inputs
  std::vector<ir::Value*> held_values_;             // inputs that the compiled graph holds
  std::vector<Tensor> held_;
  CallLog log_;
  std::unordered_map<SourceId, Owned> numbers_;  // of the program that are not fixed
  std::vector<SizeClaim> claims_;
  Owned size_check_;
  Symbols symbols_{*graph_, log_};
  size_t nodes_ = 0, elements_ = 0;
  Device home_;                // of the first input
  bool meta_is_real_ = false;  // the program has tensors on device meta itself
  int depth_ = 0;              // of call()
  bool reshapes_inputs_ = false;
  const Modes modes_at_start_ = Modes::current();
  Modes modes_ = modes_at_start_;            // of the graph where it ends now
  bool changes_modes_ = false;               // others than gradients on and off
  ir::Value* inference_at_start_ = nullptr;  // what the graph finds when it begins, once it has asked
  std::optional<NotRecordable> failure_;
  std::vector<std::unique_ptr<PythonCallNumber>> python_calls_;
  std::vector<std::vector<Part>> part_sets_;  // of control-flow operators, the innermost last
  std::vector<ir::Node*> placeholders_;
  std::vector<Owned> drawing_parts_;           // graphs of parts that draw random numbers
  std::unordered_set<int64_t> drawing_calls_;  // numbers of calls in turn that may draw
  std::vector<Tensor> cleared_;                // tensors of the program without a fake whose gradients are None
  bool has_opaque_ = false;                    // functions in the history whose backward is not known
  bool has_hooks_ = false;                     // functions that backward calls were registered in turn
  mutable Owned torch_;                        // sconce.compiler._torch, once PyTorch's tensors are met
  mutable std::unordered_map<PyObject*, Owned> torch_targets_;  // by callables of PyTorch, which live on
  std::optional<tracing::HookScope> scope_;
};

}  // namespace sconce::python::capture
