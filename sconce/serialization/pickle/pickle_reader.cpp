#include "sconce/serialization/pickle/pickle_reader.h"

#include <bit>
#include <cstring>

#include "sconce/serialization/pickle/opaque_objects.h"
#include "sconce/serialization/pickle/pickle_machine.h"
#include "sconce/serialization/pickle/value_fit.h"
#include "sconce/types/class_info.h"

namespace sconce {

PickleContext::PickleContext() = default;
PickleContext::~PickleContext() = default;

Value PickleContext::fit(const Value& v, TypePtr type) {
  if (!fitter_) fitter_ = std::make_unique<ValueFitter>();
  return fitter_->fit(v, type);
}

#ifndef SCONCE_SMALL
Value PickleContext::packaged(const std::string& function, const Value& arguments) {
  return make_opaque(function, arguments);
}
#endif

Value PickleContext::member(TypePtr type, const Value& value) {
  SCONCE_CHECK(type->is(TypeKind::enum_), "'{}' cannot be called", type->name());
  for (const auto& [name, found] : type->enum_info()->members) {
    const Value& wanted = found.to_enum().value;
    const bool comparable = wanted.tag() == value.tag() && wanted.tag() < Tag::list && !wanted.is_tensor();
    if (comparable && wanted.equals(value)) return found;
  }
  fail("enum '{}' has no member with that value", type->name());
}

Tensor PlainContext::storage(const std::string&, std::optional<DType>, int64_t) { fail("a tensor has no place here"); }
TypePtr PlainContext::find_class(const std::string& name) { fail("class '{}' has no place here", name); }
TypePtr PlainContext::find_type(std::string_view text) { fail("type '{}' has no place here", text); }
Value PlainContext::build(TypePtr, Value) { fail("an object has no place here"); }

namespace {

// Reads opcodes and their operands, and drives the machine.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name, PickleContext& context)
      : bytes_(bytes), machine_(name, bytes.size(), at_, context) {}

  Value read(size_t* used) {
    if (take() != '\x80') wrong("it does not begin as pickles of protocol 2 and later do");
    const int protocol = static_cast<uint8_t>(take());
    if (protocol < 2 || protocol > 5) wrong("protocol " + std::to_string(protocol) + "; known are 2 to 5");
    for (char op = take(); op != '.'; op = take()) step(op);
    if (used) {
      *used = at_;
    } else if (at_ != bytes_.size()) {
      wrong("there are bytes after its end");
    }
    return machine_.result();
  }

 private:
  [[noreturn]] void wrong(const std::string& reason) const { machine_.wrong(reason); }

  char take() {
    if (at_ == bytes_.size()) wrong("unexpected end");
    return bytes_[at_++];
  }
  template <class T>
  T number() {
    if (bytes_.size() - at_ < sizeof(T)) wrong("unexpected end");
    T v;
    std::memcpy(&v, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return v;
  }
  std::string_view text(uint64_t n) {
    if (bytes_.size() - at_ < n) wrong("unexpected end");
    at_ += n;
    return bytes_.substr(at_ - n, n);
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == bytes_.npos) wrong("unexpected end");
    const std::string_view found = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return found;
  }

  // Two's complement of any length. An integer that does not fit into 64 bits becomes a string of its decimal digits.
  Value long_of(std::string_view digits) {
    if (digits.size() > kMaxPickleLong) {
      wrong("an integer has more than " + std::to_string(kMaxPickleLong) + " bytes");
    }
    const bool negative = !digits.empty() && (digits.back() & 0x80) != 0;
    const char fill = negative ? '\xff' : '\0';
    while (digits.size() > 8 && digits.back() == fill) digits.remove_suffix(1);
    uint64_t v = 0;
    for (size_t i = 0; i < 8; ++i) v |= uint64_t{static_cast<uint8_t>(i < digits.size() ? digits[i] : fill)} << 8 * i;
    if (digits.size() <= 8 && (static_cast<int64_t>(v) < 0) == negative) return static_cast<int64_t>(v);
    return decimal(digits, negative);
  }
  // By repeated division by ten.
  static std::string decimal(std::string_view digits, bool negative) {
    std::vector<uint8_t> left(digits.begin(), digits.end());  // the magnitude, least significant byte first
    for (size_t i = 0, carry = 1; negative && i < left.size(); ++i) {
      carry += static_cast<uint8_t>(~left[i]);
      left[i] = static_cast<uint8_t>(carry);
      carry >>= 8;
    }
    std::string text;
    while (!left.empty()) {
      unsigned rest = 0;
      for (size_t i = left.size(); i-- > 0;) {
        rest = rest << 8 | left[i];
        left[i] = static_cast<uint8_t>(rest / 10);
        rest %= 10;
      }
      text += static_cast<char>('0' + rest);
      while (!left.empty() && left.back() == 0) left.pop_back();
    }
    if (negative) text += '-';
    return {text.rbegin(), text.rend()};
  }
  void global() {
    const std::string_view module = line();
    machine_.global(module, line());
  }
  void frame() {
    if (number<uint64_t>() > bytes_.size() - at_) wrong("a frame is longer than the pickle");
  }

