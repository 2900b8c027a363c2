#include "sconce/serialization/archive/verify.h"

#include <algorithm>
#include <functional>

#include "sconce/frontend/script/names/missing_operators.h"
#include "sconce/serialization/archive/archive.h"
#include "sconce/serialization/archive/archive_state.h"
#include "sconce/serialization/archive/package.h"
#include "sconce/serialization/code/code_record.h"
#include "sconce/serialization/code/source_map.h"
#include "sconce/serialization/compiled/compiled_file.h"
#include "sconce/serialization/exported/exported_program.h"
#include "sconce/serialization/file/records.h"
#include "sconce/serialization/file/stray_text.h"
#include "sconce/serialization/lite/lite.h"
#include "sconce/serialization/tensors/tensor_files.h"
#include "sconce/syntax/parser.h"

namespace sconce {
namespace {

std::string count(size_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

class Verifier {
 public:
  Verifier(FileBytesPtr file, const VerifyProgress& progress) : file_(std::move(file)), progress_(progress) {}

  Verification run() {
    const bool is_zip = looks_like_zip(file_->bytes());
    if (is_zip && !check("zip directory", [&] { return check_directory(); })) return std::move(result_);
    result_.kind = kind_of(file_);
    if (is_zip) check("checksums", [&] { return check_sums(); });
    switch (result_.kind) {
      case FileKind::torchscript:
      case FileKind::lite:
        check_archive();
        break;
      case FileKind::exported_program:
        check("program", [&] {
          const Archive archive = load_exported_program(file_);
          return count(flatten_tensors(archive.module).size(), "tensor");
        });
        break;
      case FileKind::compiled:
        check("calls", [&] { return verify_compiled(file_); });
        break;
      case FileKind::package:
        check_package();
        [[fallthrough]];
      case FileKind::state_dict:
      case FileKind::legacy_state_dict:
      case FileKind::safetensors:
      case FileKind::npy:
      case FileKind::npz:
        check("tensors", [&] {
          const TensorFile content = read_tensors(file_);
          return tensors(content);
        });
        break;
      default:
        check("kind", [&]() -> std::string {
          if (result_.kind == FileKind::text) check_is_program_text(file_);
          fail("a file of kind '{}' cannot be verified", kind_name(result_.kind));
        });
    }
    return std::move(result_);
  }

 private:
  // Notes what `f` says, the limits that it adds, or the error that it throws. Returns false for an error.
  bool check(const char* what, const std::function<std::string()>& f) {
    Check c{what, {}};
    const size_t limits_before = result_.limits.size();
    try {
      c.detail = f();
      for (size_t i = limits_before; i < result_.limits.size(); ++i) {
        c.outcome = Outcome::limits;
        c.detail += (c.detail.empty() ? "" : "; ") + result_.limits[i].text;
      }
    } catch (const Error& error) {
      c.outcome = Outcome::invalid;
      c.detail = reason(error);
    }
    result_.checks.push_back(std::move(c));
    return result_.checks.back().outcome != Outcome::invalid;
  }
  // For use inside of a check.
  void limit(const char* kind, std::string text, std::vector<std::string> names) {
    result_.limits.push_back({kind, std::move(text), std::move(names)});
  }

  std::string reason(const Error& error) const {
    const std::string& message = error.message();
    const std::string prefix = file_->name() + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }

  std::string tensors(const TensorFile& content) {
    for (const auto& [name, description] : content.unsupported)
      limit("tensors", "'" + name + "' is a " + description + ", which cannot be used here", {name});
    return count(content.tensors.size(), "tensor");
  }

  std::string check_directory() {
    const ZipReader zip(file_);
    return count(zip.records().size(), "record");
  }
  std::string check_sums() {
    const ZipReader zip(file_);
    uint64_t bytes = 0, total = 0;
    for (const ZipReader::Record& record : zip.records()) total += record.size;
    for (const ZipReader::Record& record : zip.records()) {
      if (progress_) progress_(bytes, total);
      if (record.deflated) {
        zip.read(record);
      } else {
        zip.check(record);
      }
      bytes += record.size;
    }
    return count(bytes, "byte");
  }

  void check_package() {
    check("modules", [&] {
      const std::vector<PackageContent::Module> modules = read_package(Records(file_)).modules;
      LoadOptions options;
      options.run_setstate = false;
      for (const PackageContent::Module& m : modules) load_package(file_, m.name, options);
      return count(modules.size(), "TorchScript module");
    });
  }

  void check_archive() {
    if (!check("version", [&] {
          const Records records(file_);
          records.check_byte_order();
          return "format version " + std::to_string(records.version());
        })) {
      return;
    }
    const Records records(file_);
    check("data.pkl", [&] {
      TensorFile content;
      content.tensors = flatten_tensors(read_archive_state(records), &content.unsupported);
      return tensors(content);
    });
    check("debug records", [&] { return check_debug_records(records); });
    check("operators", [&] { return check_operators(records); });
    LoadOptions options;
    options.run_setstate = false;
    options.all_code = true;
    if (has_bytecode(records)) {
      check("bytecode", [&] {
        const Archive archive = load_lite_archive(file_, options);
        limit_operators(archive.missing_operators);
        return count(archive.unit->functions().size(), "method");
      });
    }
    if (result_.kind == FileKind::torchscript) {
      check("code", [&] { return check_code(options); });
    }
  }

  std::string check_code(const LoadOptions& options) {
    try {
      const Archive archive = load_archive(file_, options);
      return count(archive.unit->functions().size(), "function");
    } catch (const CompileError&) {
      const bool missing = std::any_of(result_.limits.begin(), result_.limits.end(),
                                       [](const Limit& limit) { return limit.kind == "operators"; });
      if (!missing) throw;
      limit("code", "cannot be compiled before all operators are known", {});
      return {};
    }
  }

  // Only errors show what they hold, so that a program runs without them.
  std::string check_debug_records(const Records& records) {
    size_t n = 0;
    for (const ZipReader::Record& record : records.zip().records()) {
      if (!record.name.ends_with(".py.debug_pkl")) continue;
      const std::string bytes = records.zip().read(record);
      try {
        read_debug_ranges(bytes, std::string(record.name));
        ++n;
      } catch (const Error& error) {
        limit("debug records", "errors show the code of the archive instead of the original text: " + reason(error),
              {std::string(record.name)});
      }
    }
    return count(n, "record");
  }

  std::string check_operators(const Records& records) {
    std::vector<std::string> known, missing;
    const auto note = [](std::vector<std::string>& names, const std::string& name) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    };
    for (const ZipReader::Record& record : records.zip().records()) {
      if (code_qualifier(records.name_in_folder(record)).empty()) continue;
      const auto source = std::make_shared<Source>(std::string(record.name), records.zip().read(record), 1, nullptr);
      const syntax::TreePtr tree = syntax::parse(source, syntax::Dialect::archive);
      for (const script::CalledOperator& op : script::called_operators(*tree))
        note(op.known ? known : missing, op.name);
    }
    limit_operators(missing);
    return count(known.size(), "operator");
  }

  // Of code or bytecode, whichever says it first: a file has both of the same program.
  void limit_operators(const std::vector<std::string>& missing) {
    const bool is_known = std::any_of(result_.limits.begin(), result_.limits.end(),
                                      [](const Limit& limit) { return limit.kind == "operators"; });
    if (missing.empty() || is_known) return;
    std::string names;
    for (const std::string& name : missing) names += (names.empty() ? "" : ", ") + name;
    limit("operators", "runs, unless it comes to what is not known: " + names, missing);
  }

  const FileBytesPtr file_;
  const VerifyProgress& progress_;
  Verification result_;
};

}  // namespace

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return "ok";
    case Outcome::limits:
      return "runs with limits";
    case Outcome::invalid:
      return "not valid";
  }
  return "";
}

Outcome Verification::outcome() const {
  Outcome worst = Outcome::ok;
  for (const Check& c : checks) worst = std::max(worst, c.outcome);
  return worst;
}

Verification verify_file(const std::string& path, const VerifyProgress& progress) {
  return verify_file(FileBytes::map(path), progress);
}
Verification verify_file(const FileBytesPtr& file, const VerifyProgress& progress) {
  return Verifier(file, progress).run();
}

}  // namespace sconce
