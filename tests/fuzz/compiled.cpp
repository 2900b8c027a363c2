// Compiled files: what is accepted runs, by its plan and by the interpreter, unless it asks for much memory. Both give
// the same, or a plan has looked at memory that it should not have.
#include "sconce/serialization/compiled/compiled_file.h"

#include <algorithm>
#include <cstdlib>

#include "sconce/runtime/interpreter.h"
#include "sconce/tensor/grad_mode.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

using sconce::compiled::CompiledFunction;
using sconce::compiled::Program;

// Bytes of tensors, as far as geometry tells.
bool is_small(const Program& program) {
  constexpr size_t kMost = 1 << 18;
  size_t bytes = 0;
  for (const executor::TapeValue& v : program.tape.values) {
    const size_t of_elements = static_cast<size_t>(v.twin.numel()) * v.twin.item_size();  // views may repeat them
    if (v.twin.storage()->nbytes > kMost || of_elements > kMost) return false;
    bytes += std::max(v.twin.storage()->nbytes, of_elements);
  }
  return bytes <= kMost;
}

Tensor input(const Tensor& twin) {
  const Tensor t = empty_strided_tensor(twin.sizes(), twin.strides(), twin.dtype());
  std::fill_n(static_cast<char*>(t.storage()->data), t.storage()->nbytes, 0);
  if (t.dtype() == DType::float32) {
    auto* numbers = static_cast<float*>(t.storage()->data);
    for (size_t i = 0; i < t.storage()->nbytes / sizeof(float); ++i)
      numbers[i] = 0.25f * static_cast<float>(i % 7) - 0.5f;
  }
  return t;
}

// The result as text, or the error: operators may refuse the elements of a changed weight.
std::string run(ir::Function& method, std::vector<Value> args) {
  try {
    return runtime::run(method, args).repr();
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
    return e.what();
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
    // Plans take packed weights at their word; sconce verify compares them.
    const bool has_packed = Records(file).find(sconce::compiled::kPackedRecord) != nullptr;
    const Archive archive = load_compiled(file);
    ir::Function& method = *ir::find_method(archive.module.to_object().type(), content.name);
    for (const Program& program : content.programs) {
      std::string results[2];
      for (const bool planned : {true, false}) {
        std::vector<Value> args{archive.module};
        for (const executor::Output& tree : program.args)
          args.push_back(sconce::compiled::value_of(
              tree, [&](uint32_t v) { return input(program.tape.twin(program.tape.inputs[v])); }));
        struct Watch final : runtime::Observer {
          void before(const runtime::Code&, size_t, const Value*) override {}
        } watch;
        if (!planned) runtime::observe_all_runs(&watch);  // nobody plans what is watched
        results[planned] = run(method, std::move(args));
        runtime::observe_all_runs(nullptr);
      }
      if (results[0] != results[1] && !program.tape.draws && !has_packed) std::abort();
    }
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
}

}  // namespace sconce::fuzz
