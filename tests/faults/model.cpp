// sconce-faults [OPTIONS] [--train] FILE SIZES: loads a model, calls it twice with a tensor of SIZES ("2x3x16x16"),
// saves it and drops it, by the C++ interface, while each allocation in turn fails (each_allocation.h has the options).
// With --train it makes two training steps instead of the calls.
#include <cstdio>
#include <cstring>
#include <new>

#include "each_allocation.h"
#include "failing_malloc.h"
#include "sconce/api/autograd.h"
#include "sconce/api/jit.h"
#include "sconce/api/optim.h"
#include "sconce/ops.h"
#include "sconce/testing/temporary_folder.h"

using namespace sconce;

namespace {

struct Model {
  std::string path;
  const testing::TemporaryFolder& folder;
  std::vector<int64_t> sizes;
  bool trains = false;
  std::vector<float> expected;
  std::string saved;  // the file that was saved first
};

struct Wrong {
  const char* what;
};

class Run {
 public:
  Run(Model& model, char* text, size_t room) : model_(model), text_(text), room_(room) {}

  work_result operator()() {
    try {
      std::unique_ptr<jit::Module> module;
      step("load", [&] { module = std::make_unique<jit::Module>(jit::load(model_.path)); });
      if (model_.trains)
        train(*module);
      else
        for (int i = 0; i < 2; ++i) call(*module);
      step("save", [&] { module->save(model_.folder.file("saved.pt")); });
      module.reset();
      stop_failing();
      if (model_.folder.count() != 1) throw Wrong{"save left more than one file"};
      std::string bytes = testing::read_file(model_.folder.file("saved.pt"));
      if (may_have_changed_) return work_failed;
      if (model_.saved.empty()) model_.saved = bytes;
      if (model_.saved != bytes) throw Wrong{"the saved file differs"};
    } catch (const Wrong& e) {
      stop_failing();
      std::snprintf(text_, room_, "%s", e.what);
      return work_is_wrong;
    } catch (const std::exception& e) {
      stop_failing();
      std::snprintf(text_, room_, "failed again, with memory: %s", e.what());
      return work_is_wrong;
    }
    return failures_ ? work_failed : work_done;
  }

 private:
  // Does it, once more with memory if it fails.
  template <class F>
  void step(const char* name, F&& f) {
    try {
      f();
      return;
    } catch (const std::exception& e) {
      stop_failing();
      // What std::bad_alloc says of itself names no memory in words.
      const bool is_bad_alloc = dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
      std::snprintf(text_, room_, "%s: %s", name, is_bad_alloc ? "not enough memory" : e.what());
      if (failures_++) throw Wrong{"two steps failed"};
    }
    f();
  }

  void call(const jit::Module& module) {
    int calls = 0;
    step("call", [&] {
      may_have_changed_ |= calls++ > 0;
      const Tensor x = div(arange(numel()), 8.0).view(IntList(model_.sizes));
      const Tensor y = module(x).to_tensor().contiguous();
      const auto* data = static_cast<const float*>(y.data());
      const size_t count = static_cast<size_t>(y.numel());
      if (model_.expected.empty()) model_.expected.assign(data, data + count);
      if (count != model_.expected.size() || std::memcmp(data, model_.expected.data(), count * sizeof(float)) != 0)
        throw Wrong{"the result differs"};
    });
  }

  // A step that fails has perhaps changed some of the parameters: what it computes next is not compared.
  void train(const jit::Module& module) {
    std::optional<optim::SGD> sgd;
    int steps = 0;
    step("optimiser", [&] {
      module.requires_grad_();
      sgd.emplace(module.parameters(), optim::Options{{"lr", 0.01}, {"momentum", 0.9}});
    });
    for (int i = 0; i < 2; ++i) {
      step("training step", [&] {
        may_have_changed_ |= steps++ > i;
        const GradMode recorded(true);
        sgd->zero_grad();
        const Tensor x = div(arange(numel()), 8.0).view(IntList(model_.sizes));
        autograd::backward({sum(module(x).to_tensor())});
        for (const Tensor& p : module.parameters())
          if (!autograd::grad(p).defined()) throw Wrong{"a parameter has no gradient"};
        sgd->step();
      });
    }
  }

  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : model_.sizes) n *= s;
    return n;
  }

  Model& model_;
  char* text_;
  size_t room_;
  int failures_ = 0;
  bool may_have_changed_ = false;  // buffers and parameters, by a step that failed in the middle
};

}  // namespace

int main(int argc, char** argv) {
  const fault_options options = read_fault_options(&argc, argv);
  const bool trains = argc > 1 && std::strcmp(argv[1], "--train") == 0;
  if (argc != (trains ? 4 : 3)) {
    std::fprintf(stderr, "usage: sconce-faults [OPTIONS] [--train] FILE SIZES\n");
    return 2;
  }
  const testing::TemporaryFolder folder;
  Model model{argv[argc - 2], folder, {}, trains, {}, {}};
  for (const char* at = argv[argc - 1];;) {
    char* end;
    model.sizes.push_back(std::strtol(at, &end, 10));
    if (*end != 'x') break;
    at = end + 1;
  }
  const std::string name = model.path.substr(model.path.rfind('/') + 1) + (trains ? ", trained" : "");
  const work task{name.c_str(),
                  [](void* m, char* text, size_t room) { return Run(*static_cast<Model*>(m), text, room)(); }, &model};
  return fail_each_allocation(&task, &options) != 0;
}
