#include "capture/evaluator/memory_facts.h"

#include "capture/evaluator/evaluator.h"
#include "sconce/tensor/view_base.h"
#include "tensor_object.h"

namespace sconce::python::capture {
namespace {

enum class Question { none, offset, inference, set_to };

Question question_of(PyObject* callable) {
  if (Py_IS_TYPE(callable, &PyMethodDescr_Type) && PyDescr_TYPE(callable) != &tensor_type) return Question::none;
  static PyObject* const attribute = interned("__name__");
  const Owned name = Owned::take(PyObject_GetAttr(callable, attribute));
  if (!PyUnicode_Check(name.get())) return Question::none;
  std::string_view text = text_of(name.get());
  if (const size_t at = text.rfind(':'); at != std::string_view::npos) text.remove_prefix(at + 1);
  if (text == "storage_offset" || text == "sym_storage_offset") return Question::offset;
  if (text == "is_inference") return Question::inference;
  return text == "is_set_to" ? Question::set_to : Question::none;
}

}  // namespace

Owned ask_memory(Evaluator& e, PyObject* callable, const Arguments& args) {
  if (args.named() != 0 || args.values.empty() || args.values.size() > 2 || !is_tensor(args[0]) ||
      !e.recorder.is_fake(args[0]) || e.recorder.is_over_pytorch())
    return {};
  const Question question = question_of(callable);
  if (question == Question::none) return {};
  if (question == Question::set_to) break_here(Reason::unknown_attribute, "Tensor.is_set_to");
  const Tensor& fake = tensor_of(args[0]);
  TensorImpl* base = base_of(*fake.impl());
  const Owned root = base ? wrap(Tensor(Ref<TensorImpl>::share(base))) : Owned::share(args[0]);
  PyObject* original = e.recorder.original(root.get());
  const bool known = original != nullptr && is_tensor(original);
  if (question == Question::inference) {  // guards of tensors compare the flag of inputs
    const auto flag = [](PyObject* t) { return (tensor_of(t).impl()->meta & TensorImpl::inference) != 0; };
    return Owned::share(flag(args[0]) || (known && flag(original)) ? Py_True : Py_False);
  }
  if (!known) return {};  // memory that the graph allocates
  const SourceId source = e.recorder.source_of(root.get());
  const Tensor& real = tensor_of(original);
  if (source == kNoSource || real.dtype() != fake.dtype())
    break_here(Reason::unknown_attribute, "Tensor.storage_offset");
  const int64_t offset = real.storage_offset();
  const Owned relation =
      Owned::take(Py_BuildValue("(s(si)L)", "==", "offset", static_cast<int>(source), static_cast<long long>(offset)));
  e.origins.sources().guard(kNoSource, FactKind::relation, relation.get());
  if (!base) return Owned::take(PyLong_FromLongLong(offset));
  // A view: its own offset counts from the beginning of the fake, which is at 0.
  const Owned within = e.recorder.call(callable, args.pointers(), nullptr);
  return e.binary(0, within.get(), Owned::take(PyLong_FromLongLong(offset)).get());
}

}  // namespace sconce::python::capture
