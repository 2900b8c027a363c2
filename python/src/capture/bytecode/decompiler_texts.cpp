#include "capture/bytecode/decompiler.h"

#include <algorithm>
#include <set>

#include "capture/bytecode/listing.h"

namespace sconce::python::capture::decompiling {

std::string Decompiler::run(const std::string& name) {
  if (code_.flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) throw Unstructured{"coroutines are not shown as source"};
  line("def " + name + "(" + parameters() + "):");
  ++indent_;
  const size_t start = lines_.size();
  declare();
  walk(0, {});
  if (lines_.size() == start) line("pass");
  std::string out;
  for (const std::string& l : lines_) out += l + "\n";
  return out;
}

void Decompiler::line(const std::string& text) {
  if (lines_.size() >= kMost) throw Unstructured{"the source would be too long"};
  lines_.push_back(std::string(static_cast<size_t>(indent_) * 4, ' ') + text);
}

std::string Decompiler::local(int slot) const {
  const auto renamed = renamed_.find(slot);
  if (renamed != renamed_.end()) return renamed->second;
  std::string name(text_of(code_.locals[slot].get()));
  if (!is_identifier(code_.locals[slot].get())) {
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    name = "___" + name;  // ".0" of comprehensions
  }
  return name;
}

std::string Decompiler::object(PyObject* constant) {
  for (const auto& [known, o] : objects_)
    if (o.get() == constant) return known;
  const std::string base = object_name(constant);
  std::string chosen = base;
  const auto taken = [&](const std::string& n) {
    for (const auto& [known, o] : objects_)
      if (known == n) return true;
    for (size_t s = 0; s < code_.locals.size(); ++s)
      if (local(static_cast<int>(s)) == n) return true;
    for (const Owned& global : code_.names)
      if (text_of(global.get()) == n) return true;
    return false;
  };
  for (int i = 1; taken(chosen); ++i) chosen = base + "_" + std::to_string(i);
  objects_.emplace_back(chosen, Owned::share(constant));
  return chosen;
}

// A function of Python's that the text calls on its own: by another name where the code has that one for something
// else.
std::string Decompiler::builtin(const char* name) {
  const auto equal = [&](const Owned& other) { return PyUnicode_CompareWithASCIIString(other.get(), name) == 0; };
  if (std::ranges::none_of(code_.locals, equal) && std::ranges::none_of(code_.names, equal)) return name;
  const Owned builtins = Owned::take(PyImport_ImportModule("builtins"));
  const Owned found = Owned::take(PyObject_GetAttrString(builtins.get(), name));
  return object(found.get());
}

std::string Decompiler::parameters() const {
  std::string out;
  int slot = 0;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (; slot < code_.argument_count; ++slot) {
    add(local(slot));
    if (slot + 1 == code_.positional_only) add("/");
  }
  const int keywords = slot + code_.keyword_only;
  if (code_.flags & CO_VARARGS)
    add("*" + local(keywords));
  else if (code_.keyword_only)
    add("*");
  for (; slot < keywords; ++slot) add(local(slot));
  if (code_.flags & CO_VARKEYWORDS) add("**" + local(keywords + !!(code_.flags & CO_VARARGS)));
  return out;
}

// Names that are written here and belong to others.
void Decompiler::declare() {
  std::set<std::string> global, nonlocal;
  for (const Instruction& i : code_.instructions) {
    if (i.op == Op::store_global || i.op == Op::delete_global) global.insert(name(i.arg));
    if ((i.op == Op::store_deref || i.op == Op::delete_deref) && (code_.kinds[i.arg] & 0x80))
      nonlocal.insert(local(i.arg));
  }
  const bool named = is_identifier(code_.name.get());
  if (named && !code_.constants.empty() && PyUnicode_CheckExact(code_.constants[0].get()))
    line(*literal(code_.constants[0].get()));
  for (size_t slot = static_cast<size_t>(code_.slots()); slot < code_.kinds.size(); ++slot) {
    // A local all the same: of functions inside, or unbound.
    const bool bound = std::ranges::any_of(code_.instructions, [&](const Instruction& i) {
      return (i.op == Op::store_deref || i.op == Op::store_fast) && i.arg == static_cast<int>(slot);
    });
    const bool read = std::ranges::any_of(code_.instructions, [&](const Instruction& i) {
      return (i.op == Op::load_fast || i.op == Op::load_fast_check) && i.arg == static_cast<int>(slot);
    });
    if (!bound && ((code_.kinds[slot] & 0x40) || (read && code_.kinds[slot] == 0x20)))
      line("if False: " + local(static_cast<int>(slot)) + " = None");
  }
  // super() looks for its class in the frame; the compiler puts it there where it sees the name.
  for (size_t slot = 0; slot < code_.kinds.size(); ++slot)
    if ((code_.kinds[slot] & 0x80) && local(static_cast<int>(slot)) == "__class__") line("__class__");
  for (const std::string& n : global) line("global " + n);
  for (const std::string& n : nonlocal) line("nonlocal " + n);
}

Entry Decompiler::value(std::string text, bool atom) {
  Entry e;
  e.text = std::move(text);
  e.atom = atom;
  return e;
}

Entry Decompiler::stable(std::string text) {
  Entry e = value(std::move(text));
  e.stable = true;
  return e;
}

bool Decompiler::is_mark(const Entry& e) {
  return e.kind == Entry::Kind::null || e.kind == Entry::Kind::iterator || e.kind == Entry::Kind::exit ||
         e.kind == Entry::Kind::saved;
}

std::string Decompiler::shown(const Entry& e) {
  switch (e.kind) {
    case Entry::Kind::list:
      return "[" + e.text + "]";
    case Entry::Kind::set:
      return e.text.empty() ? "set()" : "{" + e.text + "}";
    case Entry::Kind::dict:
      return "{" + e.text + "}";
    case Entry::Kind::value:
      return e.text;
    default:
      throw Unstructured{"a null or an iterator is used as a value"};
  }
}

std::string Decompiler::operand(const Entry& e) {
  return e.atom || e.kind != Entry::Kind::value ? shown(e) : "(" + e.text + ")";
}

std::string Decompiler::attribute_of(const Entry& e) {  // 3 .real
  const std::string text = operand(e);
  return std::isdigit(static_cast<unsigned char>(text[0])) ? "(" + text + ")" : text;
}

Entry Decompiler::pop(Stack& s) {
  if (s.empty()) throw Unstructured{"the stack is empty"};
  Entry e = std::move(s.back());
  s.pop_back();
  return e;
}

Entry& Decompiler::peek(Stack& s, int below) {
  if (below < 1 || static_cast<size_t>(below) > s.size()) throw Unstructured{"the stack is too short"};
  return s[s.size() - static_cast<size_t>(below)];
}

// Texts of the last n entries, the deepest first.
std::vector<std::string> Decompiler::pop_texts(Stack& s, int n) {
  std::vector<std::string> texts(static_cast<size_t>(n));
  for (size_t i = texts.size(); i-- > 0;) texts[i] = pop_text(s);
  return texts;
}

std::string Decompiler::joined(const std::vector<std::string>& texts, size_t from) {
  std::string out;
  for (size_t i = from; i < texts.size(); ++i) out += (i > from ? ", " : "") + texts[i];
  return out;
}

void Decompiler::keep(Entry& e) {
  if (is_mark(e) || e.stable) return;
  const std::string variable = fresh("t");
  line(variable + " = " + shown(e));
  e = stable(variable);
}

void Decompiler::keep_running(Stack& s) {  // all but names of locals
  for (Entry& e : s)
    if (e.slot < 0) keep(e);
}

// Before a statement: what the stack holds is computed. A local that the statement does not write may stay a name.
void Decompiler::settle(Stack& s, int written) {
  for (Entry& e : s)
    if (!(e.slot >= 0 && e.slot != written)) keep(e);
}

void Decompiler::statement(Stack& s, const std::string& text, int written) {
  settle(s, written);
  line(text);
}

// Where ways meet: every entry is in its variable.
void Decompiler::meet(Stack& s) {
  std::vector<std::string> to, from;
  for (size_t i = 0; i < s.size(); ++i) {
    const std::string variable = "___s" + std::to_string(i);
    if (is_mark(s[i]) || (s[i].kind == Entry::Kind::value && s[i].text == variable)) continue;
    to.push_back(variable);
    from.push_back(shown(s[i]));
    s[i] = stable(variable);
  }
  if (!to.empty()) line(joined(to) + " = " + joined(from));
}

}  // namespace sconce::python::capture::decompiling
