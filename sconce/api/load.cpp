// jit::load: chooses the reader by the kind of the file.
#include "sconce/api/jit.h"
#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/archive/package.h"
#include "sconce/serialization/archive/save_archive.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/file_kind.h"
#include "sconce/serialization/file/stray_text.h"
#include "sconce/serialization/lite/lite.h"

namespace sconce::jit {
namespace {

Module load_file(const FileBytesPtr& file, const LoadSettings& settings) {
  Archive archive;
  LoadOptions options;
  options.strict = settings.strict;
  options.trust = settings.trust;
  options.limits = settings.limits;
  switch (const FileKind kind = kind_of(file)) {
    case FileKind::torchscript:
      archive = load_archive(file, options);
      break;
    case FileKind::lite:
      archive = load_lite_archive(file, options);
      break;
    case FileKind::exported_program:
      archive = load_exported_program(file, options);
      break;
    case FileKind::compiled:
      archive = load_compiled(file, options);
      break;
    case FileKind::package:
      archive = load_package(file, {}, options);
      break;
    default:
      if (kind == FileKind::text && file->name() != "<memory>") check_is_program_text(file);
      fail("{}: holds no program ({}); archives (.pt, .ptl), exported programs (.pt2) and compiled files (.scx) do{}",
           file->name(), kind_name(kind), program_hint(kind));
  }
  if (settings.extra_files) *settings.extra_files = std::move(archive.extra_files);
  if (settings.missing_operators) *settings.missing_operators = std::move(archive.missing_operators);
  return Module(std::move(archive.unit), std::move(archive.module));
}

}  // namespace

Module load(const std::string& path, const LoadSettings& settings) {
  return load_file(settings.mmap ? FileBytes::map(path) : FileBytes::read(path), settings);
}
Module load(const std::shared_ptr<const FileBytes>& file, const LoadSettings& settings) {
  return load_file(file, settings);
}

Module load(const std::string& path, ExtraFiles* extra_files) { return load(path, {.extra_files = extra_files}); }
Module load(const std::shared_ptr<const FileBytes>& file, ExtraFiles* extra_files) {
  return load(file, {.extra_files = extra_files});
}
Module load(std::span<const std::byte> bytes, ExtraFiles* extra_files) {
  return load_file(FileBytes::copy(bytes, "<memory>"), {.extra_files = extra_files});
}

void save(const Module& module, const std::string& path, const ExtraFiles& extra_files) {
  module.save(path, extra_files);
}

void Module::save(const std::string& path, const ExtraFiles& extra_files) const {
  SaveOptions options;
  options.extra_files = extra_files;
  save_archive(object_, path, options);
}

void Module::save_lite(const std::string& path, const ExtraFiles& extra_files) const {
  SaveOptions options;
  options.extra_files = extra_files;
  options.lite = true;
  save_archive(object_, path, options);
}

}  // namespace sconce::jit