  void step(char op) {
    switch (op) {
      case '(':
        return machine_.mark();
      case '0':
        return machine_.pop();
      case '1':
        return machine_.drop_to_mark();
      case '2':
        return machine_.duplicate();
      // numbers and texts
      case 'N':
        return machine_.push({});
      case '\x88':
        return machine_.push(true);
      case '\x89':
        return machine_.push(false);
      case 'K':
        return machine_.push(int64_t{number<uint8_t>()});
      case 'M':
        return machine_.push(int64_t{number<uint16_t>()});
      case 'J':
        return machine_.push(int64_t{number<int32_t>()});
      case '\x8a':  // LONG1
        return machine_.push(long_of(text(number<uint8_t>())));
      case '\x8b':  // LONG4
        return machine_.push(long_of(text(number<uint32_t>())));
      case 'G':
        return machine_.push(std::bit_cast<double>(__builtin_bswap64(number<uint64_t>())));
      case 'U':     // SHORT_BINSTRING
      case 'C':     // SHORT_BINBYTES
      case '\x8c':  // SHORT_BINUNICODE
        return machine_.push(text(number<uint8_t>()));
      case 'X':  // BINUNICODE
      case 'T':  // BINSTRING
      case 'B':  // BINBYTES
        return machine_.push(text(number<uint32_t>()));
      case '\x8d':  // BINUNICODE8
      case '\x8e':  // BINBYTES8
      case '\x96':  // BYTEARRAY8
        return machine_.push(text(number<uint64_t>()));
      // containers
      case ')':
        return machine_.tuple(0);
      case '\x85':
        return machine_.tuple(1);
      case '\x86':
        return machine_.tuple(2);
      case '\x87':
        return machine_.tuple(3);
      case 't':
        return machine_.tuple_since_mark();
      case ']':
      case '\x8f':  // EMPTY_SET
        return machine_.push_list();
      case 'a':
        return machine_.append_one();
      case 'e':
      case '\x90':  // ADDITEMS
        return machine_.append_since_mark();
      case 'l':
      case '\x91':  // FROZENSET
        return machine_.list_since_mark();
      case '}':
        return machine_.push_dict();
      case 's':
        return machine_.set_one();
      case 'u':
        return machine_.set_since_mark();
      case 'd':
        return machine_.dict_since_mark();
      // the memo
      case 'q':
        return machine_.put(number<uint8_t>());
      case 'r':
        return machine_.put(number<uint32_t>());
      case '\x94':
        return machine_.memoize();
      case 'h':
        return machine_.get(number<uint8_t>());
      case 'j':
        return machine_.get(number<uint32_t>());
      // constructors
      case 'c':
        return global();
      case '\x93':
        return machine_.stack_global();
      case '\x81':
        return machine_.new_object();
      case '\x92':  // NEWOBJ_EX
        return machine_.new_object_with_keywords();
      case 'R':
        return machine_.reduce();
      case 'b':
        return machine_.build();
      case 'Q':
        return machine_.persistent();
      case '\x95':
        return frame();
      default:
        wrong("unknown opcode " + std::to_string(static_cast<uint8_t>(op)));
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  PickleMachine machine_;
};

}  // namespace

Value read_pickle(std::string_view bytes, const std::string& name, PickleContext& context, size_t* used) {
  return Reader(bytes, name, context).read(used);
}

}  // namespace sconce
