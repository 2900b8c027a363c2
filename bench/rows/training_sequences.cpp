// Networks of sequences.py, compiled from its text.
#include <cmath>
#include <fstream>
#include <sstream>

#include "bench/rows/inputs.h"
#include "bench/rows/training.h"
#include "sconce/api/jit.h"
#include "sconce/base/error.h"
#include "sconce/ops.h"
#include "sconce/tensor/generator.h"

namespace sconce::bench {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  SCONCE_CHECK(file.good(), "cannot read {}", path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ScriptModel final : public TrainingModel {
 public:
  ScriptModel(const std::string& path, const char* name, std::vector<Value> arguments, IntList sizes)
      : unit_(jit::compile(text_of(path))),
        module_(unit_.build(name, std::move(arguments))),
        tokens_(index(sizes, 101, kVocabulary)),
        target_(index(sizes, 102, kVocabulary)) {
    for (auto& [parameter, t] : module_.named_parameters()) adopt(t, parameter.ends_with("bias"));
    manual_seed(1);  // of dropout
  }
  Tensor loss() override { return module_(tokens_, target_).to_tensor(); }

  static constexpr int64_t kVocabulary = 1000;

 private:
  jit::CompilationUnit unit_;
  jit::Module module_;
  Tensor tokens_, target_;
};

}  // namespace

std::unique_ptr<TrainingModel> transformer(const std::string& path, bool causal, double dropout) {
  return std::make_unique<ScriptModel>(path, causal ? "CausalTransformer" : "Transformer",
                                       std::vector<Value>{ScriptModel::kVocabulary, 64, 128, 4, 512, 4, dropout},
                                       IntList({32, 64}));
}

std::unique_ptr<TrainingModel> lstm_model(const std::string& path) {
  return std::make_unique<ScriptModel>(path, "LstmModel", std::vector<Value>{ScriptModel::kVocabulary, 256, 2},
                                       IntList({35, 20}));
}

}  // namespace sconce::bench
