// Bytecode of lite archives: tables are read, verified, translated; what is accepted runs with a budget of steps. The
// first byte chooses: the rest is a pickle, or it decides a program whose stack is mostly in order.
#include <cstdlib>
#include <cstring>

#include "sconce/dispatch/budget/budget_scope.h"
#include "sconce/runtime/interpreter.h"
#include "sconce/serialization/lite/lite_load.h"
#include "sconce/serialization/pickle/pickle_reader.h"
#include "sconce/types/class_info.h"
#include "tests/fuzz/targets.h"

namespace sconce::fuzz {
namespace {

// Classes are made once and emptied after each run: types live forever.
ir::CompilationUnit& class_unit() {
  static ir::CompilationUnit unit;
  return unit;
}

class Context final : public PickleContext {
 public:
  explicit Context(lite::Types& types) : types_(types) {}
  Tensor storage(const std::string&, std::optional<DType> dtype, int64_t count) override {
    SCONCE_CHECK(count <= 64, "a storage of {}", count);
    Tensor t = empty_tensor({count}, dtype.value_or(DType::uint8));
    std::memset(t.storage()->data, 0, t.storage()->nbytes);
    return t;
  }
  TypePtr find_class(const std::string& name) override { return types_.find_class(name); }
  TypePtr find_type(std::string_view text) override { return types_.parse(text); }
  Value build(TypePtr, Value) override { fail("an object"); }

 private:
  lite::Types& types_;
};

const char* const kOperators[] = {"aten::add.int",
                                  "aten::add.t",
                                  "aten::sub.int",
                                  "aten::lt.int",
                                  "aten::eq.str",
                                  "aten::len.t",
                                  "aten::__getitem__.t",
                                  "aten::_set_item.t",
                                  "aten::append.t",
                                  "aten::extend.t",
                                  "aten::insert.t",
                                  "aten::pop.t",
                                  "aten::Delete.t",
                                  "aten::slice.t",
                                  "aten::reverse.t",
                                  "aten::clear.t",
                                  "aten::copy.t",
                                  "aten::sort.int",
                                  "aten::sort.any",
                                  "aten::list.t",
                                  "aten::index.list_int",
                                  "aten::count.int",
                                  "aten::remove.int",
                                  "aten::__contains__.int_list",
                                  "aten::keys.str",
                                  "aten::values.str",
                                  "aten::items.str",
                                  "aten::_set_item.str",
                                  "aten::get.str",
                                  "aten::get.default_str",
                                  "aten::pop.Dict_str",
                                  "aten::popitem.str",
                                  "aten::update.str",
                                  "aten::dict.str",
                                  "aten::len.Dict_str",
                                  "aten::__contains__.str",
                                  "aten::add.Tensor",
                                  "aten::mul.Tensor",
                                  "aten::relu",
                                  "aten::size",
                                  "aten::size.int",
                                  "aten::item",
                                  "aten::cat",
                                  "aten::stack",
                                  "aten::sum",
                                  "aten::view",
                                  "aten::select.int",
                                  "aten::Bool.Tensor",
                                  "aten::Int.Tensor",
                                  "aten::Float.Scalar",
                                  "aten::str",
                                  "aten::join",
                                  "aten::split.str",
                                  "aten::format",
                                  "aten::percentFormat",
                                  "aten::tensor",
                                  "aten::div.Tensor",
                                  "aten::full",
                                  "aten::gelu",
                                  "aten::add_.Tensor",
                                  "aten::unbind.int",
                                  "aten::eq.int_list",
                                  "aten::hash.generic",
                                  "aten::upper",
                                  "prim::TupleUnpack",
                                  "prim::TupleIndex",
                                  "prim::RaiseException",
                                  "prim::Uninitialized",
                                  "prim::unchecked_cast",
                                  "prim::min.self_int",
                                  "prim::max.int",
                                  "prim::data",
                                  "aten::__is__",
                                  "prim::NumToTensor.Scalar"};
const char* const kTypes[] = {"List[int]",
                              "List[Tensor]",
                              "List[str]",
                              "List[Any]",
                              "Dict[str,int]",
                              "int",
                              "str",
                              "Tuple[int, str]",
                              "Optional[int]",
                              "Dict[int,Tensor]",
                              "List[bool]",
                              "List[float]",
                              "__torch__.P[NamedTuple, [[a, int],[b, str]]]"};

class Generator {
 public:
  explicit Generator(std::string_view bytes) : bytes_(bytes) {}

