#include "sconce/serialization/lite/lite_tables.h"

#include <array>
#include <unordered_map>
#include <utility>

namespace sconce::lite {
namespace {

// Names and operators, one behind the other: places in one text are smaller than pointers.
constexpr char kTexts[] =
#define SCONCE_LITE_OPCODE(name, text, operands, effect, op) text "\0" op "\0"
    SCONCE_LITE_OPCODES(SCONCE_LITE_OPCODE)
#undef SCONCE_LITE_OPCODE
    ;

struct OpcodeRow {
  char operands[2], effect[2];
  uint16_t name = 0, op = 0;  // places in kTexts
};
constexpr auto kOpcodes = [] {
  std::array rows{
#define SCONCE_LITE_OPCODE(name, text, operands, effect, op) \
  OpcodeRow{{operands[0], operands[1]}, {effect[0], effect[1]}},
      SCONCE_LITE_OPCODES(SCONCE_LITE_OPCODE)
#undef SCONCE_LITE_OPCODE
  };
  size_t at = 0;
  const auto next = [&] {
    const size_t found = at;
    while (kTexts[at++] != 0) {
    }
    return static_cast<uint16_t>(found);
  };
  for (OpcodeRow& row : rows) {
    row.name = next();
    row.op = next();
  }
  return rows;
}();

// Takes values of a pickle apart; errors begin with the place.
class Reader {
 public:
  explicit Reader(std::string place) : place_(std::move(place)) {}

  template <class... Args>
  [[noreturn]] void wrong(std::string_view format, const Args&... args) const {
    fail("{}: {}", place_, format_message(format, {ErrorArg(args)...}));
  }
  const std::vector<Value>& tuple(const Value& v, std::string_view what) const {
    if (!v.is_tuple()) wrong("{} is {}, not a tuple", what, tag_name(v.tag()));
    return v.to_tuple().items;
  }
  const std::vector<Value>& tuple(const Value& v, std::string_view what, size_t size) const {
    const std::vector<Value>& items = tuple(v, what);
    if (items.size() != size) wrong("{} has {} items, not {}", what, items.size(), size);
    return items;
  }
  const std::string& text(const Value& v, std::string_view what) const {
    if (!v.is_string()) wrong("{} is {}, not a text", what, tag_name(v.tag()));
    return v.to_string_ref();
  }
  int64_t number(const Value& v, std::string_view what, int64_t low, int64_t high) const {
    if (!v.is_int()) wrong("{} is {}, not an int", what, tag_name(v.tag()));
    if (v.to_int() < low || v.to_int() > high) wrong("{} is {}, not in {} to {}", what, v.to_int(), low, high);
    return v.to_int();
  }
  // Field `index` of a table of (name, value), which must be called so.
  const Value& field(const std::vector<Value>& table, size_t index, std::string_view name) const {
    if (index >= table.size()) wrong("there is no '{}': the table ends after {} fields", name, table.size());
    const std::vector<Value>& pair = tuple(table[index], name, 2);
    if (const std::string& found = text(pair[0], "a field's name"); found != name) {
      wrong("field {} is '{}', not '{}'", index, found, name);
    }
    return pair[1];
  }

