#include "sconce/serialization/code/source_map_writer.h"

#include <gtest/gtest.h>

#include "sconce/serialization/code/source_map.h"

namespace sconce {
namespace {

std::shared_ptr<const SourceMap> map_of(std::string record) {
  return read_source_map([record = std::move(record)] { return record; });
}

Range at(uint32_t offset) {
  return {std::make_shared<Source>("code/m.py", std::string(1000, ' ')), offset, offset + 1};
}

TEST(SourceMapWriter, PlacesAreFoundAgain) {
  const auto one = std::make_shared<Source>("one.py", "def f(x):\n    return x + 1\n", 10);
  const auto two = std::make_shared<Source>("two.py", "no newline");
  PrintedFile file{"__torch__", "", {{5, {one, 14, 26}}, {40, {two, 3, 10}}, {60, {}}, {80, {one, 0, 3}}}};
  SourceMapWriter writer;
  const std::string record = writer.write(file);
  const auto map = map_of(record);
  EXPECT_EQ(map->original(at(0)).to_string(), "");
  EXPECT_EQ(map->original(at(5)).to_string(), "one.py:11:4");
  EXPECT_EQ(map->original(at(39)).text(), "return x + 1");
  EXPECT_EQ(map->original(at(40)).text(), "newline");
  EXPECT_EQ(map->original(at(70)).to_string(), "");
  EXPECT_EQ(map->original(at(900)).text(), "def");
  EXPECT_EQ(map->original(at(5)).source, map->original(at(900)).source);

  // Code that came from an archive is led back through its own record.
  const auto loaded = std::make_shared<Source>("code/__torch__.py", std::string(100, ' '), 1, map);
  PrintedFile again{
      "__torch__", "", {{5, {loaded, 5, 6}}, {40, {loaded, 41, 42}}, {60, {loaded, 65, 66}}, {80, {loaded, 80, 90}}}};
  EXPECT_EQ(SourceMapWriter().write(again), record);
}

// All places of a long text share its lines; the record is read, and read once.
TEST(SourceMapWriter, LongTextsHaveManyPlaces) {
  std::string text;
  PrintedFile file{"__torch__", "", {}};
  constexpr uint32_t kLines = 20000;
  for (uint32_t i = 0; i < kLines; ++i) text += "line " + std::to_string(i) + "\n";
  const auto source = std::make_shared<Source>("long.py", text);
  for (uint32_t i = 0; i < kLines; ++i) file.ranges.push_back({i, {source, i, i + 1}});
  const auto map = map_of(SourceMapWriter().write(file));
  EXPECT_EQ(map->original(at(kLines / 2)).begin, kLines / 2);
  EXPECT_EQ(map->original(at(0)).source, map->original(at(kLines - 1)).source);
}

TEST(SourceMapWriter, BrokenRecordsAreReadOnce) {
  int reads = 0;
  const auto map = read_source_map([&] {
    ++reads;
    return std::string("broken");
  });
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(map->original(at(i)).to_string(), "");
  EXPECT_EQ(reads, 1);
}

}  // namespace
}  // namespace sconce