  lite::Tables tables() {
    lite::Tables t;
    t.version = 8;
    for (size_t i = 0, n = 1 + next() % 2; i < n; ++i) t.methods.push_back(method(i));
    return t;
  }
  // Something of any kind.
  Value value() {
    switch (next() % 14) {
      case 0:
        return {};
      case 1:
        return true;
      case 2:
        return 1.5;
      case 3:
        return "text";
      case 4:
        return "f1";
      case 5:
        return Value(IntList({1, 2, 3}));
      case 6:
        return make_ref<Tuple>(std::vector<Value>{1, "b"});
      case 7: {
        auto dict = make_ref<Dict>(string_type(), int_type());
        dict->set("text", 2);
        return dict;
      }
      case 8:
      case 9: {
        Tensor t = empty_tensor({2, 2}, DType::float32);
        std::memset(t.storage()->data, 0, t.storage()->nbytes);
        return t;
      }
      case 10:
        return make_ref<List>(any_type());
      case 11:
        return "{} {}";
      default:
        return int64_t{next() % 6} - 1;
    }
  }
  bool empty() const { return at_ >= bytes_.size(); }
  uint8_t next() { return empty() ? 0 : static_cast<uint8_t>(bytes_[at_++]); }

 private:
  lite::Method method(size_t index) {
    m_ = {};
    depth_ = 0;
    m_.name = "__torch__.M.f" + std::to_string(index);
    m_.registers = next() % 6;
    for (size_t i = 0, n = 1 + next() % 3; i < n; ++i) m_.arguments.push_back({"a", "Any", {}});
    m_.returns.push_back({"", "Any", {}});
    depth_ = static_cast<int64_t>(m_.arguments.size());
    for (size_t i = 0, n = 1 + next() % 6; i < n; ++i) m_.constants.push_back(value());
    for (size_t i = 0, n = 1 + next() % 3; i < n; ++i) m_.types.emplace_back(kTypes[next() % std::size(kTypes)]);
    for (size_t i = 0, n = 1 + next() % 5; i < n; ++i) {
      const std::string name = kOperators[next() % std::size(kOperators)];
      const size_t dot = name.find('.');
      lite::OperatorRow row{name.substr(0, dot), dot == name.npos ? "" : name.substr(dot + 1), {}};
      if (const uint8_t n_args = next() % 8; n_args < 4) row.specified = n_args;
      m_.operators.push_back(row);
    }
    operators_.clear();
    lite::Tables alone;
    alone.methods.push_back(m_);
    operators_ = lite::find_operators(alone, version_, "fuzz").front();
    block(0, 20);
    settle(1);
    emit(lite::Opcode::ret);
    return std::move(m_);
  }

  void emit(lite::Opcode op, int32_t x = 0, uint16_t n = 0) { m_.instructions.push_back({op, x, n}); }
  void settle(int64_t depth) {
    if (next() % 64 == 63) return;  // let the verifier find it
    for (; depth_ > depth; --depth_) emit(lite::Opcode::drop);
    for (; depth_ < depth; ++depth_) emit(lite::Opcode::loadc, next() % static_cast<int32_t>(m_.constants.size()));
  }
  void block(int nested, size_t most) {
    for (size_t i = 0, n = next() % most; i < n && !empty(); ++i) instruction(nested);
  }

