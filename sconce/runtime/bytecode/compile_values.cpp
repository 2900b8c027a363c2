// Lists, dicts, tuples, strings, objects.
#include "sconce/runtime/bytecode/compiler.h"
#include "sconce/types/class_info.h"

namespace sconce::runtime {
namespace {

// The storage of a list of such elements, as List's constructor decides.
enum class Storage : uint8_t { ints, floats, bools, tensors, values };
Storage storage_of(TypePtr element) {
  const TypePtr t = plain_type(element);
  if (t->is(TypeKind::int_)) return Storage::ints;
  if (t->is(TypeKind::float_)) return Storage::floats;
  if (t->is(TypeKind::bool_)) return Storage::bools;
  if (t->is(TypeKind::tensor) || (t->is(TypeKind::optional) && t->element()->is(TypeKind::tensor)))
    return Storage::tensors;
  return Storage::values;
}

}  // namespace

bool BytecodeCompiler::emit_container(const ir::Node* n) {
  if (!n->op()) return false;
  const Container c = container_of(*n->op());
  const auto is_list = [&](size_t i) { return n->input(i)->type()->is(TypeKind::list); };
  const auto discarded = [&](size_t i) { return i >= n->outputs().size() || !n->output(i)->has_uses(); };
  switch (c) {
    case Container::none:
      return false;
    case Container::wait:
      emit_wait(n);
      return true;
    case Container::list_len: {
      if (!is_list(0)) return false;
      const Draft list = operand(n->input(0));
      emit(Opcode::list_len, define(n->output()), list);
      return true;
    }
    case Container::list_get: {
      if (!is_list(0) || n->inputs().size() != 2 || class_of(n->input(1)->type()) != RegisterClass::int_) return false;
      const TypePtr element = n->input(0)->type()->element();
      if (class_of(element) != class_of(n->output()->type())) return false;
      const Draft list = operand(n->input(0)), index = operand(n->input(1));
      Opcode op = Opcode::list_get_value;
      switch (storage_of(element)) {
        case Storage::ints:
          op = Opcode::list_get_int;
          break;
        case Storage::floats:
          op = Opcode::list_get_float;
          break;
        case Storage::bools:
          op = Opcode::list_get_bool;
          break;
        case Storage::tensors:
          op = Opcode::list_get_tensor;
          break;
        case Storage::values:
          break;
      }
      free_taken();
      emit(op, define(n->output()), list, index);
      return true;
    }
    case Container::list_set: {
      if (!is_list(0) || n->inputs().size() != 3 || !discarded(0)) return false;
      if (class_of(n->input(1)->type()) != RegisterClass::int_) return false;
      const TypePtr element = n->input(0)->type()->element();
      if (class_of(element) != class_of(n->input(2)->type())) return false;
      const Storage s = storage_of(element);
      const Draft list = operand(n->input(0)), index = operand(n->input(1));
      if (s == Storage::ints || s == Storage::floats)
        emit(s == Storage::ints ? Opcode::list_set_int : Opcode::list_set_float, list, index, operand(n->input(2)));
      else
        emit(s == Storage::tensors ? Opcode::list_set_tensor : Opcode::list_set_value, list, index, take_input(2));
      break;
    }
    case Container::list_append: {
      if (!is_list(0) || n->inputs().size() != 2 || !discarded(0)) return false;
      const TypePtr element = n->input(0)->type()->element();
      if (class_of(element) != class_of(n->input(1)->type())) return false;
      const Storage s = storage_of(element);
      const Draft list = operand(n->input(0));
      if (s == Storage::ints || s == Storage::floats)
        emit(s == Storage::ints ? Opcode::list_append_int : Opcode::list_append_float, list, operand(n->input(1)));
      else
        emit(s == Storage::tensors ? Opcode::list_append_tensor : Opcode::list_append_value, list,
             root(n->input(0)) == root(n->input(1)) ? operand(n->input(1)) : take(n->input(1)));
      break;
    }
    case Container::dict_get: {
      if (n->inputs().size() != 2) return false;
      const Draft dict = operand(n->input(0)), key = operand(n->input(1));
      free_taken();
      emit(is_word(n->output()) ? Opcode::dict_get_word : Opcode::dict_get, define(n->output()), dict, key);
      return true;
    }
    case Container::dict_contains: {
      if (n->inputs().size() != 2) return false;
      const Draft dict = operand(n->input(0)), key = operand(n->input(1));
      free_taken();
      emit(Opcode::dict_contains, define(n->output()), dict, key);
      return true;
    }
    case Container::dict_set: {
      if (n->inputs().size() != 3 || !discarded(0)) return false;
      const Draft dict = operand(n->input(0));
      const ir::Value* container = root(n->input(0));
      const auto given = [&](size_t i) {
        return root(n->input(i)) == container ? operand(n->input(i)) : take_input(i);
      };
      const Draft key = given(1), value = given(2);
      emit(Opcode::dict_set, dict, key, value);
      break;
    }
    case Container::str_concat: {
      if (n->inputs().size() != 2) return false;
      const Draft left = take_input(0), right = operand(n->input(1));
      free_taken();
      emit(Opcode::str_concat, define(n->output()), left, right);
      return true;
    }
    case Container::is:
    case Container::is_not: {
      if (!is_none(n->input(1)) || is_word(n->input(0))) return false;
      const Draft x = operand(n->input(0));
      emit(c == Container::is ? Opcode::is_none : Opcode::is_not_none, define(n->output()), x);
      return true;
    }
    case Container::warn: {
      if (n->inputs().empty()) return false;
      BuildSite& site = code_->build_sites.emplace_back();
      emit_build(Opcode::warn, operand(n->input(0)), 0, &site);
      return true;
    }
  }
  return true;  // these return their container, unused here
}

void BytecodeCompiler::emit_build_node(const ir::Node* n, Opcode op) {
  BuildSite& site = code_->build_sites.emplace_back();
  site.type = plain_type(n->output()->type());
  const TypeKind wanted = op == Opcode::make_list    ? TypeKind::list
                          : op == Opcode::make_dict  ? TypeKind::dict
                          : op == Opcode::make_tuple ? TypeKind::tuple
                                                     : TypeKind::class_;
  SCONCE_CHECK(site.type->is(wanted), "{} cannot make a value of type {}", n->kind().text(), site.type->to_string());
  SCONCE_CHECK(op != Opcode::make_dict || n->inputs().size() % 2 == 0, "prim::DictConstruct has a key without a value");
  for (size_t i = 0; i < n->inputs().size(); ++i) site.registers.push_back(take_input(i));
  free_taken();
  emit_build(op, define(n->output()), 0, &site);
}

void BytecodeCompiler::emit_unpack(const ir::Node* n, Opcode op) {
  BuildSite& site = code_->build_sites.emplace_back();
  const Draft from = take_input(0);
  free_taken();
  for (const ir::Value* out : n->outputs()) {
    site.registers.push_back(define(out));
    site.tags.push_back(tag_of(class_of(out->type())));
  }
  emit_build(op, from, 0, &site);
}

void BytecodeCompiler::emit_tuple_index(const ir::Node* n) {
  const std::optional<int64_t> index = constant_int(n->input(1));
  if (!index) return emit_op(n);  // all elements have one type
  const TypePtr type = n->input(0)->type();
  int64_t at = *index;
  if (type->is(TypeKind::tuple)) {
    const auto size = static_cast<int64_t>(type->contained().size());
    if (at < 0) at += size;
    SCONCE_CHECK_AS(index, at >= 0 && at < size, "tuple index {} is out of range for {}", *index, type->to_string());
  }
  const Draft from = operand(n->input(0));
  free_taken();
  emit(Opcode::tuple_get, define(n->output()), from, tag_of(class_of(n->output()->type())), at);
}

// The elements, then a new tuple of them.
void BytecodeCompiler::emit_tuple_slice(const ir::Node* n) {
  const TypePtr type = n->input(0)->type();
  SCONCE_CHECK(type->is(TypeKind::tuple), "prim::TupleSlice takes a tuple, got {}", type->to_string());
  const int64_t begin = n->value_attribute("beg").to_int(), end = n->value_attribute("end").to_int();
  const auto size = static_cast<int64_t>(type->contained().size());
  SCONCE_CHECK_AS(index, 0 <= begin && begin <= end && end <= size, "tuple slice {}:{} is out of range for {}", begin,
                  end, type->to_string());
  BuildSite& site = code_->build_sites.emplace_back();
  site.type = n->output()->type();
  const Draft from = operand(n->input(0));
  std::vector<uint32_t> temporaries;
  for (int64_t i = begin; i < end; ++i) {
    const RegisterClass c = class_of(type->contained()[static_cast<size_t>(i)]);
    const uint32_t t = registers_.take(c);
    temporaries.push_back(t);
    emit(Opcode::tuple_get, local(t), from, tag_of(c), i);
    site.registers.push_back(local(t) | (c == RegisterClass::value ? kMoves : 0));
  }
  free_taken();
  emit_build(Opcode::make_tuple, define(n->output()), 0, &site);
  for (const uint32_t t : temporaries) registers_.free(t);
}

// An attribute is borrowed when nothing can replace it while it is used: in graphs that set none and call nothing, and
// submodules always, whose slots never change.
void BytecodeCompiler::emit_get_attr(const ir::Node* n) {
  const ir::Value* object = n->input(0);
  const std::string& name = n->string_attribute("name");
  SCONCE_CHECK(object->type()->is(TypeKind::class_), "prim::GetAttr takes an object, got {}",
               object->type()->to_string());
  const ClassInfo& info = *object->type()->class_info();
  const int slot = info.find(name);
  SCONCE_CHECK(slot >= 0, "{} has no attribute '{}'", object->type()->to_string(), name);
  const auto place_of_object = places_.find(root(object));
  const bool from_borrowed = place_of_object != places_.end() && place_of_object->second.borrowed;
  const TypePtr type = n->output()->type();
  const bool is_submodule = info.is_module && type->is(TypeKind::class_) && type->class_info()->is_module;
  const bool borrow = from_borrowed && (attributes_are_stable_ || is_submodule);
  const Draft from = operand(object);
  if (is_word(n->output())) {
    free_taken();
    emit(Opcode::get_attr_word, define(n->output()), from, 0, slot);
  } else if (borrow) {
    free_taken();
    const uint32_t r = registers_.take(RegisterClass::borrowed);
    place(n->output(), r, true);
    emit(Opcode::borrow_attr, local(r), from, 0, slot);
  } else {
    const Draft to = define(n->output());
    emit(Opcode::get_attr, to, from, 0, slot);
  }
}

void BytecodeCompiler::emit_set_attr(const ir::Node* n) {
  const ir::Value* object = n->input(0);
  const std::string& name = n->string_attribute("name");
  SCONCE_CHECK(object->type()->is(TypeKind::class_), "prim::SetAttr takes an object, got {}",
               object->type()->to_string());
  const ClassInfo& info = *object->type()->class_info();
  const int slot = info.find(name);
  SCONCE_CHECK(slot >= 0, "{} has no attribute '{}'", object->type()->to_string(), name);
  const RegisterClass c = class_of(info.attributes[static_cast<size_t>(slot)].type);
  const Draft to = operand(object);
  if (c != RegisterClass::value && c == class_of(n->input(1)->type()))
    emit(Opcode::set_attr_word, to, operand(n->input(1)), 0, slot);
  else
    emit(Opcode::set_attr, to, root(n->input(1)) == root(object) ? operand(n->input(1)) : take_input(1), 0, slot);
}

void BytecodeCompiler::emit_isinstance(const ir::Node* n) {
  BuildSite& site = code_->build_sites.emplace_back();
  site.types = n->types_attribute("types");
  const Draft from = operand(n->input(0));
  emit_build(Opcode::isinstance, define(n->output()), from, &site);
}

void BytecodeCompiler::emit_tolist(const ir::Node* n) {
  BuildSite& site = code_->build_sites.emplace_back();
  site.type = plain_type(n->output()->type());
  const Draft from = operand(n->input(0));
  const Draft to = define(n->output());
  emit_build(Opcode::tolist, to, from, &site);
  drafts_.back().c = tag_of(class_of(site.type));
}

// Between register classes; a cast within one class needs no instruction.
void BytecodeCompiler::emit_cast(const ir::Node* n) {
  const Draft from = operand(n->input(0));
  const Draft to = define(n->output());
  if (is_word(n->output())) {
    // Only the program says that the value is a number: without this, the address of an object would pass as one.
    if (!is_word(n->input(0))) emit(Opcode::check_tag, from, tag_of(class_of(n->output()->type())));
    emit(Opcode::move_word, to, from);
  } else
    emit(Opcode::copy_bits, to, from);  // a word as a Value
}

void BytecodeCompiler::emit_uninitialized(const ir::Node* n) {
  for (const ir::Value* out : n->outputs()) {
    const Draft to = define(out);
    if (is_word(out)) emit(Opcode::load_int, to, 0, 0, 0);
  }
}

}  // namespace sconce::runtime
