// Compiled programs: what a .scx file holds, once it is read and verified: calls of operators for arguments of known
// geometry, with the constants that they use.
//
// Note [Verified tapes]
// A file says which operators are called with which arguments, and what geometry the results have. Nothing of that is
// taken on trust. Each call is made on Meta tensors while the file is read: what shape inference gives must be what the
// file says, and where a result lies (in new memory, or in that of an argument) is taken from that call and stands in
// no file. Arguments have the kinds that the operator's schema asks for, numbers of tensors lead to tensors that exist
// by then, constants lie inside their records, views inside the memory that they are views of. When a plan runs, each
// operator that it calls is asked for the same geometry, on the same device, again (Tape::check_results). On which of
// the two devices of a file a result lies follows from the arguments; kernels of a device take its own tensors only.
#pragma once

#include <string>
#include <vector>

#include "sconce/dispatch/schema.h"
#include "sconce/executor/tape.h"

namespace sconce::compiled {

// Format versions: a file of another one is refused. Files for the CPU have the first, those for a device the second,
// with a record that names it.
inline constexpr int kVersion = 1, kDeviceVersion = 2;

// Limits against hostile files; each has a clear error and a test.
inline constexpr uint32_t kMaxPrograms = 64;
inline constexpr uint32_t kMaxConstants = 1u << 14;
inline constexpr uint32_t kMaxInputs = 1u << 12;
inline constexpr uint32_t kMaxOperators = 1u << 12;
inline constexpr uint32_t kMaxCalls = 1u << 15;
inline constexpr uint32_t kMaxResults = 1u << 17;             // tensors of a program
inline constexpr uint64_t kMaxWrites = uint64_t{1} << 24;     // in-place calls times calls
inline constexpr uint64_t kMostPlanning = 100'000'000;        // sum of calls squared: about a second; no plans beyond
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 46;  // of all tensors of a program together

struct NamedConstant {
  std::string name;  // as the module calls it ("conv1.weight"), or empty
  Tensor tensor;
  bool on_device = false;  // it belongs on the file's device, wherever it is now
};

// The calls for one kind of arguments. Values of the tape are numbered: inputs, all constants of the file, results.
struct Program {
  std::vector<executor::Output> args;  // one per argument of the function; tensors are inputs
  executor::Tape tape;
};

// Tensors are on the CPU or on `device`, which is that of no number until place_on_device gives it one.
struct CompiledFunction {
  Device device;
  std::string name;                 // "forward"
  std::vector<Argument> arguments;  // without self
  TypePtr result = nullptr;
  std::vector<NamedConstant> constants;
  std::vector<Program> programs;
};

// Moves constants to the device of the function, the current one of its type. Constants that share memory share it
// there, too. Does nothing for the CPU. Throws Error where there is no such device.
void place_on_device(CompiledFunction& function);

// The type of what a tree makes.
TypePtr type_of(const executor::Output& tree);

// The arguments of a program as values, with tensors by number of the input.
template <class F>
Value value_of(const executor::Output& tree, F&& tensor) {
  using Kind = executor::Output::Kind;
  switch (tree.kind) {
    case Kind::tensor:
      return Value(Tensor(tensor(tree.value)));
    case Kind::constant:
      return tree.constant;
    case Kind::list: {
      auto list = make_ref<List>(tree.type);
      for (const executor::Output& item : tree.items) list->append(value_of(item, tensor));
      return Value(std::move(list));
    }
    case Kind::tuple: {
      std::vector<Value> items;
      for (const executor::Output& item : tree.items) items.push_back(value_of(item, tensor));
      return Value(make_ref<Tuple>(std::move(items), tree.type));
    }
    case Kind::dict: {
      auto dict = make_ref<Dict>(tree.type, tree.value_type);
      for (size_t i = 0; i < tree.items.size(); i += 2)
        dict->set(value_of(tree.items[i], tensor), value_of(tree.items[i + 1], tensor));
      return Value(std::move(dict));
    }
  }
  return {};
}

// "(x: float32 [1, 3, 224, 224], n: 2)": what a program was compiled for.
std::string signature_text(const CompiledFunction& function, const Program& program);

}  // namespace sconce::compiled
