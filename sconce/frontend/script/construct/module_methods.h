// Builtin module methods: those of torch.nn.Module and its containers while modules are built, register_buffer,
// add_module, append, ...
#pragma once

#include "sconce/frontend/script/construct/evaluator.h"
#include "sconce/types/class_info.h"

namespace sconce::script {

// Which container a module class is, by the classes that it derives from.
ClassInfo::Container container_kind(Definition& cls);
// Whether every module (or container) has this method.
bool is_module_method(const std::string& name);
Dynamic call_module_method(Evaluator& e, const std::shared_ptr<Instance>& self, const std::string& name,
                           DynamicArguments args, const Range& at);
// t.requires_grad = on; does nothing for integers.
void set_requires_grad(const Dynamic& tensor, bool on);
// A copy of a value with everything in it: copy.deepcopy.
Dynamic deep_copy(Evaluator& e, const Dynamic& v, const Range& at);

}  // namespace sconce::script
