// Lite archives as files.
#include "sconce/serialization/lite/lite.h"

#include <gtest/gtest.h>

#include "sconce/api/jit.h"
#include "sconce/serialization/archive/save_archive.h"
#include "sconce/serialization/file/zip_writer.h"
#include "sconce/serialization/lite/lite_compile.h"
#include "sconce/serialization/lite/lite_test_program.h"
#include "sconce/serialization/pickle/pickle_writer.h"
#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"
#include "sconce/testing/temporary_folder.h"
#include "sconce/types/class_info.h"

namespace sconce::lite {
namespace {

Value call(const Archive& archive, const std::string& method, std::vector<Value> args) {
  args.insert(args.begin(), archive.module);
  return runtime::run(*ir::find_method(archive.module.to_object().type(), method), args);
}

// A file with these methods and objects; all objects have the state ("state",).
class MadeFile {
 public:
  MadeFile(std::vector<Method> methods, const Value& module, bool has_states) {
    Tables tables;
    tables.version = kWrittenBytecode;
    tables.methods = std::move(methods);
    StorageTable storages;
    PickleOptions options;
    if (has_states) {
      options.state_of = [](const Value&) { return Value(make_ref<Tuple>(std::vector<Value>{"state"})); };
    }
    FileWriter out(path());
    ZipWriter zip(out, "made");
    zip.add("data.pkl", write_pickle(module, storages, options));
    zip.add("bytecode.pkl", write_pickle(pickle_of(tables), storages));
    zip.add("version", "10\n");
    zip.finish();
    out.commit();
  }
  std::string path() const { return folder_.file("made.ptl"); }
  Archive load() const { return load_lite_archive(path()); }

 private:
  testing::TemporaryFolder folder_;
};

Value object_of(const std::string& class_name, std::vector<std::pair<std::string, Value>> attributes = {}) {
  const TypePtr type = make_class_type(class_name);
  for (const auto& [name, v] : attributes) type->class_info()->attributes.push_back({name, v.type()});
  auto object = make_ref<Object>(type);
  for (size_t i = 0; i < attributes.size(); ++i) object->set_slot(i, attributes[i].second);
  return object;
}

Method set_state(const std::string& instructions, std::vector<Value> constants) {
  return method_of({instructions, {}, std::move(constants), {}, 2, 2}, "__torch__.K.__setstate__");
}

TEST(Lite, AttributesAreTheSlotsInTheirOrder) {
  const MadeFile file({method_of({"GET_ATTR 1\nRET"}, "__torch__.M.forward")},
                      object_of("__torch__.M", {{"a", 1}, {"b", "two"}}), false);
  EXPECT_EQ(call(file.load(), "forward", {}).repr(), "'two'");
}

TEST(Lite, SetStateMakesTheSlotsThatItSets) {
  const MadeFile file({set_state("STOREN 1 2\nMOVE 1\nMOVE 2\nSET_ATTR 3\nLOADC 0\nRET", {Value()}),
                       method_of({"GET_ATTR 3\nRET"}, "__torch__.K.forward")},
                      object_of("__torch__.K"), true);
  EXPECT_EQ(call(file.load(), "forward", {}).repr(), "('state',)");
}

TEST(Lite, SetStateIsVerifiedBeforeItRuns) {
  const MadeFile file({set_state("DROP\nDROP\nDROP\nRET", {})}, object_of("__torch__.K"), true);
  EXPECT_ERROR(file.load(), "method '__torch__.K.__setstate__': instruction 2: DROP");
}

TEST(Lite, SetStateIsBounded) {
  const MadeFile endless({set_state("JMP 0\nRET", {})}, object_of("__torch__.K"), true);
  EXPECT_ERROR(endless.load(), "the step limit of 200000 (loop iterations and calls) is used up");
  const MadeFile deep({set_state("INTERFACE_CALL 0 2\nRET", {"__setstate__"})}, object_of("__torch__.K"), true);
  EXPECT_ERROR(deep.load(), "maximum depth of calls reached: 100");
  // Many objects of a class with many slots.
  auto list = make_ref<List>(any_type());
  const TypePtr type = make_class_type("__torch__.K");
  for (int i = 0; i < 70; ++i) list->append(make_ref<Object>(type));
  const MadeFile many({set_state("STOREN 1 2\nMOVE 1\nMOVE 2\nSET_ATTR 4095\nLOADC 0\nRET", {Value()})}, list, true);
  EXPECT_ERROR(many.load(), "__setstate__ makes more than 262144 attributes");
}

TEST(Lite, ObjectsOfAClassAreAlike) {
  auto list = make_ref<List>(any_type());
  list->append(object_of("__torch__.K", {{"a", 1}}));
  list->append(object_of("__torch__.K", {{"b", 1}}));
  EXPECT_ERROR(MadeFile({}, list, false).load(), "two objects of class '__torch__.K' have different attributes");
}

TEST(Lite, OtherFilesAreNamed) {
  std::string flat(32, '\0');
  flat.replace(4, 4, "PTMF");
  EXPECT_ERROR(load_lite_archive(FileBytes::copy(std::as_bytes(std::span(flat)), "m.ptl")),
               "m.ptl: lite archives in a flatbuffer (PTMF) are not supported");
  EXPECT_ERROR(load_lite_archive(testing::source_path("tests/conformance/programs/MLP.pt")),
               "is no lite archive: it has no record 'bytecode.pkl'");
}

TEST(Lite, SavedModulesRunByTheirBytecode) {
  const testing::TemporaryFolder folder;
  const Archive archive = load_archive(testing::source_path("tests/conformance/programs/scalar_math.pt"));
  SaveOptions options;
  options.lite = true;
  save_archive(archive.module, folder.file("m.ptl"), options);
  EXPECT_EQ(call(load_lite_archive(folder.file("m.ptl")), "forward", {7, 3, 2.5}).repr(),
            call(archive, "forward", {7, 3, 2.5}).repr());
}

TEST(Lite, ErrorsShowTheTextThatPeopleWrote) {
  const testing::TemporaryFolder folder;
  const Archive archive = load_archive(testing::source_path("tests/conformance/programs/raise_value.pt"));
  SaveOptions options;
  options.lite = true;
  save_archive(archive.module, folder.file("m.ptl"), options);
  const Archive lite = load_lite_archive(folder.file("m.ptl"));
  EXPECT_ERROR(call(lite, "forward", {-1}), "raise ValueError(\"negative: {}\".format(x))");
}

}  // namespace
}  // namespace sconce::lite
