#include "sconce/serialization/file/file_kind.h"

#include <gtest/gtest.h>

#include "sconce/testing/error_of.h"
#include "sconce/testing/source_tree.h"

namespace sconce {
namespace {

using namespace std::string_literals;

FileKind kind(const std::string& bytes) { return kind_of(FileBytes::copy(std::as_bytes(std::span(bytes)), "bytes")); }

FileKind kind_of_path(const std::string& path) { return kind_of(FileBytes::map(testing::source_path(path))); }

TEST(FileKind, IsKnownByTheFirstBytes) {
  EXPECT_EQ(kind("\x93NUMPY\x01\x00"s), FileKind::npy);
  EXPECT_EQ(kind("\x89PNG\r\n\x1a\n"), FileKind::png);
  EXPECT_EQ(kind("\xff\xd8\xff\xe0"), FileKind::jpeg);
  EXPECT_EQ(kind("RIFF\x10\x00\x00\x00WAVEfmt "s), FileKind::wav);
  EXPECT_EQ(kind("RIFF\x10\x00\x00\x00WEBPfmt "s), FileKind::unknown);
  EXPECT_EQ(kind("\x02\x00\x00\x00\x00\x00\x00\x00{}"s), FileKind::safetensors);
  EXPECT_EQ(kind("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."), FileKind::legacy_state_dict);
  EXPECT_EQ(kind("\x80\x02K\x01."), FileKind::unknown);
}

TEST(FileKind, TextIsUtf8WithoutControlCharacters) {
  EXPECT_EQ(kind("def f(x):\n\treturn x\n"), FileKind::text);
  EXPECT_EQ(kind("# gr\xc3\xb6\xc3\x9f"
                 "er\n"),
            FileKind::text);
  EXPECT_EQ(kind("a\x00"
                 "b"s),
            FileKind::unknown);
  EXPECT_EQ(kind("a\xff"), FileKind::unknown);
  EXPECT_EQ(kind("a\xc3"), FileKind::unknown);
  EXPECT_EQ(kind(""), FileKind::unknown);
}

TEST(FileKind, LooksIntoZipFiles) {
  EXPECT_EQ(kind_of_path("tests/conformance/programs/MLP.pt"), FileKind::torchscript);
  EXPECT_EQ(kind_of_path("tests/conformance/programs/MLP.safetensors"), FileKind::safetensors);
  std::string nothing(22, '\0');  // as numpy.savez writes no arrays
  nothing.replace(0, 4, "PK\x05\x06");
  EXPECT_EQ(kind(nothing), FileKind::npz);
  EXPECT_ERROR(kind("PK\x03\x04 and no more"), "bytes: is not a zip file");
}

TEST(FileKind, TarFilesOfOldPyTorchAreRecognised) {
  std::string tar(512, '\0');
  tar.replace(0, 8, "sys_info");
  tar.replace(257, 5, "ustar");
  EXPECT_EQ(kind(tar), FileKind::legacy_state_dict);
}

}  // namespace
}  // namespace sconce
