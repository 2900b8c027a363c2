#include "capture/evaluator/reasons.h"

namespace sconce::python::capture {
namespace {

// In the order of Reason.
constexpr ReasonRow kRows[] = {
    {"SC0001", "the truth of a tensor decides a branch", "compute both sides and choose with torch.where, or use cond"},
    {"SC0002", "a value that is known only when the graph has run is needed",
     "keep it a tensor, or move the use of the number out of the compiled function"},
    {"SC0003", "a call of code that capture does not know",
     "move the call out of the compiled function, or register it with sconce.compiler.allow_in_graph"},
    {"SC0004", "output to the world", "print after the compiled function returned"},
    {"SC0005", "an instruction that capture does not evaluate", "write the statement in another way"},
    {"SC0006", "an object that cannot be made again leaves the graph", "use it up inside of the compiled function"},
    {"SC0007", "an object of a kind that capture does not know", "pass tensors, numbers, texts and containers of them"},
    {"SC0008", "attributes that code of its own looks up", "read the attribute outside of the compiled function"},
    {"SC0009", "an attribute whose value is not known before the graph runs",
     "read the attribute outside of the compiled function"},
    {"SC0010", "an exception leaves the function", "none is needed: the exception is raised by Python itself"},
    {"SC0011", "a function for which capture is disabled", "none is needed if that is meant"},
    {"SC0012", "more work than one capture may take", "compile a smaller part of the program"},
    {"SC0013", "graph_break was called", "none is needed if that is meant"},
    {"SC0014", "an import that was not done before", "import at the top of the file"},
    {"SC0015", "coroutines and asynchronous generators", "compile the functions that they call"},
    {"SC0016", "a class statement", "define the class outside of the compiled function"},
    {"SC0017", "code of C that would call back into Python", "write the loop in Python"},
    {"SC0018", "a write to an object that capture cannot repeat later", "write to it outside of the compiled function"},
    {"SC0019", "a change of the state of the library", "change it outside of the compiled function"},
    {"SC0020", "a break that a test asked for", "none is needed"},
};

}  // namespace

const ReasonRow& row_of(Reason reason) { return kRows[static_cast<int>(reason)]; }

}  // namespace sconce::python::capture
