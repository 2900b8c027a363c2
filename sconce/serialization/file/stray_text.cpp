#include "sconce/serialization/file/stray_text.h"

#include <cctype>

#include "sconce/base/error.h"

namespace sconce {
namespace {

// A page's first tag may be written in any case, behind blanks.
bool looks_like_web_page(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text[0]))) text.remove_prefix(1);
  for (const std::string_view tag : {"<!doctype", "<html", "<head", "<?xml"}) {
    bool same = text.size() >= tag.size();
    for (size_t i = 0; same && i < tag.size(); ++i) {
      same = std::tolower(static_cast<unsigned char>(text[i])) == tag[i];
    }
    if (same) return true;
  }
  return false;
}

}  // namespace

std::string what_stray_text_is(const FileBytes& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    return "is a pointer of git-lfs and not the file itself, which 'git lfs pull' fetches";
  }
  if (looks_like_web_page(text)) return "is a web page: perhaps what a download answered instead of the file";
  for (const char* ending : {".pt", ".ptl", ".pt2", ".pth", ".safetensors", ".npy", ".npz"}) {
    if (file.name().ends_with(ending)) {
      return std::string("is text, and its name is that of an archive (") + ending + ")";
    }
  }
  return {};
}

void check_is_program_text(const FileBytesPtr& file) {
  const std::string what = what_stray_text_is(*file);
  SCONCE_CHECK(what.empty(), "{}: {}", file->name(), what);
}

}  // namespace sconce
