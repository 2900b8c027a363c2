#include "sconce/serialization/code/source_map.h"

#include <gtest/gtest.h>

namespace sconce {
namespace {

using namespace std::string_literals;

std::string text(const std::string& s) { return "X" + std::string(1, static_cast<char>(s.size())) + "\0\0\0"s + s; }

// As PyTorch 1.4 wrote them: the text of a source in its tuple, which later records share.
TEST(SourceMap, ReadsRecordsWithoutATableOfTexts) {
  const std::string record = "\x80\x02(K\0("s + text("") + text("") + "K\0tK\0K\0\x87\x86"s +  // nowhere
                             "K\5("s + text("one\ntwo\n") + text("m.py") +
                             "K\7tq\1K\4K\7\x87\x86" +          // first, (source, 4, 7)
                             "K\011h\1K\0K\3\x87K\052\x87t."s;  // with a tag
  const std::vector<DebugRange> places = read_debug_ranges(record, "f");
  ASSERT_EQ(places.size(), 3u);
  EXPECT_FALSE(places[0].range);
  EXPECT_EQ(places[1].range.to_string(), "m.py:8:0");
  EXPECT_EQ(places[1].range.text(), "two");
  EXPECT_EQ(places[1].tag, -1);
  EXPECT_EQ(places[2].range.text(), "one");
  EXPECT_EQ(places[2].range.source, places[1].range.source);
  EXPECT_EQ(places[2].tag, 42);
}

}  // namespace
}  // namespace sconce
