#include "sconce/testing/conformance/case_file.h"

#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "sconce/base/error.h"

namespace sconce::testing {
namespace {

bool exists(const std::string& path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

std::shared_ptr<const Json> cases_of(const SafetensorsFile& tensors, const std::string& path) {
  const auto text = tensors.metadata().find("cases");
  SCONCE_CHECK(text != tensors.metadata().end(), "{}: the metadata has no 'cases'", path);
  auto cases = std::make_shared<const Json>(Json::parse(text->second, nullptr, false));
  SCONCE_CHECK(cases->is_array(), "{}: 'cases' is not a JSON list", path);
  for (size_t i = 0; i < cases->size(); ++i) {
    SCONCE_CHECK((*cases)[i].is_object(), "{}: case {} is not a JSON object", path, i);
  }
  return cases;
}

}  // namespace

CaseFile CaseFile::open(const std::string& path) {
  CaseFile file;
  file.path_ = path;
  file.tensors_ = SafetensorsFile::open(path);
  file.cases_ = cases_of(file.tensors_, path);
  return file;
}

CaseFile CaseFile::parse(const std::string& bytes, const std::string& path) {
  CaseFile file;
  file.path_ = path;
  file.tensors_ = SafetensorsFile::parse(std::move(bytes), path);
  file.cases_ = cases_of(file.tensors_, path);
  return file;
}

size_t CaseFile::size() const { return cases_->size(); }
const Json& CaseFile::at(size_t i) const {
  SCONCE_CHECK_AS(index, i < cases_->size(), "{}: there is no case {}, only {}", path_, i, cases_->size());
  return (*cases_)[i];
}

bool CaseFile::has_program() const {
  const std::string suffix = ".safetensors";
  if (!path_.ends_with(suffix)) return false;
  const std::string stem = path_.substr(0, path_.size() - suffix.size());
  return exists(stem + ".pt") || stem.ends_with(".pt") || stem.ends_with(".ptl");
}

const Json* find_member(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

}  // namespace sconce::testing
