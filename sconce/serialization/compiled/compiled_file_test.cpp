// Compiled files: what they give, what they refuse, what they say.
#include "sconce/serialization/compiled/compiled_file.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/dispatch/registry.h"
#include "sconce/executor/function_plans.h"
#include "sconce/ops.h"
#include "sconce/serialization/archive/verify.h"
#include "sconce/serialization/compiled/compile_calls.h"
#include "sconce/tensor/generator.h"
#include "sconce/tensor/grad_mode.h"
#include "sconce/testing/compiled/planned_calls.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/hostile/zip_bytes.h"
#include "sconce/testing/temporary_folder.h"

namespace sconce {
namespace {

using testing::compare_same_bits;
using testing::error_of;

constexpr const char* kPrograms = R"(
class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.b = nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8)
        self.last = nn.Linear(8, 5)
        self.register_buffer("scale", torch.full([8, 1, 1], 2.0))

    def forward(self, x, which: int = 0):
        y = F.relu(self.norm(self.a(x)), inplace=True)
        if which == 1:
            y[:, 0].add_(1)
        p, q = y.chunk(2, 1)
        y = torch.cat([q, p], 1) * self.scale
        z = F.hardswish(self.b(y))
        return self.last(z.mean((2, 3))), z, y[0]

class Trees(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full([4], 3.0))

