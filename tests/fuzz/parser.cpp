#include <cstdlib>

#include "sconce/syntax/dump.h"
#include "sconce/syntax/parser.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

// A refusal has a reason, and a place inside of the text.
template <class F>
void parse(F f) {
  try {
    f();
  } catch (const CompileError& e) {
    const Range& at = e.at();
    if (e.reason().empty() || !at || at.begin > at.end || at.end > at.source->text().size()) std::abort();
  }
}

}  // namespace

void parser(std::string_view bytes) {
  const auto source = std::make_shared<const Source>("fuzz.py", std::string(bytes));
  for (const auto dialect : {syntax::Dialect::python, syntax::Dialect::archive}) {
    parse([&] { to_string(syntax::parse(source, dialect)->body); });
    // Short texts are tried as the other things, too.
    if (bytes.size() > 100) continue;
    parse([&] { to_string(syntax::parse_statements(source, dialect)->body); });
    parse([&] { to_string(syntax::parse_expression(source, dialect).expr); });
  }
}

}  // namespace sconce::fuzz
