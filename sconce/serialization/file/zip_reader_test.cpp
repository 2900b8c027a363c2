// Zip files whose headers lie, built byte by byte: one for every rule of the reader.
#include "sconce/serialization/file/zip_reader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "sconce/testing/error_of.h"
#include "sconce/testing/hostile/zip_bytes.h"

namespace sconce {
namespace {

using testing::pack_zip;
using testing::ZipEnd;
using testing::ZipPart;
using namespace std::string_literals;

ZipReader open(const std::string& bytes) { return ZipReader(FileBytes::copy(std::as_bytes(std::span(bytes)), "f")); }

// What the reader says about one record that is changed by `lie`, beside an honest one.
template <class Lie>
std::string error_of_record(Lie lie) {
  ZipPart part{"a/x", "hello"};
  lie(part);
  return testing::error_of([&] { open(pack_zip({{"a/first", "1234"}, part})); });
}
template <class Lie>
std::string error_of_end(Lie lie) {
  ZipEnd end;
  lie(end);
  return testing::error_of([&] { open(pack_zip({{"a/x", "hello"}}, end)); });
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(ZipReader, ReadsStoredAndDeflatedRecords) {
  const ZipReader zip = open(pack_zip({{"a/x", "hello"}, {"a/y", std::string(5000, 'y'), true}, {"a/empty", ""}}));
  EXPECT_EQ(zip.read(*zip.find("a/x")), "hello");
  EXPECT_EQ(zip.read(*zip.find("a/y")), std::string(5000, 'y'));
  EXPECT_EQ(zip.read(*zip.find("a/empty")), "");
  EXPECT_EQ(zip.find("a/z"), nullptr);
  EXPECT_ERROR(zip.in_place(*zip.find("a/y")), "is compressed and cannot be used in place");
}

TEST(ZipReader, NamesAreUniqueAndStayInside) {
  const char* why = "a record has the name";
  for (const char* name : {"", "/a", "../a", "a/../b", "a/..", "..", "a\\b"}) {
    EXPECT_SAYS(error_of_record([&](ZipPart& p) { p.name = name; }), why);
  }
  EXPECT_SAYS(error_of_record([&](ZipPart& p) { p.name = "a\0b"s; }), why);
  EXPECT_SAYS(error_of_record([&](ZipPart& p) { p.name = std::string(kMaxRecordName + 1, 'n'); }), why);
  EXPECT_EQ(error_of_record([&](ZipPart& p) { p.name = std::string(kMaxRecordName, 'n'); }), "no error");
  EXPECT_EQ(error_of_record([&](ZipPart& p) { p.name = "a/..b"; }), "no error");
  EXPECT_SAYS(error_of_record([&](ZipPart& p) { p.name = "a/first"; }), "there are two records 'a/first'");
}

TEST(ZipReader, LocalHeadersAgreeWithTheDirectory) {
  const char* why = "the header of record 'a/x' says something else than the directory";
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.local_name = "a/y"; }), why);
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.local_size = 4; }), why);
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.local_stored_size = 6; }), why);
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.local_crc = 1; }), why);
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.local_size = 0; }), why);  // only with sizes behind the content
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.offset = 1; }), "record 'a/x' has no header");
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.offset = 0; }), "the header of record 'a/x' says something else");
}

TEST(ZipReader, SizesBehindTheContentAreThoseOfTheDirectory) {
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.flags = 8; }), "the sizes behind record 'a/x' are not those");
}

TEST(ZipReader, RecordsLieInsideAndDoNotOverlap) {
  const auto both = [](uint64_t size) { return error_of_record([&](ZipPart& p) { p.size = p.stored_size = size; }); };
  EXPECT_SAYS(both(100), "record 'a/x' lies outside of the file");
  EXPECT_SAYS(both(0xfffffffe), "record 'a/x' lies outside of the file");
  EXPECT_SAYS(both(0xffffffff), "lacks its 64-bit sizes");
  ZipPart large{"a/first", "1234"};
  large.size = large.stored_size = 20;
  EXPECT_ERROR(open(pack_zip({large, {"a/x", "hello"}})), "records overlap");
}

TEST(ZipReader, KnowsStoredAndDeflatedOnly) {
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.method = 12; }), "compressed by method 12; known are 0 and 8");
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.flags = 1; }), "record 'a/x' is encrypted");
  EXPECT_SAYS(error_of_record([](ZipPart& p) { p.size = 4; }), "record 'a/x' has two sizes");
}

