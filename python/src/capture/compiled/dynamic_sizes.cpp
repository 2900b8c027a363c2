#include "capture/compiled/dynamic_sizes.h"

#include "capture/compiled/settings.h"
#include "capture/guards/guards.h"
#include "capture/guards/tensor_fact.h"
#include "tensor_object.h"

namespace sconce::python::capture {

bool is_parameter(PyObject* tensor) {
  for (PyTypeObject* type = Py_TYPE(tensor); type; type = type->tp_base)
    if (std::string_view(type->tp_name).ends_with("Parameter")) return true;
  return false;
}

uint64_t SizeHistory::free_dims(const CompileConfig& config, const std::string& place, PyObject* tensor) {
  if (!is_tensor(tensor)) return 0;
  const TensorMarks marks = tensor_marks(tensor);
  const IntList sizes = tensor_of(tensor).sizes();
  if (sizes.size() > 63) return 0;
  const bool keeps_sizes = is_parameter(tensor);
  Seen none;
  Seen& seen = keeps_sizes ? none : tensors_[place];
  if (seen.sizes.size() == sizes.size()) {
    for (size_t i = 0; i < sizes.size(); ++i)
      if (seen.sizes[i] != sizes[i]) seen.varied |= uint64_t{1} << i;
  } else {
    seen.varied = 0;
  }
  if (!keeps_sizes) seen.sizes.assign(sizes.begin(), sizes.end());
  uint64_t plain = 0;  // sizes that may be free without being told so
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] > 1) plain |= uint64_t{1} << i;
  const uint64_t all = sizes.size() == 0 ? 0 : (uint64_t{1} << sizes.size()) - 1;
  uint64_t free = marks.dynamic | (marks.weak & plain);
  if (!keeps_sizes) {
    const bool from_start = config.dynamic == 1 || (config.dynamic == -1 && !settings().assume_static);
    if (from_start) free |= plain;
    if (config.dynamic == -1 && settings().automatic_dynamic_sizes) free |= seen.varied & plain;
  }
  return free & all & ~(marks.fixed & ~marks.dynamic);
}

bool SizeHistory::free_number(const CompileConfig& config, const std::string& place, PyObject* number,
                              bool from_start) {
  SeenNumber& seen = numbers_[place];
  if (seen.number && !same_constant(seen.number.get(), number))
    seen.varied = Py_TYPE(seen.number.get()) == Py_TYPE(number);  // another class is another program
  seen.number = Owned::share(number);
  if (config.dynamic == 0) return false;
  if (config.dynamic == 1 || !settings().assume_static) return from_start || seen.varied;
  return seen.varied && settings().automatic_dynamic_sizes;
}

}  // namespace sconce::python::capture
