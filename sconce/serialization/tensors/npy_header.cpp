// The header of .npy files: a parser of its own for the one kind of dict that is allowed.
#include <charconv>

#include "sconce/base/error.h"
#include "sconce/serialization/tensors/npy.h"

namespace sconce {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        SCONCE_CHECK(!next_is('['), "{}: structured arrays are not supported", name_);
        header.descr = quoted();
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = sizes();
      } else {
        fail("{}: the header has '{}' {}", name_, key,
             key == "descr" || key == "fortran_order" || key == "shape" ? "twice" : "which is no key of an array");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) wrong("the end");
    SCONCE_CHECK(descr && order && shape, "{}: the header needs descr, fortran_order and shape", name_);
    return header;
  }

 private:
  [[noreturn]] void wrong(const char* wanted) {
    fail("{}: the header is broken at byte {}: {} was expected", name_, at_, wanted);
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  bool next_is(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool accept(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    const char text[] = {'\'', c, '\'', '\0'};
    if (!accept(c)) wrong(text);
  }
  // A text in either quotes, without escapes.
  std::string quoted() {
    const char quote = next_is('"') ? '"' : '\'';
    expect(quote);
    const size_t end = text_.find(quote, at_);
    if (end == text_.npos) wrong("the end of a text");
    const std::string_view found = text_.substr(at_, end - at_);
    if (found.find('\\') != found.npos) wrong("a text without escapes");
    at_ = end + 1;
    return std::string(found);
  }
  bool boolean() {
    skip_spaces();
    for (const std::string_view word : {"False", "True"}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    wrong("True or False");
  }
  std::vector<int64_t> sizes() {
    std::vector<int64_t> result;
    expect('(');
    bool comma = true;
    while (!accept(')')) {
      if (!comma) wrong("','");
      result.push_back(size());
      comma = accept(',');
    }
    if (result.size() == 1 && !comma) wrong("','");  // (3) is a number, (3,) a tuple
    return result;
  }
  int64_t size() {
    skip_spaces();
    int64_t n = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (error != std::errc() || n < 0) wrong("a size of at most 63 bits");
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // as Python 2 wrote long numbers
    return n;
  }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& name) { return Parser(text, name).parse(); }

}  // namespace sconce
