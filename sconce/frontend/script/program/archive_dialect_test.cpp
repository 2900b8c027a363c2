// Texts as archives hold them: one file a qualifier, loaded when a name of it is met.
#include <gtest/gtest.h>

#include <map>

#include "sconce/api/jit.h"
#include "sconce/frontend/script/program/program.h"
#include "sconce/types/class_info.h"

namespace sconce::script {
namespace {

const std::map<std::string, std::string, std::less<>> kFiles = {
    {"__torch__.m",
     R"(class M(Module):
  __parameters__ = ["w", ]
  __buffers__ = ["b", ]
  w : Tensor
  b : Tensor
  training : bool
  count : int
  names : List[str]
  sub : __torch__.m.___torch_mangle_0.Sub
  imp : __torch__.m.Iface
  __annotations__["0"] = __torch__.m.Sub
  k : Final[int] = 7
  pair : Final[Tuple[int, str]] = (1, "x")
  def forward(self: __torch__.m.M,
    x: int,
    o: Optional[int]=None) -> Tuple[int, str]:
    sub = self.sub
    _0 = getattr(self, "0")
    y = (_0).forward((sub).forward(x, ), )
    if torch.__isnot__(o, None):
      o0 = unchecked_cast(int, o)
      z = torch.add(y, o0)
    else:
      z = y
    imp = self.imp
    self.count = torch.add(self.count, 1)
    a = __torch__.helper(z, 2, )
    return (torch.add((imp).forward(a, ), 7), torch.format("{}{}", (__torch__.m.Color.RED).name, CONSTANTS.c0))
  def hooked(self: __torch__.m.M,
    x: int) -> int:
    _0 = __torch__.m.Sub.fpre
    sub0 = getattr(self, "0")
    _1, = _0(sub0, (x,), )
    return (sub0).forward(_1, )
  def painted(self: __torch__.m.M) -> str:
    return __torch__.paint()
  def other(self: __torch__.m.M) -> int:
    p = __torch__.m.Pt(3, 4.5)
    c = __torch__.m.Counter.__new__(__torch__.m.Counter)
    _2 = (c).__init__((p).x, )
    l = annotate(List[int], [])
    for i in range(3):
      _3 = torch.append(l, torch.add(i, c.n))
    return torch.__getitem__(l, -1)
class Sub(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.m.Sub,
    x: int) -> int:
    return torch.mul(x, 10)
class Iface(ModuleInterface):
  def forward(self, x: int) -> int:
    pass
class Color(Enum):
  RED = 1
  BLUE = 2
class Pt(NamedTuple):
  x : int
  y : float
class Counter:
  n : int
  def __init__(self: __torch__.m.Counter,
    n: int) -> NoneType:
    self.n = n
    return None
)"},
    {"__torch__.m.___torch_mangle_0", R"(class Sub(Module):
  __parameters__ = []
  __buffers__ = []
  def forward(self: __torch__.m.___torch_mangle_0.Sub,
    x: int) -> int:
    return torch.add(x, 1)
)"},
    {"__torch__.m.Sub", R"(def fpre(self: __torch__.m.Sub,
    input: Tuple[int]) -> Tuple[int]:
  x, = input
  return (torch.add(x, 100),)
)"},
    {"__torch__", R"(def helper(x: int,
    k: int=3) -> int:
  return torch.mul(x, k)
def paint(color: __torch__.m.Color=__torch__.m.Color.RED) -> str:
  return (color).name
)"},
};

ProgramOptions from_files() {
  ProgramOptions options;
  options.dialect = syntax::Dialect::archive;
  options.prefix = "__root__";
  options.constants = {Value("!")};
  options.load = [](std::string_view qualifier) -> SourcePtr {
    const auto found = kFiles.find(qualifier);
    if (found == kFiles.end()) return nullptr;
    return std::make_shared<Source>(std::string(qualifier), found->second);
  };
  return options;
}

TEST(Archive, ClassesLoadWhenTheyAreMet) {
  Program program("", from_files());
  const TypePtr type = program.find_qualified_type("__torch__.m.M");
  ASSERT_TRUE(type);
  const ClassInfo& info = *type->class_info();
  EXPECT_TRUE(info.is_module);
  EXPECT_EQ(info.attributes[0].kind, ClassInfo::AttributeKind::parameter);
  EXPECT_EQ(info.attributes[1].kind, ClassInfo::AttributeKind::buffer);
  EXPECT_EQ(info.attributes.back().name, "0");
  EXPECT_EQ(info.find_constant("k")->to_int(), 7);
  EXPECT_EQ(info.find_constant("pair")->repr(), "(1, 'x')");
  EXPECT_EQ(info.attributes[info.find("sub")].type->name(), "__torch__.m.___torch_mangle_0.Sub");

  const auto make = [&](const char* name) { return Value(make_ref<Object>(program.find_qualified_type(name))); };
  const Value m = make("__torch__.m.M");
  m.to_object().set_attr("count", Value(0));
  m.to_object().set_attr("sub", make("__torch__.m.___torch_mangle_0.Sub"));
  m.to_object().set_attr("0", make("__torch__.m.Sub"));
  m.to_object().set_attr("imp", make("__torch__.m.Sub"));
  const jit::Module module(program.shared_unit(), m);
  EXPECT_EQ(module(1).repr(), "(407, 'RED!')");
  EXPECT_EQ(module.call({1}, {{"o", 5}}).repr(), "(507, 'RED!')");
  EXPECT_EQ(module.attr<int64_t>("count"), 2);
  EXPECT_EQ(module.call_method("hooked", 1).to_int(), 1010);
  EXPECT_EQ(module.call_method("other").to_int(), 5);
  EXPECT_EQ(module.call_method("painted").repr(), "'RED'");
  EXPECT_FALSE(program.find_qualified_type("__torch__.m.Nothing"));
}

}  // namespace
}  // namespace sconce::script