  void instruction(int nested) {
    using lite::Opcode;
    constexpr int kOpcodes = static_cast<int>(Opcode::to_list) + 1;
    const auto op = static_cast<Opcode>(next() % kOpcodes);
    if (op == Opcode::ret || op == Opcode::create_object) return;
    if (op == Opcode::jf || op == Opcode::jmp) return nested < 3 ? branch(nested) : void();
    if (op == Opcode::loop) return nested < 3 ? loop(nested) : void();
    const std::string_view kinds = lite::opcode_operands(op);
    lite::Instruction i{op, static_cast<int32_t>(next() % 4), static_cast<uint16_t>(next() % 4)};
    switch (kinds[0]) {
      case 'r':
      case 'R':
        if (m_.registers == 0) return;
        i.x = 1 + i.x % static_cast<int32_t>(m_.registers);
        i.n = static_cast<uint16_t>(std::min<int64_t>(i.n, m_.registers - i.x + 1));
        break;
      case 'c':
        i.x %= static_cast<int32_t>(m_.constants.size());
        break;
      case 'o':
        i.x %= static_cast<int32_t>(m_.operators.size());
        break;
      case 't':
      case 'T':
        i.x %= static_cast<int32_t>(m_.types.size());
        break;
      default:
        break;
    }
    m_.instructions.push_back(i);
    const lite::Effect e = lite::effect_of(m_, operators_, m_.instructions.size() - 1);
    m_.instructions.pop_back();
    if (depth_ < e.pops) settle(e.pops);
    m_.instructions.push_back(i);
    depth_ += e.pushes - e.pops;
  }

  void branch(int nested) {
    settle(std::max<int64_t>(depth_, 1));
    const size_t jump = m_.instructions.size();
    emit(lite::Opcode::jf);
    const int64_t depth = --depth_;
    block(nested + 1, 6);
    settle(depth);
    const size_t end = m_.instructions.size();
    emit(lite::Opcode::jmp);
    m_.instructions[jump].x = static_cast<int32_t>(m_.instructions.size() - jump);
    block(nested + 1, 6);
    settle(depth);
    m_.instructions[end].x = static_cast<int32_t>(m_.instructions.size() - end);
    emit(lite::Opcode::dropr, 1);
    if (m_.registers == 0) m_.instructions.pop_back();
  }

  void loop(int nested) {
    const uint16_t carried = next() % 3;
    settle(depth_ + 3 + carried);
    const size_t start = m_.instructions.size();
    emit(lite::Opcode::loop, 0, static_cast<uint16_t>(carried + 2));
    const int64_t depth = depth_;
    block(nested + 1, 6);
    settle(depth);
    emit(lite::Opcode::jmp, static_cast<int32_t>(start) - static_cast<int32_t>(m_.instructions.size()));
    m_.instructions[start].x = static_cast<int32_t>(m_.instructions.size() - start);
    depth_ = depth - 3;
  }

  std::string_view bytes_;
  size_t at_ = 0;
  lite::Method m_;
  std::vector<lite::Operator> operators_;
  int64_t depth_ = 0;
  const int version_ = 3;
};

void run_all(const lite::Tables& tables, lite::Types& types, Generator& values) {
  ir::CompilationUnit unit;
  lite::define_methods(tables, 3, "fuzz", unit, types, nullptr);
  const TypePtr type = types.find_class("__torch__.M");
  for (const char* name : {"a", "b", "c"}) type->class_info()->attributes.push_back({name, any_type()});
  for (ir::Function* f : unit.functions()) {
    const Ref<Object> self = make_ref<Object>(type);
    std::vector<Value> args;
    for (size_t i = 0; i < f->schema().arguments.size(); ++i) args.push_back(i == 0 ? Value(self) : values.value());
    runtime::RunOptions options;
    const BudgetScope scope(std::make_shared<Budget>(Limits{.steps = 100}));
    options.max_depth = 20;
    try {
      runtime::run(*f, args, options);
    } catch (const Error& e) {
      if (e.kind() == ErrorKind::internal) std::abort();
    }
    for (size_t i = 0; i < 3; ++i) self->set_slot(i, {});
  }
}

}  // namespace

void bytecode(std::string_view bytes) {
  if (bytes.empty()) return;
  const bool is_pickle = bytes[0] & 1;
  lite::Types types(class_unit(), "fuzz");
  Generator generator(bytes.substr(1));
  try {
    if (is_pickle) {
      Context context(types);
      run_all(lite::read_tables(read_pickle(bytes.substr(1), "fuzz", context), "fuzz"), types, generator);
    } else {
      const lite::Tables tables = generator.tables();
      run_all(tables, types, generator);
    }
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::internal) std::abort();
  }
  for (TypePtr type : class_unit().types()) *type->class_info() = ClassInfo();
}

}  // namespace sconce::fuzz
