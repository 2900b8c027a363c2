#include "input_file.h"

#include <fmt/format.h>

#include "commands.h"
#include "image.h"
#include "sconce/serialization/file_kind.h"
#include "wav.h"

namespace sconce::cli {

std::vector<std::pair<std::string, Value>> read_input_file(const InputFile& file, const PictureOptions& pictures) {
  const FileBytesPtr bytes = FileBytes::map(file.path);
  const FileKind kind = kind_of(bytes);
  switch (kind) {
    case FileKind::png:
      return {{"", prepare_picture(read_png(bytes), pictures)}};
    case FileKind::jpeg:
      return {{"", prepare_picture(read_jpeg(bytes), pictures)}};
    case FileKind::wav:
      return {{"", read_wav(bytes).samples}};
    default:
      throw UsageError(fmt::format("{}: a file of this kind ({}) cannot be an input", file.path, kind_name(kind)));
  }
}

}  // namespace sconce::cli
