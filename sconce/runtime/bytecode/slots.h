// Register access: registers as words, which are copied, counted and released.
#pragma once

#include "sconce/runtime/bytecode/code.h"

namespace sconce::runtime {

inline constexpr uint64_t kNoneTag = static_cast<uint64_t>(Tag::none);
inline constexpr uint64_t kFirstCounted = static_cast<uint64_t>(Tag::tensor);
constexpr uint64_t tag_word(Tag t) { return static_cast<uint64_t>(t); }

SCONCE_INLINE Slot& slot_at(Slot* base, uint32_t operand) {
  return *reinterpret_cast<Slot*>(reinterpret_cast<char*>(base) + 8 * static_cast<size_t>(operand));
}
SCONCE_INLINE Value& value_of(Slot& s) { return reinterpret_cast<Value&>(s); }
SCONCE_INLINE const Value& value_of(const Slot& s) { return reinterpret_cast<const Value&>(s); }

// Two 8-byte moves, never one of 16: see Slot.
SCONCE_INLINE void copy_words(Slot& to, const Slot& from) {
  uint64_t bits = from.bits;
  asm("" : "+r"(bits));
  uint64_t tag = from.tag;
  asm("" : "+r"(tag));
  to.bits = bits;
  asm volatile("");
  to.tag = tag;
}
SCONCE_INLINE void set_none(Slot& s) {
  s.bits = 0;
  s.tag = kNoneTag;
}
SCONCE_INLINE void retain_slot(const Slot& s) {
  if (s.tag < kFirstCounted) return;
  if (s.tag == tag_word(Tag::tensor))
    retain(reinterpret_cast<TensorImpl*>(s.bits));
  else
    retain(reinterpret_cast<Counted*>(s.bits));
}
SCONCE_INLINE void release_slot(Slot& s) {
  const uint64_t tag = s.tag;
  if (tag < kFirstCounted) return;
  const uint64_t bits = s.bits;
  set_none(s);
  if (tag == tag_word(Tag::tensor))
    release(reinterpret_cast<TensorImpl*>(bits));
  else
    release(reinterpret_cast<Counted*>(bits));
}
SCONCE_INLINE void copy_counted(Slot& to, const Slot& from) {
  retain_slot(from);
  copy_words(to, from);
}
SCONCE_INLINE void move_slot(Slot& to, Slot& from) {
  copy_words(to, from);
  set_none(from);
}
// The object that a register holds; throws Error (type) when it holds something else.
SCONCE_INLINE List& list_in(Slot& s) {
  if (s.tag != tag_word(Tag::list)) [[unlikely]]
    (void)value_of(s).to_list();
  return *static_cast<List*>(reinterpret_cast<Counted*>(s.bits));
}
SCONCE_INLINE Dict& dict_in(Slot& s) {
  if (s.tag != tag_word(Tag::dict)) [[unlikely]]
    (void)value_of(s).to_dict();
  return *static_cast<Dict*>(reinterpret_cast<Counted*>(s.bits));
}
SCONCE_INLINE Object& object_in(Slot& s) {
  if (s.tag != tag_word(Tag::object)) [[unlikely]]
    (void)value_of(s).to_object();
  return *static_cast<Object*>(reinterpret_cast<Counted*>(s.bits));
}
// The register's value, to be kept: moved when the operand says so, else shared.
SCONCE_INLINE Value take_value(Slot* base, Operand operand) {
  Slot& s = slot_at(base, operand & ~kMoves);
  Slot out;
  if (operand & kMoves) {
    move_slot(out, s);
  } else {
    copy_counted(out, s);
  }
  return std::move(value_of(out));
}
// The same for a register that holds a tensor.
SCONCE_INLINE Tensor take_tensor(Slot& s, Operand operand) {
  auto* p = reinterpret_cast<TensorImpl*>(s.bits);
  if (operand & kMoves)
    set_none(s);
  else
    retain(p);
  return Tensor(Ref<TensorImpl>::adopt(p));
}
// Writes a result into a free register: payload only when it is a word, whose tag must fit.
[[noreturn]] SCONCE_COLD void wrong_result(Tag got, Tag wanted);
SCONCE_INLINE void put_value(Slot& to, Value&& v, uint8_t word_tag) {
  Slot& from = reinterpret_cast<Slot&>(v);
  if (word_tag == 0) {
    move_slot(to, from);
  } else {
    if (from.tag != word_tag) [[unlikely]]
      wrong_result(v.tag(), static_cast<Tag>(word_tag));
    to.bits = from.bits;
  }
}

}  // namespace sconce::runtime