TEST(ZipReader, DeflatedRecordsHaveTheSizeThatTheyClaim) {
  const auto read = [](ZipPart part) {
    part.deflate = true;
    return testing::error_of([&] {
      const ZipReader zip = open(pack_zip({part}));
      zip.read(zip.records().front());
    });
  };
  const std::string text(1000, 't');
  EXPECT_EQ(read({"a/x", text}), "no error");
  for (const uint64_t size : {999, 1001, 0}) {
    ZipPart part{"a/x", text};
    part.size = size;
    EXPECT_SAYS(read(part), "does not inflate to " + std::to_string(size) + " bytes");
  }
  ZipPart huge{"a/x", text};
  huge.size = kMaxInflatedBytes + 1;
  EXPECT_SAYS(read(huge), "claims to inflate to 1073741825 bytes");
  huge.size = 1'000'000;  // more than kMaxInflation times what is there
  EXPECT_SAYS(read(huge), "claims to inflate to 1000000 bytes");
  ZipPart changed{"a/x", text};
  changed.crc = 1;
  EXPECT_SAYS(read(changed), "has a wrong checksum");
}

TEST(ZipReader, ChecksumsAreTested) {
  ZipPart part{"a/x", "hello"};
  part.crc = 1;
  const ZipReader zip = open(pack_zip({part}));
  EXPECT_ERROR(zip.read(zip.records().front()), "f: record 'a/x' has a wrong checksum");
  EXPECT_ERROR(zip.check(zip.records().front()), "f: record 'a/x' has a wrong checksum");
}

TEST(ZipReader, TheDirectoryIsWhereItSaysAndAsLarge) {
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.entries = 2; }), "");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.entries = 0; }), "another size than it says");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.entries = 0xfffe; }), "claims to have 65534 records");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.entries = 0xffff; }), "has no zip64 locator");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.directory_offset = 0xfffffffe; }), "lies outside of the file");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.directory_offset = 3; }), "the zip directory is broken");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.directory_size = 10; }), "claims to have 1 records");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.directory_size = 50; }), "another size than it says");
  EXPECT_SAYS(error_of_end([](ZipEnd& e) { e.after = "x"; }), "has no central directory");
  EXPECT_EQ(error_of_end([](ZipEnd& e) { e.comment = "a comment"; }), "no error");
}

// A zip64 end record and its locator, as PyTorch writes them before the end record.
std::string with_wide_end(uint64_t entries, uint64_t size_change = 0) {
  std::string zip = pack_zip({{"a/x", "hello"}});
  const std::string end = zip.substr(zip.size() - 22);
  zip.resize(zip.size() - 22);
  uint32_t size = 0, offset = 0;
  std::memcpy(&size, end.data() + 12, 4);
  std::memcpy(&offset, end.data() + 16, 4);
  const auto number = [](uint64_t v, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(v >> 8 * i);
    return text;
  };
  const uint64_t place = zip.size();
  return zip + "PK\x06\x06" + number(44, 8) + number(0x2d, 4) + number(0, 8) + number(entries, 8) + number(entries, 8) +
         number(size + size_change, 8) + number(offset, 8) + "PK\x06\x07" + number(0, 4) + number(place, 8) +
         number(1, 4) + end;
}

TEST(ZipReader, BothEndRecordsAgree) {
  EXPECT_EQ(open(with_wide_end(1)).records().size(), 1u);
  EXPECT_ERROR(open(with_wide_end(2)), "the two end records of the zip file say different things");
  EXPECT_ERROR(open(with_wide_end(1, 1)), "the two end records of the zip file say different things");
}

TEST(ZipReader, LimitsTheNumberOfRecords) {
  std::string zip = with_wide_end(kMaxZipRecords + 1);
  zip.replace(zip.size() - 14, 4, "\xff\xff\xff\xff");  // the end record leaves the number to the other
  EXPECT_ERROR(open(zip), "claims to have 1048577 records");
}

TEST(ZipReader, EveryTruncationIsAnError) {
  const std::string whole = pack_zip({{"a/x", "hello"}, {"a/y", std::string(300, 'y'), true}});
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_ERROR(open(whole.substr(0, n)), "f: ");
}

}  // namespace
}  // namespace sconce
