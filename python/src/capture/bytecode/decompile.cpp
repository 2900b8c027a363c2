// Note [Sources from stacks]
// The stack is a list of expressions while instructions are walked. Whatever runs code or could change goes into a
// variable before a statement is written, so that the text keeps the order of the code. Where branches meet, entry
// number n of the stack is the variable ___sn. A way through the code that leaves its loop or block without meeting the
// others is written out to its end, so that code may appear twice but never in another order; kMost bounds that.
#include "capture/bytecode/decompile.h"

#include "capture/bytecode/decompiler.h"
#include "capture/bytecode/listing.h"
#include "capture/bytecode/literals.h"

namespace sconce::python::capture {

Decompiled decompile(const Code& code) {
  Decompiled made;
  for (size_t s = 0; s < code.locals.size(); ++s)
    if (code.kinds[s] & 0x80) made.closure.emplace_back(text_of(code.locals[s].get()));
  const std::string name = is_identifier(code.name.get()) ? std::string(text_of(code.name.get())) : "___lambda";
  try {
    int counter = 0;
    made.text = decompiling::Decompiler(code, 0, made.objects, counter).run(name);
  } catch (const decompiling::Unstructured& e) {
    made.structured = false;
    made.objects.clear();
    made.text = "# " + name + ": " + e.why + "\n";
    const std::string listed = list_instructions(code);
    for (size_t start = 0; start < listed.size();) {
      const size_t end = listed.find('\n', start);
      made.text += "# " + listed.substr(start, end - start) + "\n";
      start = end + 1;
    }
  }
  return made;
}

void show_as_call_of_argument(PyObject* function) { decompiling::unseen_function = function; }

}  // namespace sconce::python::capture
