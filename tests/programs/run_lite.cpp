// sconce-run-lite FILE.ptl CASES.safetensors IN OUT [IN OUT]...: runs a lite archive on tensors of another file, and
// compares what comes out with tensors of that file. Linked to sconce_lite: there is no front end in this program.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "sconce/ops.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/tensors/safetensors.h"

using namespace sconce;

namespace {

void run(int argc, char** argv) {
  const Archive archive = load_lite_archive(argv[1]);
  const SafetensorsFile cases = SafetensorsFile::open(argv[2]);
  ir::Function* forward = ir::find_method(archive.module.to_object().type(), "forward");
  SCONCE_CHECK(forward, "{}: has no method 'forward'", argv[1]);
  for (int i = 3; i + 1 < argc; i += 2) {
    Value args[] = {archive.module, cases.tensor(argv[i])};
    const Tensor result = runtime::run(*forward, args).to_tensor();
    const Tensor expected = cases.tensor(argv[i + 1]);
    SCONCE_CHECK(allclose(result, expected, 1e-5, 1e-6), "{} gives\n{}\nnot\n{}", argv[i], result.to_string(),
                 expected.to_string());
    std::printf("%s gives %s\n", argv[i], argv[i + 1]);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return EXIT_SUCCESS;
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
    return EXIT_FAILURE;
  }
}