    def forward(self, pair: Tuple[Tensor, int], items: List[Tensor], names: Dict[str, Tensor], scale: Optional[Tensor]):
        y = pair[0] * pair[1] + items[0] - items[1] * names["k"]
        if scale is not None:
            y = y * scale
        return {"y": y, "w": self.w}, [y.t(), y + 1], pair[1] + 1

class Draws(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return torch.bernoulli(x * 0.5) + torch.rand(4)

class Drops(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        return F.dropout(x, 0.5, True)

class Reads(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        if bool(x.sum() > 0):
            return x + 1
        return x

class Counts(nn.Module):
    n: int
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x):
        self.n = self.n + 1
        return x * self.n

class Looks(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)

    def forward(self, i):
        return self.table(i) + 1

def chain(x: Tensor, n: int) -> Tensor:
    for _ in range(n):
        x = torch.relu(x)
    return x

def writes(x: Tensor, n: int) -> Tensor:
    x = x + 1
    y = x[0]
    for _ in range(n):
        y.add_(1)
    return x

def free(x: Tensor, k: float) -> Tensor:
    return torch.sigmoid(x) * k
)";

class CompiledFiles : public ::testing::Test {
 protected:
  jit::Module module(const char* name) {
    manual_seed(3);
    jit::Module made = unit_.module(name);
    made.eval();
    return made;
  }
  std::string compile(const jit::Module& m, std::vector<ExampleCall> calls, const char* name = "m.scx") {
    compile_to_file(*m.unit(), m.value(), "forward", calls, folder_.file(name));
    return folder_.file(name);
  }
  // The bytes of a file with one record changed, and perhaps one more.
  FileBytesPtr with(const std::string& path, const std::string& record, const std::string& content,
                    const std::string& further = "", const std::string& further_content = "") {
    const FileBytesPtr file = FileBytes::map(path);
    const Records records(file);
    std::vector<testing::ZipPart> parts;
    for (const ZipReader::Record& r : records.zip().records()) {
      const bool is_it = records.name_in_folder(r) == record;
      parts.push_back({std::string(r.name), is_it ? content : records.zip().read(r)});
    }
    if (!further.empty())
      parts.push_back({parts[0].name.substr(0, parts[0].name.find('/') + 1) + further, further_content});
    const std::string bytes = testing::pack_zip(parts);
    return FileBytes::copy(std::as_bytes(std::span(bytes)), "m.scx");
  }
  static Tensor image(int64_t n = 2) {
    manual_seed(1);
    return randn({n, 3, 8, 8});
  }

  jit::CompilationUnit unit_ = jit::compile(kPrograms);
  testing::TemporaryFolder folder_;
};

void expect_same(const Value& got, const Value& expected) {
  const std::vector<Value>&a = got.to_tuple().items, &b = expected.to_tuple().items;
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_FALSE(compare_same_bits(a[i].to_tensor(), b[i].to_tensor())) << i;
}

TEST_F(CompiledFiles, GiveTheProgramsBits) {
  const NoGrad without_gradients;
  const jit::Module images = module("Images");
  const std::string path = compile(
      images, {{{image()}, {}}, {{image(3)}, {{"which", Value(int64_t{1})}}}, {{image(), Value(int64_t{1})}, {}}});
  const jit::Module loaded = jit::load(path);
  for (int i = 0; i < 3; ++i) {
    expect_same(loaded(image()), images(image()));
    expect_same(loaded(image(), 1), images(image(), 1));
    expect_same(loaded(image(3), 1), images(image(3), 1));
  }
  // By plans, from the first call on.
  const auto plans = executor::plans_of(loaded.get_method("forward").function());
  ASSERT_EQ(plans.size(), 3u);
  for (const executor::PlanText& plan : plans) {
    EXPECT_EQ(plan.runs, 3u);
    EXPECT_EQ(plan.guards, 0u);
  }
  executor::set_plans_enabled(false);
  expect_same(loaded(image()), images(image()));
  executor::set_plans_enabled(true);
}

TEST_F(CompiledFiles, RunInEveryGradMode) {
  const jit::Module images = module("Images");
  const jit::Module loaded = jit::load(compile(images, {{{image()}, {}}}));
  const auto forward_plans = [&] { return executor::plans_of(loaded.get_method("forward").function()).size(); };
  const Tensor x = image();
  EXPECT_FALSE(loaded(x).to_tuple().items[0].to_tensor().requires_grad());
  EXPECT_EQ(forward_plans(), 1u);
  {
    const InferenceMode inference;
    const Value result = loaded(image());
    EXPECT_EQ(forward_plans(), 2u);
  }
  // Gradients of the argument go through the calls.
  const Tensor leaf = image();
  call_op("aten::requires_grad_", {leaf, true});
  const Tensor out = loaded(leaf).to_tuple().items[0].to_tensor();
  EXPECT_TRUE(out.requires_grad());
}

TEST_F(CompiledFiles, TakeContainersAndGiveThem) {
  const NoGrad without_gradients;
  const jit::Module trees = module("Trees");
  trees.requires_grad_(false);
  const Tensor x = ones({2, 4}), y = full({2, 4}, 0.5f);
  Value items(std::vector<Tensor>{x, y});
  auto names = make_ref<Dict>(string_type(), tensor_type());
  names->set(Value("k"), Value(x));
  const std::vector<Value> args{Value(make_ref<Tuple>(std::vector<Value>{x, int64_t{2}})), items, Value(names),
                                Value()};
  const std::string path = compile(trees, {{args, {}}});
  const jit::Module loaded = jit::load(path);
  const Value expected = trees.call(args), got = loaded.call(args);
  EXPECT_EQ(got.repr(), expected.repr());
  EXPECT_EQ(got.type(), expected.type());
  std::vector<Value> other = args;
  other[3] = Value(y);
  EXPECT_EQ(error_of([&] { loaded.call(other); }).find("scale: None") != std::string::npos, true);
  other = args;
  other[0] = Value(make_ref<Tuple>(std::vector<Value>{x, int64_t{3}}));
  EXPECT_ERROR(loaded.call(other), "given were (pair: (float32 [2, 4], 3), items: [float32 [2, 4], float32 [2, 4]]");
}

TEST_F(CompiledFiles, SayWhatTheyWereCompiledFor) {
  const NoGrad without_gradients;
  const jit::Module loaded = jit::load(compile(module("Images"), {{{image()}, {}}}));
  EXPECT_ERROR(loaded(image(5)),
               "the file was compiled for arguments (x: float32 [2, 3, 8, 8], which: 0), "
               "given were (x: float32 [5, 3, 8, 8], which: 0)");
  EXPECT_ERROR(loaded(to(image(), DType::float64)), "given were (x: float64 [2, 3, 8, 8], which: 0)");
  EXPECT_ERROR(loaded(image(), 1), "given were (x: float32 [2, 3, 8, 8], which: 1)");
  EXPECT_ERROR(loaded(), "missing value for argument 'x'");
}

TEST_F(CompiledFiles, TakeTensorsOfOtherStrides) {
  const NoGrad without_gradients;
  const jit::Module images = module("Images");
  const jit::Module loaded = jit::load(compile(images, {{{image()}, {}}}));
  const std::vector<int64_t> order{0, 1, 3, 2};
  const Tensor turned = permute(contiguous(permute(image(), order)), order);
  for (int i = 0; i < 4; ++i) expect_same(loaded(turned), images(image()));
}

TEST_F(CompiledFiles, DrawTheProgramsNumbers) {
  const NoGrad without_gradients;
  const jit::Module draws = module("Draws");
  const jit::Module loaded = jit::load(compile(draws, {{{ones({4})}, {}}}));
  for (int i = 0; i < 3; ++i) {
    manual_seed(7);
    const Tensor expected = draws(ones({4})).to_tensor();
    manual_seed(7);
    const FileBytesPtr file = FileBytes::map(folder_.file("m.scx"));
    load_compiled(file);  // draws nothing
    EXPECT_FALSE(compare_same_bits(loaded(ones({4})).to_tensor(), expected));
  }
}

TEST_F(CompiledFiles, HoldFunctions) {
  const NoGrad without_gradients;
  const Tensor x = ones({3});
  const jit::Function f = unit_.function("free");
  compile_to_file(*f.unit(), {}, f.qualified_name(), {{{x, 2.0}, {}}}, folder_.file("f.scx"));
  const jit::Module loaded = jit::load(folder_.file("f.scx"));
  EXPECT_FALSE(compare_same_bits(loaded.call_method("free", x, 2.0).to_tensor(), f(x, 2.0).to_tensor()));
  EXPECT_ERROR(loaded.call_method("free", x, 3.0), "k: 3.0)");
}

TEST_F(CompiledFiles, ArePlannedWhereThatIsQuick) {
  const NoGrad without_gradients;
  const auto compile_function = [&](const char* name, int64_t n) {
    const jit::Function f = unit_.function(name);
    compile_to_file(*f.unit(), {}, f.qualified_name(), {{{ones({2, 2}), n}, {}}}, folder_.file("f.scx"));
    return jit::load(folder_.file("f.scx"));
  };
  for (const int64_t n : {100, 10'001}) {
    const jit::Module loaded = compile_function("chain", n);
    EXPECT_FALSE(compare_same_bits(loaded.call_method("chain", ones({2, 2}), n).to_tensor(), ones({2, 2})));
    EXPECT_EQ(executor::plans_of(loaded.get_method("chain").function()).size(), n == 100 ? 1u : 0u);
  }
  EXPECT_ERROR(compile_function("writes", 4'200), "4200 of 4202 calls write in place, which is too many");
}

TEST_F(CompiledFiles, CannotBeSavedAsPrograms) {
  const jit::Module loaded = jit::load(compile(module("Looks"), {{{zeros({2}, DType::int64)}, {}}}));
  EXPECT_ERROR(loaded.save(folder_.file("m.pt")), "the module was loaded from a compiled file");
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(CompiledFiles, RaiseErrorsOfOperators) {
  const NoGrad without_gradients;
  const Tensor good = zeros({2}, DType::int64), bad = full({2}, 9, DType::int64);
  const jit::Module looks = module("Looks"), loaded = jit::load(compile(looks, {{{good}, {}}}));
  EXPECT_ERROR(loaded(bad), "index out of range");
  EXPECT_FALSE(compare_same_bits(loaded(good).to_tensor(), looks(good).to_tensor()));
}

TEST_F(CompiledFiles, RefuseWhatCannotBeRecorded) {
  const auto refusal = [&](const jit::Module& m) { return error_of([&] { compile(m, {{{ones({4})}, {}}}); }); };
  EXPECT_NE(refusal(module("Reads")).find("forward() cannot be compiled: aten::Bool.Tensor reads elements"),
            std::string::npos);
  EXPECT_NE(refusal(module("Drops")).find("it calls sconce::dropout_with_mask, which is an operator of Sconce itself"),
            std::string::npos);
  EXPECT_NE(refusal(module("Counts")).find("forward() cannot be compiled: "), std::string::npos);
  jit::Module training = module("Images");
  training.train();
  EXPECT_NE(refusal(training).find("only implemented for modules in eval mode"), std::string::npos);
  EXPECT_ERROR(compile(module("Images"), {}), "needs the arguments of at least one call");
  EXPECT_ERROR(compile(module("Images"), {{{image()}, {}}, {{image()}, {}}}),
               "two of the calls have the same arguments, (x: float32 [2, 3, 8, 8], which: 0)");
  EXPECT_EQ(folder_.count(), 0u);
}

TEST_F(CompiledFiles, AreOfThisVersion) {
  const std::string path = compile(module("Looks"), {{{zeros({2}, DType::int64)}, {}}});
  EXPECT_ERROR(load_compiled(with(path, "version", "3\n")),
               "m.scx: is a compiled file of format version 3, this Sconce reads versions 1 and 2");
  EXPECT_ERROR(load_compiled(with(path, "version", "2\n")),
               "m.scx: has no record 'device', which belongs to version 2");
  EXPECT_ERROR(load_compiled(with(path, "version", "2\n", "device", "toaster")),
               "m.scx: is compiled for device 'toaster', this Sconce knows cpu and cuda");
  EXPECT_ERROR(load_compiled(with(path, "version", "1\n", "device", "cuda")),
               "m.scx: has a record 'device', which belongs to version 2");
  // One for a device is described and verified without it.
  EXPECT_EQ(describe_compiled(with(path, "version", "2\n", "device", "cuda")).device, DeviceType::cuda);
  EXPECT_EQ(verify_compiled(with(path, "version", "2\n", "device", "cuda")), "2 calls, 1 constants, for cuda");
  EXPECT_ERROR(load_compiled(with(path, "byteorder", "big")), "big");
  EXPECT_EQ(kind_of(FileBytes::map(path)), FileKind::compiled);
  EXPECT_EQ(verify_file(path).outcome(), Outcome::ok);
}

TEST_F(CompiledFiles, KeepPackedWeights) {
  const NoGrad without_gradients;
  const jit::Module images = module("Images");
  const std::string path = compile(images, {{{image()}, {}}}), small = folder_.file("small.scx");
  compile_to_file(*images.unit(), images.value(), "forward", {{{image()}, {}}}, small, {.packed_weights = false});
  const auto packed_of = [](const FileBytesPtr& file) {
    const compiled::CompiledFile content(file);
    return content.adopt_packed().size();
  };
  EXPECT_EQ(packed_of(FileBytes::map(path)), 3u);
  EXPECT_EQ(packed_of(FileBytes::map(small)), 0u);
  expect_same(jit::load(small)(image()), images(image()));

  // Those of other packers are not used.
  const Records records(FileBytes::map(path));
  std::string index = records.read("packed.scx");
  index[0] = static_cast<char>(index[0] + 1);
  EXPECT_EQ(packed_of(with(path, "packed.scx", index)), 0u);
  // Nor are those of another size, or without a form that somebody asks for.
  expect_same(jit::load(with(path, "packed/0", "short"))(image()), images(image()));

  const FileBytesPtr changed = with(path, "packed/0", std::string(records.find("packed/0")->size, 'x'));
  const Verification said = verify_file(changed);
  EXPECT_EQ(said.outcome(), Outcome::invalid);
  EXPECT_NE(said.checks.back().detail.find("packed.scx: packed weights of ["), std::string::npos)
      << said.checks.back().detail;
  const auto index_error = [&](size_t at, char to) {
    std::string wrong = records.read("packed.scx");
    wrong[at] = to;
    return error_of([&] { load_compiled(with(path, "packed.scx", wrong)); });
  };
  EXPECT_NE(index_error(4, 9).find("m.scx: packed.scx: ends early"), std::string::npos);  // how many
  EXPECT_NE(index_error(8, 99).find("packed weights of record 99"), std::string::npos);   // which data
  EXPECT_NE(index_error(12, 4), "no error");                                              // an offset
  EXPECT_NE(index_error(20, 99), "no error");                                             // a dtype
  EXPECT_NE(index_error(21, 9).find("a weight has 9 dimensions, at most 8"), std::string::npos);
  EXPECT_NE(index_error(29, 1), "no error");  // a size
}

TEST_F(CompiledFiles, AreDescribed) {
  compile(module("Looks"), {{{zeros({2}, DType::int64)}, {}}});
  const CompiledInfo info = describe_compiled(FileBytes::map(folder_.file("m.scx")));
  EXPECT_EQ(info.function, "forward(Tensor i) -> Tensor");
  ASSERT_EQ(info.signatures.size(), 1u);
  EXPECT_EQ(info.signatures[0], "(i: int64 [2])");
  ASSERT_EQ(info.constants.size(), 1u);
  EXPECT_EQ(info.constants[0].name, "table.weight");
  EXPECT_EQ(info.calls[0], (std::vector<std::string>{"%2 = aten::embedding(%1, %0, -1, False, False)  [2, 3] float32",
                                                     "%3 = aten::add.Scalar(%2, 1, 1)  [2, 3] float32"}));
}

}  // namespace
}  // namespace sconce
