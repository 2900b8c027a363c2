// Graph backends: the interface through which other compilers take parts of a program.
//
// Note [Backends]
// A plan (docs/plans.md) is made of a recorded run: operators over tensors whose geometry is known. Before Sconce plans
// them itself, the chosen backend is shown each operator, lowered to the dialect that it wants. The operators that it
// takes are joined into subgraphs, as large as they can be: connected, and without a path that leaves one and comes
// back. It compiles each of them to a callable, which is one step of the plan. What it declines stays with Sconce.
//
//   class Mine final : public executor::GraphBackend {
//     std::string name() const override { return "mine"; }
//     bool takes(const ir::Node& node) override { return node.op()->qualified_name() == "aten::relu"; }
//     std::shared_ptr<const executor::Callable> compile(const executor::Subgraph& part) override { ... }
//   };
//   executor::register_backend(std::make_shared<Mine>());
//   executor::set_backend("mine");                         // or SCONCE_BACKEND=mine in the environment
//
// docs/backends.md explains a whole one. The same for C is in sconce/api/sconce.h.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sconce/base/error.h"
#include "sconce/ir/graph.h"

namespace sconce::executor {

// What a backend made of a subgraph. Belongs to a plan, and is run by any number of threads at once.
class SCONCE_API Callable {
 public:
  virtual ~Callable();
  // `in`: one tensor for each input of the graph, with the geometry that its type says; they are only read. `out`: one
  // for each output, with memory of the geometry that its type says, to be written. A tensor that is put in its place
  // is copied there. None of them may be kept: memory is used again. What it throws is the error of the call.
  virtual void run(std::span<const Tensor> in, std::span<Tensor> out) const = 0;
};

// A part of a program, for arguments of known sizes.
struct Subgraph {
  // A straight line of the operators that were taken, constants, and lists of tensors (prim::ListConstruct,
  // prim::ListUnpack). Every tensor has a type with dtype, sizes and strides. Nothing is written, nothing is random.
  std::shared_ptr<const ir::Graph> graph;
  // By input: the tensor that it is in every run, a weight for example; undefined where runs differ. It may be packed
  // or converted: when it is written later, the plan and what was compiled for it are dropped.
  std::vector<Tensor> constants;
};

class SCONCE_API GraphBackend {
 public:
  virtual ~GraphBackend();
  virtual std::string name() const = 0;
  // The dialect in which it wants operators: "functional" (as the program calls them), "core" or "prims"
  // (sconce/lowering/dialect.h). An operator that cannot be lowered to it is not offered.
  virtual std::string wants() const { return "functional"; }
  // Whether it takes the operator, which is node.op(); types of inputs and outputs tell geometry, and arguments that
  // are no tensors are constants (ir::constant_value). An operator of the program that became several nodes is taken if
  // all of them are. Calls may come from several threads.
  virtual bool takes(const ir::Node& node) = 0;
  // Null declines, and so does an exception, which SCONCE_LOGS=plans shows. Calls may come from several threads.
  virtual std::shared_ptr<const Callable> compile(const Subgraph& part) = 0;
};

// A backend that failed while a plan ran: what its callable threw, or a result that is not what the graph says.
class SCONCE_API BackendError final : public Error {
 public:
  using Error::Error;
  ~BackendError() override;
};

// Makes a backend known, for the rest of the process; the library that its code comes from is not unloaded any more.
// Throws Error (value) for a name that is taken, or is empty, and for an unknown dialect.
SCONCE_API void register_backend(std::shared_ptr<GraphBackend> backend);
// "sconce", which is the planner alone, then the registered ones in their order.
SCONCE_API std::vector<std::string> list_backends();
// Chooses the one that new plans use; at first that is what SCONCE_BACKEND says, or "sconce". Plans that others made
// stay, and serve again when their backend is chosen again. Throws Error (value) for an unknown name; the message lists
// the known ones.
SCONCE_API void set_backend(const std::string& name);
// The chosen one. Throws Error (value) if SCONCE_BACKEND is no name of a backend.
SCONCE_API std::string current_backend();

// Numbers of backends, which signatures hold: 0 is "sconce". Both throw as above.
uint32_t current_backend_number();
SCONCE_API uint32_t backend_number(const std::string& name);
// Null for 0.
std::shared_ptr<GraphBackend> backend_of_number(uint32_t number);
// For ever the same text; null for a number that is too large.
const char* backend_name(uint32_t number);
// The library that this address lies in is not unloaded any more.
void keep_code(const void* address);

}  // namespace sconce::executor
