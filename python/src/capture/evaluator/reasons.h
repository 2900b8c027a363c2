// Reasons of graph breaks: one row for each, with a code, what happened and what the user may do about it.
#pragma once

#include <string>

namespace sconce::python::capture {

enum class Reason {
  tensor_truth,
  data_dependent,
  unknown_callable,
  output,
  instruction,
  escapes,
  unknown_object,
  attribute_protocol,
  unknown_attribute,
  exception,
  disabled,
  limit,
  asked,
  import_,
  asynchronous,
  class_definition,
  callback,
  mutation,
  state,
  forced,
};

struct ReasonRow {
  const char* code;
  const char* text;
  const char* hint;
};
const ReasonRow& row_of(Reason reason);

// Ends an evaluation: thrown by whatever cannot be evaluated. `detail` follows the row's text.
struct Break {
  Reason reason;
  std::string detail;
};

}  // namespace sconce::python::capture