 private:
  std::string place_;
};

Instruction read_instruction(const Reader& r, const Value& v, size_t at) {
  if (!v.is_tuple() || v.to_tuple().items.size() != 3) r.wrong("instruction {} is not a tuple (name, X, N)", at);
  const std::vector<Value>& parts = v.to_tuple().items;
  if (!parts[0].is_string() || !parts[1].is_int() || !parts[2].is_int()) {
    r.wrong("instruction {} is not a text and two numbers", at);
  }
  const std::string& name = parts[0].to_string_ref();
  const std::optional<Opcode> op = opcode_by_name(name);
  if (!op) r.wrong("instruction {}: there is no opcode '{}' in the bytecode of lite archives", at, name);
  const int64_t x = parts[1].to_int(), n = parts[2].to_int();
  if (!std::in_range<int32_t>(x)) r.wrong("instruction {}: {}: X is {}, which is no 32-bit number", at, name, x);
  if (!std::in_range<uint16_t>(n)) r.wrong("instruction {}: {}: N is {}, not in 0 to 65535", at, name, n);
  return {*op, static_cast<int32_t>(x), static_cast<uint16_t>(n)};
}

// Until version 5 every argument is pushed, and nothing says how many.
OperatorRow read_operator(const Reader& r, const Value& v, int64_t version) {
  const std::vector<Value>& parts = r.tuple(v, "an operator", version <= 5 ? 2 : 3);
  OperatorRow row{r.text(parts[0], "an operator's name"), r.text(parts[1], "an operator's overload"), {}};
  if (version <= 5) return row;
  const int64_t specified = r.number(parts[2], "the number of arguments of " + row.qualified_name(), -1, kMaxArguments);
  if (specified >= 0) row.specified = specified;
  return row;
}

std::vector<ArgumentRow> read_arguments(const Reader& r, const Value& v, std::string_view what) {
  std::vector<ArgumentRow> rows;
  const std::vector<Value>& items = r.tuple(v, what);
  if (items.size() > static_cast<size_t>(kMaxArguments)) {
    r.wrong("there are {} {}, at most {} are possible", items.size(), what, kMaxArguments);
  }
  for (const Value& item : items) {
    const std::vector<Value>& parts = r.tuple(item, "an argument", 3);
    rows.push_back({r.text(r.field(parts, 0, "name"), "an argument's name"),
                    r.text(r.field(parts, 1, "type"), "an argument's type"), r.field(parts, 2, "default_value")});
  }
  return rows;
}

Method read_method(const Value& v, size_t index, const std::string& file, int64_t version) {
  const Reader outer(file + ": bytecode.pkl: method " + std::to_string(index));
  const std::vector<Value>& parts = outer.tuple(v, "it", 3);
  Method m;
  m.name = outer.text(parts[0], "its name");
  if (m.name.find('.') == m.name.npos) outer.wrong("its name '{}' names no class", m.name);
  const Reader r(file + ": bytecode.pkl: method '" + m.name + "'");
  const std::vector<Value>& code = r.tuple(parts[1], "the code table");
  const std::vector<Value>& instructions = r.tuple(r.field(code, 0, "instructions"), "instructions");
  for (const Value& i : instructions) m.instructions.push_back(read_instruction(r, i, m.instructions.size()));
  for (const Value& o : r.tuple(r.field(code, 1, "operators"), "operators")) {
    m.operators.push_back(read_operator(r, o, version));
  }
  m.constants = r.tuple(r.field(code, 2, "constants"), "constants");
  for (const Value& t : r.tuple(r.field(code, 3, "types"), "types")) m.types.push_back(r.text(t, "a type"));
  m.registers = r.number(r.field(code, 4, "register_size"), "register_size", 0, kMaxRegisters);
  const std::vector<Value>& schema = r.tuple(parts[2], "the schema table", 2);
  m.arguments = read_arguments(r, r.field(schema, 0, "arguments"), "arguments");
  m.returns = read_arguments(r, r.field(schema, 1, "returns"), "returns");
  return m;
}

}  // namespace

std::string_view opcode_name(Opcode op) { return kTexts + kOpcodes[static_cast<size_t>(op)].name; }
std::string_view opcode_operands(Opcode op) { return {kOpcodes[static_cast<size_t>(op)].operands, 2}; }

std::string_view opcode_operator(Opcode op) { return kTexts + kOpcodes[static_cast<size_t>(op)].op; }

Effect effect_in_table(const Instruction& i) {
  const auto count = [&](char said) { return said == 'x' ? int64_t{i.x} : said == 'n' ? int64_t{i.n} : said - '0'; };
  const OpcodeRow& row = kOpcodes[static_cast<size_t>(i.op)];
  return {count(row.effect[0]), count(row.effect[1])};
}

static std::optional<Opcode> find_opcode(uint16_t OpcodeRow::* column, std::string_view text) {
  for (size_t i = 0; i < std::size(kOpcodes); ++i) {
    if (kTexts + kOpcodes[i].*column == text) return static_cast<Opcode>(i);
  }
  return std::nullopt;
}
std::optional<Opcode> opcode_by_name(std::string_view name) { return find_opcode(&OpcodeRow::name, name); }
std::optional<Opcode> opcode_by_operator(std::string_view name) { return find_opcode(&OpcodeRow::op, name); }

Tables read_tables(const Value& pickle, const std::string& file) {
  const Reader r(file + ": bytecode.pkl");
  const std::vector<Value>& items = r.tuple(pickle, "it");
  if (items.empty()) r.wrong("it is empty");
  Tables tables;
  tables.version = items[0].is_int() ? items[0].to_int() : 3;  // the first versions did not say
  if (tables.version < kOldestBytecode || tables.version > kNewestBytecode) {
    r.wrong("bytecode of version {} cannot be read, versions {} to {} can", tables.version, kOldestBytecode,
            kNewestBytecode);
  }
  for (size_t i = 1; i < items.size(); ++i) {
    tables.methods.push_back(read_method(items[i], i - 1, file, tables.version));
  }
  return tables;
}

void read_debug_handles(const Value& pickle, const std::string& file, Tables& tables) {
  const Reader r(file + ": mobile_debug_handles.pkl");
  const std::vector<Value>& items = r.tuple(pickle, "it");
  std::unordered_map<std::string_view, Method*> methods;
  for (Method& m : tables.methods) methods.emplace(m.name, &m);
  for (size_t i = 1; i < items.size(); ++i) {
    const std::vector<Value>& parts = r.tuple(items[i], "a method", 2);
    const std::string& name = r.text(parts[0], "a method's name");
    const Value& handles = r.field(r.tuple(parts[1], "a method's table"), 0, "function_debug_handles");
    const std::vector<Value>& lists = r.tuple(handles, "function_debug_handles", 1);
    if (!lists[0].is_list()) r.wrong("the handles of '{}' are not a list", name);
    const auto method = methods.find(name);
    if (method == methods.end()) continue;
    if (lists[0].to_list().size() == method->second->instructions.size()) {
      method->second->debug_handles = lists[0].to_list().ints().vec();
    }
  }
}

}  // namespace sconce::lite
