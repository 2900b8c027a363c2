// Compiled files: what is accepted runs, by the interpreter and by its plan, unless it asks for much memory.
#include "sconce/serialization/compiled/compiled_file.h"

#include <cstdlib>

#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/grad_mode.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

using sconce::compiled::CompiledFunction;
using sconce::compiled::Program;

// Elements that a run touches, as far as geometry tells.
bool is_small(const Program& program) {
  constexpr int64_t kMost = 1 << 16;
  int64_t elements = 0;
  for (const executor::TapeValue& v : program.tape.values) {
    if (v.twin.numel() > kMost) return false;
    elements += v.twin.numel();
  }
  return elements <= kMost;
}

Tensor input(const Tensor& twin) {
  const Tensor t = empty_strided_tensor(twin.sizes(), twin.strides(), twin.dtype());
  std::fill_n(static_cast<char*>(t.storage()->data), t.storage()->nbytes, 0);
  return t;
}

// Operators may refuse the elements of a changed weight, not more.
void run(ir::Function& method, std::vector<Value> args) {
  try {
    runtime::run(method, args);
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace

void compiled(std::string_view bytes) {
  const FileBytesPtr file = FileBytes::copy(std::as_bytes(std::span(bytes)), "f.scx");
  const NoGrad without_gradients;
  try {
    const CompiledFunction content = sconce::compiled::CompiledFile(file).function;
    for (const Program& program : content.programs) {
      if (!is_small(program)) return;
    }
    const Archive archive = load_compiled(file);
    ir::Function& method = *ir::find_method(archive.module.to_object().type(), content.name);
    for (const Program& program : content.programs) {
      for (const bool planned : {true, false}) {
        std::vector<Value> args{archive.module};
        for (const executor::Output& tree : program.args)
          args.push_back(sconce::compiled::value_of(
              tree, [&](uint32_t v) { return input(program.tape.twin(program.tape.inputs[v])); }));
        struct Watch final : runtime::Observer {
          void before(const runtime::Code&, size_t, const Value*) override {}
        } watch;
        if (!planned) runtime::observe_all_runs(&watch);  // nobody plans what is watched
        run(method, std::move(args));
        runtime::observe_all_runs(nullptr);
      }
    }
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
