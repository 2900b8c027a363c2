// Optimisers by name, for C and for recorded cases.
#include "sconce/optim/optimizers.h"

namespace sconce::optim {
namespace {

struct Maker {
  std::string_view name;
  std::unique_ptr<Optimizer> (*make)(ParamGroups params, const Options& options);
};

template <class T>
std::unique_ptr<Optimizer> make(ParamGroups params, const Options& options) {
  return std::make_unique<T>(std::move(params), options);
}

constexpr Maker kMakers[] = {
    {"SGD", make<SGD>},         {"Adam", make<Adam>},         {"AdamW", make<AdamW>},   {"RMSprop", make<RMSprop>},
    {"Adagrad", make<Adagrad>}, {"Adadelta", make<Adadelta>}, {"Adamax", make<Adamax>}, {"NAdam", make<NAdam>},
    {"RAdam", make<RAdam>},     {"Rprop", make<Rprop>},       {"ASGD", make<ASGD>},     {"LBFGS", make<LBFGS>},
};

}  // namespace

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, ParamGroups params, const Options& options) {
  std::string known;
  for (const Maker& maker : kMakers) {
    if (maker.name == name) return maker.make(std::move(params), options);
    known += (known.empty() ? "" : ", ") + std::string(maker.name);
  }
  fail_as(ErrorKind::value, "there is no optimizer '{}', but {}", name, known);
}

}  // namespace sconce::optim
