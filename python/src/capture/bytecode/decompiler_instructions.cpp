#include "capture/bytecode/decompiler.h"

#include <algorithm>
#include <optional>

#include "capture/bytecode/opcodes.h"

namespace sconce::python::capture::decompiling {

int Decompiler::plain(int at, const Instruction& i, Stack& s) {
  const auto push = [&](std::string text, bool atom = true) { s.push_back(value(std::move(text), atom)); };
  switch (i.op) {
    case Op::nop:
    case Op::resume:
    case Op::make_cell:
    case Op::copy_free_vars:
    case Op::pop_except:
    case Op::end_for:
      if (i.op == Op::pop_except) pop(s);
      return at + 1;
    case Op::return_generator:
      s.push_back(stable("None"));
      return at + 1;
    case Op::push_null: {
      Entry null;
      null.kind = Entry::Kind::null;
      s.push_back(null);
      return at + 1;
    }
    case Op::pop_top:
      drop(s);
      return at + 1;
    case Op::copy: {
      const Entry& e = peek(s, i.arg);
      if (!is_mark(e) && !e.stable && e.slot < 0) keep_running(s);
      s.push_back(Entry(peek(s, i.arg)));
      return at + 1;
    }
    case Op::swap: {
      keep_running(s);
      std::swap(peek(s, 1), peek(s, i.arg));
      return at + 1;
    }
    case Op::load_const: {
      PyObject* constant = code_.constants[i.arg].get();
      if (PyCode_Check(constant) && code_.instructions[at + 1].op == Op::make_function)
        return write_function(at, reinterpret_cast<PyCodeObject*>(constant), s);
      const std::optional<std::string> text = literal(constant);
      Entry e = stable(text ? *text : constant == unseen_function ? kUnseen : object(constant));
      e.atom = !(text && text->starts_with("-"));
      s.push_back(e);
      return at + 1;
    }
    case Op::load_fast:
    case Op::load_fast_check: {
      Entry e = value(local(i.arg));
      e.slot = i.arg;
      s.push_back(e);
      return at + 1;
    }
    case Op::load_closure:
      s.push_back(stable(local(i.arg)));
      return at + 1;
    case Op::load_fast_and_clear:
      if (is_stack_argument(i.arg)) {
        Entry e = value(local(i.arg));
        e.slot = i.arg;
        s.push_back(e);
        return at + 1;
      }
      {  // a variable of a comprehension, which has its own until the old one is back
        Entry saved;
        saved.kind = Entry::Kind::saved;
        saved.slot = i.arg;
        s.push_back(saved);
        if (code_.kinds[i.arg] & 0xc0) throw Unstructured{"a comprehension whose variable is kept by functions"};
        renamed_.erase(i.arg);
        renamed_[i.arg] = fresh("c") + "_" + local(i.arg);
        return at + 1;
      }
    case Op::store_fast:
    case Op::store_deref:
    case Op::store_global:
      return store(at, i, s);
    case Op::delete_fast:
    case Op::delete_deref:
      if (is_stack_argument(i.arg)) return at + 1;  // of resume code, which has put it on the stack
      statement(s, "del " + local(i.arg), i.arg);
      return at + 1;
    case Op::delete_global:
      statement(s, "del " + name(i.arg));
      return at + 1;
    case Op::load_global:
      push(name(i.arg));
      return at + 1;
    case Op::load_deref:
      push(local(i.arg));
      return at + 1;
    case Op::load_attr:
      push(attribute_of(pop(s)) + "." + name(i.arg));
      return at + 1;
    case Op::load_method: {
      const std::string method = attribute_of(pop(s)) + "." + name(i.arg);
      push_callable(s, method);
      return at + 1;
    }
    case Op::load_super_attr:
    case Op::load_super_method: {
      const std::string self = pop_text(s), type = pop_text(s), super = pop_operand(s);
      const std::string text =
          super + (i.arg & 1 && super == "super" ? "()" : "(" + type + ", " + self + ")") + "." + name(i.arg >> 1);
      if (i.op == Op::load_super_method)
        push_callable(s, text);
      else
        push(text);
      return at + 1;
    }
    case Op::store_attr: {
      const std::string of = pop_operand(s), given = pop_text(s);
      statement(s, of + "." + name(i.arg) + " = " + given);
      return at + 1;
    }
    case Op::delete_attr: {
      const std::string of = pop_operand(s);
      statement(s, "del " + of + "." + name(i.arg));
      return at + 1;
    }
    case Op::load_assertion_error:
      push("AssertionError");
      return at + 1;
    case Op::unary_positive:
      push("+" + pop_operand(s), false);
      return at + 1;
    case Op::unary_negative:
      push("-" + pop_operand(s), false);
      return at + 1;
    case Op::unary_not:
      push("not " + pop_operand(s), false);
      return at + 1;
    case Op::unary_invert:
      push("~" + pop_operand(s), false);
      return at + 1;
    case Op::to_bool:
      if (code_.instructions[at + 1].op != Op::jump_if_true && code_.instructions[at + 1].op != Op::jump_if_false &&
          code_.instructions[at + 1].op != Op::unary_not)
        push(builtin("bool") + "(" + pop_text(s) + ")");
      return at + 1;
    case Op::binary_op:
      return binary(at, i, s);
    case Op::compare: {
      const std::string right = pop_operand(s), left = pop_operand(s);
      push(left + " " + kCompareSigns[i.arg] + " " + right, false);
      return at + 1;
    }
    case Op::is_op: {
      const std::string right = pop_operand(s), left = pop_operand(s);
      push(left + (i.arg ? " is not " : " is ") + right, false);
      return at + 1;
    }
    case Op::contains_op: {
      const std::string right = pop_operand(s), left = pop_operand(s);
      push(left + (i.arg ? " not in " : " in ") + right, false);
      return at + 1;
    }
    case Op::subscript: {
      const std::string key = pop_text(s), of = pop_operand(s);
      push(of + "[" + key + "]");
      return at + 1;
    }
    case Op::store_subscript: {
      const std::string key = pop_text(s), of = pop_operand(s), given = pop_text(s);
      statement(s, of + "[" + key + "] = " + given);
      return at + 1;
    }
    case Op::delete_subscript: {
      const std::string key = pop_text(s), of = pop_operand(s);
      statement(s, "del " + of + "[" + key + "]");
      return at + 1;
    }
    case Op::build_slice: {
      const std::string arguments = joined(pop_texts(s, i.arg));
      push(builtin("slice") + "(" + arguments + ")");
      return at + 1;
    }
    default:
      return containers(at, i, s);
  }
}

bool Decompiler::is_stack_argument(int slot) const {
  return slot < code_.argument_count && text_of(code_.locals[slot].get()).starts_with("___stack");
}

// A method with its self: one expression, with a mark where the other entry lies.
void Decompiler::push_callable(Stack& s, const std::string& text) {
  Entry null;
  null.kind = Entry::Kind::null;
  if (!null_is_above) s.push_back(null);
  s.push_back(value(text));
  if (null_is_above) s.push_back(null);
}

void Decompiler::drop(Stack& s) {
  const Entry e = pop(s);
  if (is_mark(e) || e.stable || e.slot >= 0) return;
  statement(s, shown(e));
}

int Decompiler::store(int at, const Instruction& i, Stack& s) {
  const Entry e = pop(s);
  if (e.kind == Entry::Kind::saved) {  // the variable that a comprehension had put aside is back
    renamed_.erase(e.slot);
    return at + 1;
  }
  if (i.op == Op::store_fast && (code_.kinds[i.arg] & 0xc0))
    throw Unstructured{"a comprehension whose variable is kept by functions"};
  const std::string to = stored(at);
  const int written = i.op == Op::store_global ? -1 : i.arg;
  const std::string given = shown(e);
  settle(s, written);
  if (given != to) line(to + " = " + given);
  return at + 1;
}

int Decompiler::binary(int at, const Instruction& i, Stack& s) {
  const Entry right = pop(s), left = pop(s);
  const int op = i.arg % 13;
  if (i.arg < 13) {
    s.push_back(value(operand(left) + " " + kBinarySigns[op] + " " + operand(right), false));
    return at + 1;
  }
  if (is_store(at + 1) && stored(at + 1) == shown(left) && !flow_.is_header(at + 1)) {
    const std::string given = shown(right);
    settle(s, code_.instructions[at + 1].op == Op::store_global ? -1 : code_.instructions[at + 1].arg);
    line(shown(left) + " " + kBinarySigns[op] + "= " + given);
    return at + 2;
  }
  // In place: into a variable, so that it is one statement of Python too.
  const std::string variable = fresh("t");
  settle(s);
  const std::string given = shown(right);
  const std::string before = shown(left);
  if (right.stable || right.slot >= 0) {
    line(variable + " = " + before);
    line(variable + " " + kBinarySigns[op] + "= " + given);
  } else {
    const std::string other = fresh("t");
    line(variable + " = " + before);
    line(other + " = " + given);
    line(variable + " " + kBinarySigns[op] + "= " + other);
  }
  s.push_back(stable(variable));
  return at + 1;
}

int Decompiler::containers(int at, const Instruction& i, Stack& s) {
  const auto push = [&](std::string text, bool atom = true) { s.push_back(value(std::move(text), atom)); };
  const auto display = [&](Entry::Kind kind, std::string text) {
    Entry e = value(std::move(text));
    e.kind = kind;
    s.push_back(e);
  };
  switch (i.op) {
    case Op::build_tuple: {
      const std::vector<std::string> texts = pop_texts(s, i.arg);
      push("(" + joined(texts) + (texts.size() == 1 ? ",)" : ")"));
      return at + 1;
    }
    case Op::build_list:
      display(Entry::Kind::list, joined(pop_texts(s, i.arg)));
      return at + 1;
    case Op::build_set:
      display(Entry::Kind::set, joined(pop_texts(s, i.arg)));
      return at + 1;
    case Op::build_map: {
      const std::vector<std::string> texts = pop_texts(s, 2 * i.arg);
      std::string out;
      for (size_t k = 0; k < texts.size(); k += 2) out += (k ? ", " : "") + texts[k] + ": " + texts[k + 1];
      display(Entry::Kind::dict, out);
      return at + 1;
    }
    case Op::build_const_key_map: {
      pop(s);
      PyObject* keys = code_.constants[code_.instructions[at - 1].arg].get();
      if (code_.instructions[at - 1].op != Op::load_const || !PyTuple_Check(keys)) throw Unstructured();
      const std::vector<std::string> texts = pop_texts(s, i.arg);
      std::string out;
      for (size_t k = 0; k < texts.size(); ++k) {
        const std::optional<std::string> key = literal(PyTuple_GET_ITEM(keys, static_cast<Py_ssize_t>(k)));
        if (!key) throw Unstructured();
        out += (k ? ", " : "") + *key + ": " + texts[k];
      }
      display(Entry::Kind::dict, out);
      return at + 1;
    }
    case Op::build_string:
      push("''.join((" + joined(pop_texts(s, i.arg)) + (i.arg == 1 ? ",))" : "))"));
      return at + 1;
    case Op::convert_value:
    case Op::format_value: {
      const std::string spec = i.op == Op::format_value && (i.arg & 4) ? ", " + pop_text(s) : "";
      static constexpr const char* conversions[] = {"", "str", "repr", "ascii"};
      std::string text = pop_text(s);
      if (i.arg & 3) text = builtin(conversions[i.arg & 3]) + "(" + text + ")";
      push(i.op == Op::convert_value ? text : builtin("format") + "(" + text + spec + ")");
      return at + 1;
    }
    case Op::list_append:
    case Op::set_add:
      return extend(at, i, s, i.op == Op::list_append ? "append" : "add", "");
    case Op::list_extend:
    case Op::set_update:
      return extend(at, i, s, i.op == Op::list_extend ? "extend" : "update", "*");
    case Op::dict_update:
    case Op::dict_merge:
      return extend(at, i, s, "update", "**");
    case Op::map_add: {
      const std::string given = pop_text(s), key = pop_text(s);
      Entry& into = peek(s, i.arg);
      keep(into);
      const std::string name = shown(into);
      statement(s, name + "[" + key + "] = " + given);
      return at + 1;
    }
    case Op::list_to_tuple: {
      const Entry e = pop(s);
      push(e.kind == Entry::Kind::list ? "(" + e.text + (e.text.empty() ? ")" : ",)")
                                       : builtin("tuple") + "(" + shown(e) + ")");
      return at + 1;
    }
    case Op::unpack_sequence:
    case Op::unpack_ex:
      return unpack(at, i, s);
    case Op::get_len: {
      keep_running(s);
      push(builtin("len") + "(" + shown(peek(s, 1)) + ")");
      return at + 1;
    }
    case Op::get_iter:
      push(builtin("iter") + "(" + pop_text(s) + ")");
      return at + 1;
    case Op::call:
    case Op::call_function_ex:
      return call(at, i, s);
    case Op::check_exc_match: {
      const std::string type = pop_text(s);
      push(builtin("isinstance") + "(" + shown(peek(s, 1)) + ", " + type + ")");
      return at + 1;
    }
    case Op::yield_value: {
      const std::string given = pop_text(s);
      for (Entry& e : s) keep(e);
      push("yield " + given, false);
      if (code_.instructions[at + 1].op == Op::resume && code_.instructions[at + 2].op == Op::pop_top) return at + 2;
      keep(s.back());
      return at + 1;
    }
    case Op::import_name: {
      const std::string from = pop_text(s), level = pop_text(s);
      if (from == "None" && level == "0" && is_store(at + 1) && name(i.arg).find('.') == std::string::npos) {
        const std::string to = stored(at + 1);
        statement(s, "import " + name(i.arg) + (to == name(i.arg) ? "" : " as " + to));
        return at + 2;
      }
      push(builtin("__import__") + "(" + literal_name(i.arg) + ", globals(), None, " + from + ", " + level + ")");
      return at + 1;
    }
    case Op::import_from: {
      keep_running(s);
      push(shown(peek(s, 1)) + "." + name(i.arg));
      return at + 1;
    }
    default:
      throw Unstructured();
  }
}

// An element more for a container that lies on the stack: in its display, or by its method.
int Decompiler::extend(int at, const Instruction& i, Stack& s, const char* method, const char* stars) {
  const Entry element = pop(s);
  Entry& into = peek(s, i.arg);
  const bool display =
      into.kind == Entry::Kind::list || into.kind == Entry::Kind::set || into.kind == Entry::Kind::dict;
  if (display && i.arg == 1) {
    into.text += (into.text.empty() ? "" : ", ") + std::string(stars) + (*stars ? operand(element) : shown(element));
    return at + 1;
  }
  keep(into);
  const std::string name = shown(into);
  statement(s, name + "." + method + "(" + shown(element) + ")");
  return at + 1;
}

int Decompiler::unpack(int at, const Instruction& i, Stack& s) {
  const int n = i.op == Op::unpack_sequence ? i.arg : (i.arg & 255) + 1 + (i.arg >> 8);
  const int starred = i.op == Op::unpack_sequence ? -1 : i.arg & 255;
  const std::string given = pop_text(s);
  const bool direct = stores_from(at + 1, n).size() == static_cast<size_t>(n);
  std::string to;
  std::vector<std::string> variables;
  settle(s);
  for (int k = 0; k < n; ++k) {
    variables.push_back(direct ? stored(at + 1 + k) : fresh("t"));
    to += (k ? ", " : "") + std::string(k == starred ? "*" : "") + variables.back();
  }
  if (n == 1) to += ",";
  if (n == 0) to = "()";
  if (direct)
    for (int k = 0; k < n; ++k) settle(s, code_.instructions[at + 1 + k].arg);
  line(to + " = " + given);
  if (direct) return at + 1 + n;
  for (size_t k = variables.size(); k-- > 0;) s.push_back(stable(variables[k]));
  return at + 1;
}

int Decompiler::call(int at, const Instruction& i, Stack& s) {
  std::string arguments;
  if (i.op == Op::call) {
    const Py_ssize_t named = i.names ? PyTuple_GET_SIZE(i.names) : 0;
    std::vector<std::string> texts(static_cast<size_t>(i.arg));
    for (size_t k = texts.size(); k-- > 0;) {
      const Entry e = pop(s);
      if (e.kind == Entry::Kind::null) throw Unstructured();
      texts[k] = e.text.starts_with("yield") && !e.stable ? operand(e) : shown(e);
    }
    for (Py_ssize_t k = 0; k < named; ++k) {
      std::string& text = texts[texts.size() - static_cast<size_t>(named - k)];
      text = std::string(text_of(PyTuple_GET_ITEM(i.names, k))) + "=" + text;
    }
    const auto callee = s.size() < 2 ? std::string() : s[s.size() - 1].text + s[s.size() - 2].text;
    if (callee == kUnseen && !texts.empty()) {
      s.resize(s.size() - 2);
      s.push_back(value(texts.front() + "(" + joined({texts.begin() + 1, texts.end()}) + ")"));
      return at + 1;
    }
    arguments = joined(texts);
  } else {
    const std::string keywords = i.arg & 1 ? ", **" + pop_operand(s) : "";
    arguments = "*" + pop_operand(s) + keywords;
  }
  const Entry upper = pop(s), lower = pop(s);
  if (lower.kind == Entry::Kind::exit) {  // the end of a with block, which the text has
    s.push_back(stable("None"));
  } else if (upper.kind == Entry::Kind::null || lower.kind == Entry::Kind::null) {
    s.push_back(value(operand(upper.kind == Entry::Kind::null ? lower : upper) + "(" + arguments + ")"));
  } else if (upper.text == "None" && arguments == "None, None") {
    throw Unstructured{"it begins inside of a with block"};
  } else {  // a function with its first argument beside it
    s.push_back(value(operand(lower) + "(" + shown(upper) + (arguments.empty() ? "" : ", ") + arguments + ")"));
  }
  return at + 1;
}

// def name(...): (its code), for a function that is made here.
int Decompiler::write_function(int at, PyCodeObject* code, Stack& s) {
  const Instruction& make = code_.instructions[at + 1];
  if (!(code->co_flags & CO_OPTIMIZED)) throw Unstructured();
  const auto given = [&](int flag) { return make.arg & flag ? std::optional(pop_text(s)) : std::nullopt; };
  given(8);
  const std::optional<std::string> annotations = given(4), keywords = given(2), defaults = given(1);
  settle(s);
  const bool direct = is_store(at + 2) && is_identifier(code->co_name) && stored(at + 2) == text_of(code->co_name);
  const std::string name = direct ? std::string(text_of(code->co_name)) : fresh("f");
  const std::shared_ptr<const Code> decoded = decode(code);
  Decompiler inner(*decoded, indent_, objects_, counter_);
  inner.run(name);
  for (const std::string& l : inner.lines_) {
    if (lines_.size() >= kMost) throw Unstructured();
    lines_.push_back(l);
  }
  if (defaults) line(name + ".__defaults__ = " + *defaults);
  if (keywords) line(name + ".__kwdefaults__ = " + *keywords);
  if (annotations) {
    const std::string pairs = fresh("t");
    line(pairs + " = " + *annotations);
    line(name + ".__annotations__ = " + builtin("dict") + "(" + builtin("zip") + "(" + pairs + "[::2], " + pairs +
         "[1::2]))");
  }
  if (!direct) line(name + ".__name__ = " + *literal(code->co_name));
  if (direct) return at + 3;
  s.push_back(stable(name));
  return at + 2;
}

}  // namespace sconce::python::capture::decompiling
