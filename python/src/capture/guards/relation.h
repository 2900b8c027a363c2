// Relations of sizes and numbers: expressions over what a call brings, compiled for a stack machine. The form is Note [Relations] in
// source.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "capture/guards/number.h"
#include "object.h"

namespace sconce::python::capture {

class Relation {
 public:
  // `step_of`: the step that fetches a source. Throws PythonError (ValueError) for another form.
  Relation(PyObject* expression, const std::function<int32_t(int64_t)>& step_of);
  bool holds(PyObject* const* slots) const;
  // What the expression is; none where number.h does not compute it, or a slot is another kind of object.
  std::optional<Number> value(PyObject* const* slots) const;
  // "2 <= L['x'].size()[0]"
  std::string text(const std::function<std::string(int32_t)>& step_text) const;
  // Steps it reads.
  std::vector<int32_t> steps() const;

 private:
  enum class What : uint8_t { number, size, stride, offset, number_of, binary, unary };
  struct Piece {
    What what;
    uint8_t op = 0;
    int32_t step = -1;
    Number number;
  };
  void compile(PyObject* expression, const std::function<int32_t(int64_t)>& step_of, int depth);
  std::vector<Piece> pieces_;  // operands first
};

}  // namespace sconce::python::capture
