#include "capture/bytecode/code_tables.h"

namespace sconce::python::capture {

namespace {

[[noreturn]] void broken(const char* table) {
  PyErr_Format(PyExc_ValueError, "the table of %s of a code object is broken", table);
  throw PythonError();
}

// Bytes, one after the other.
class Reader {
 public:
  Reader(PyObject* bytes, const char* what)
      : at_(reinterpret_cast<const uint8_t*>(PyBytes_AS_STRING(bytes))),
        end_(at_ + PyBytes_GET_SIZE(bytes)),
        what_(what) {}
  bool done() const { return at_ == end_; }
  uint8_t byte() {
    if (done()) broken(what_);
    return *at_++;
  }
  // Groups of six bits, the lowest first.
  int little() {
    unsigned value = 0, shift = 0, b = 0;
    do {
      b = byte();
      if (shift > 30) broken(what_);
      value |= (b & 63) << shift;
      shift += 6;
    } while (b & 64);
    return static_cast<int>(value);
  }
  int little_signed() {
    const auto value = static_cast<unsigned>(little());
    return value & 1 ? -static_cast<int>(value >> 1) : static_cast<int>(value >> 1);
  }
  // Groups of six bits, the highest first.
  int big() {
    unsigned b = byte(), value = b & 63;
    while (b & 64) {
      b = byte();
      if (value >> 25) broken(what_);
      value = value << 6 | (b & 63);
    }
    return static_cast<int>(value);
  }

 private:
  const uint8_t *at_, *end_;
  const char* what_;
};

// Kinds of entries of the table of places; those below kOneLine hold the column's high bits.
constexpr int kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15;

void put_little(std::string& out, unsigned value) {
  while (value >= 64) {
    out += static_cast<char>(64 | (value & 63));
    value >>= 6;
  }
  out += static_cast<char>(value);
}
void put_little_signed(std::string& out, int value) {
  put_little(out, value < 0 ? (0u - static_cast<unsigned>(value)) << 1 | 1 : static_cast<unsigned>(value) << 1);
}
void put_big(std::string& out, unsigned value, uint8_t first) {
  int groups = 1;
  while (groups < 6 && value >> (6 * groups)) ++groups;
  for (int g = groups - 1; g >= 0; --g) {
    out += static_cast<char>(first | (g ? 64 : 0) | (value >> (6 * g) & 63));
    first = 0;
  }
}

Owned bytes_of(const std::string& s) {
  return Owned::take(PyBytes_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size())));
}

// One entry, of at most eight units.
void put_entry(std::string& out, const Location& at, int units, int& line) {
  const auto start = [&](int kind) { out += static_cast<char>(0x80 | kind << 3 | (units - 1)); };
  if (at.line < 0) return start(kNone);
  const int delta = at.line - line;
  line = at.line;
  if (at.column < 0 || at.end_column < 0) {
    if (at.end_line == at.line || at.end_line < 0) {
      start(kNoColumns);
      return put_little_signed(out, delta);
    }
  } else if (at.end_line == at.line) {
    if (delta == 0 && at.column < 80 && at.end_column - at.column < 16 && at.end_column >= at.column) {
      start(at.column >> 3);
      out += static_cast<char>((at.column & 7) << 4 | (at.end_column - at.column));
      return;
    }
    if (delta >= 0 && delta < 3 && at.column < 128 && at.end_column < 128) {
      start(kOneLine + delta);
      out += static_cast<char>(at.column);
      out += static_cast<char>(at.end_column);
      return;
    }
  }
  start(kLong);
  put_little_signed(out, delta);
  put_little(out, static_cast<unsigned>(at.end_line - at.line));
  put_little(out, static_cast<unsigned>(at.column + 1));
  put_little(out, static_cast<unsigned>(at.end_column + 1));
}

}  // namespace

std::vector<Location> read_locations(PyObject* table, int first_line, size_t units) {
  std::vector<Location> found;
  found.reserve(units);
  Reader in(table, "places");
  int line = first_line;
  while (found.size() < units && !in.done()) {
    const uint8_t first = in.byte();
    const int kind = first >> 3 & 15, count = (first & 7) + 1;
    Location at;
    if (kind == kLong) {
      line += in.little_signed();
      at = {line, line + in.little(), -1, -1};
      at.column = in.little() - 1;
      at.end_column = in.little() - 1;
    } else if (kind == kNoColumns) {
      line += in.little_signed();
      at = {line, line, -1, -1};
    } else if (kind >= kOneLine && kind != kNone) {
      line += kind - kOneLine;
      at = {line, line, in.byte(), 0};
      at.end_column = in.byte();
    } else if (kind != kNone) {
      const uint8_t columns = in.byte();
      const int column = kind << 3 | columns >> 4;
      at = {line, line, column, column + (columns & 15)};
    }
    found.insert(found.end(), static_cast<size_t>(count), at);
  }
  if (found.size() < units) found.resize(units);  // code made by hand may have no table
  return found;
}

Owned write_locations(std::span<const PlacedRun> runs, int first_line) {
  std::string out;
  int line = first_line;
  for (size_t i = 0; i < runs.size();) {
    int units = runs[i].units;
    size_t next = i + 1;
    // 3.12 writes one entry for neighbours at the same place.
    if (PY_VERSION_HEX >= 0x030c0000)
      for (; next < runs.size() && runs[next].location == runs[i].location; ++next) units += runs[next].units;
    for (; units > 8; units -= 8) put_entry(out, runs[i].location, 8, line);
    if (units > 0) put_entry(out, runs[i].location, units, line);
    i = next;
  }
  return bytes_of(out);
}

std::vector<HandlerRange> read_handlers(PyObject* table) {
  std::vector<HandlerRange> found;
  for (Reader in(table, "handlers"); !in.done();) {
    HandlerRange range;
    range.start = in.big();
    range.end = range.start + in.big();
    range.handler.target = in.big();
    const int depth = in.big();
    range.handler.depth = depth >> 1;
    range.handler.push_lasti = depth & 1;
    found.push_back(range);
  }
  return found;
}

Owned write_handlers(std::span<const HandlerRange> ranges) {
  std::string out;
  for (const HandlerRange& range : ranges) {
    put_big(out, static_cast<unsigned>(range.start), 0x80);
    put_big(out, static_cast<unsigned>(range.end - range.start), 0);
    put_big(out, static_cast<unsigned>(range.handler.target), 0);
    put_big(out, static_cast<unsigned>(range.handler.depth << 1 | (range.handler.push_lasti ? 1 : 0)), 0);
  }
  return bytes_of(out);
}

}  // namespace sconce::python::capture
