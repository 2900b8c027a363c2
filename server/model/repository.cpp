#include "server/model/repository.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "sconce/base/error.h"
#include "server/run/log.h"

namespace sconce::server {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEndings[] = {".pt", ".ptl", ".pt2", ".scx"};

bool is_model_file(const fs::path& path) {
  return std::any_of(std::begin(kEndings), std::end(kEndings), [&](const char* e) { return path.extension() == e; });
}

// A name that is no way to other folders.
bool is_name(const std::string& name) {
  if (name.empty() || name.size() > 200 || name[0] == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

std::optional<int64_t> version_number(const std::string& text) {
  if (text.empty() || text.size() > 18 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return {};
  return std::stoll(text);
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!in) refuse("{}: cannot be read", path.string());
  return out.str();
}

}  // namespace

Repository::Repository(RepositorySettings settings, Log& log) : settings_(std::move(settings)), log_(log) {
  check_model_config("the command line", settings_.defaults);
  if (!settings_.folder.empty() && !fs::is_directory(settings_.folder))
    refuse("{}: is no folder of models", settings_.folder);
}
Repository::~Repository() { stop(Clock::now()); }

void Repository::add_file(const std::string& name, const std::string& path) {
  if (!is_name(name)) refuse("'{}' is no name of a model: letters, digits, _, - and dots", name);
  const std::unique_lock lock(mutex_);
  if (!entries_.emplace(name, Entry{path, {}, "UNAVAILABLE", "not loaded"}).second)
    refuse("two models have the name '{}'", name);
}

// Adds what is new in the folder.
void Repository::scan_folder() {
  if (settings_.folder.empty()) return;
  const std::unique_lock lock(mutex_);
  for (const fs::directory_entry& e : fs::directory_iterator(settings_.folder)) {
    const bool folder = e.is_directory();
    if (!folder && !is_model_file(e.path())) continue;
    const std::string name = folder ? e.path().filename().string() : e.path().stem().string();
    if (is_name(name)) entries_.emplace(name, Entry{e.path().string(), {}, "UNAVAILABLE", "not loaded"});
  }
}

size_t Repository::load_all() {
  scan_folder();
  std::vector<std::string> names;
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, entry] : entries_) names.push_back(name);
  }
  size_t failed = 0;
  for (const std::string& name : names) {
    try {
      load(name);
    } catch (const Failure& e) {
      ++failed;
    }
  }
  return failed;
}

// Versions to be served, with their files. `config` gets what config.json says.
std::vector<std::pair<int64_t, std::string>> Repository::files_of(const std::string& name, const Entry& entry,
                                                                  ModelConfig& config) const {
  std::vector<std::pair<int64_t, std::string>> out;
  if (!fs::is_directory(entry.path)) {
    if (!fs::exists(entry.path)) refuse("{}: there is no such file", entry.path);
    return {{1, entry.path}};
  }
  const fs::path config_file = fs::path(entry.path) / "config.json";
  if (fs::exists(config_file)) read_model_config(read_file(config_file), config_file.string(), config);
  for (const fs::directory_entry& e : fs::directory_iterator(entry.path)) {
    const auto version = version_number(e.path().filename().string());
    if (!version || !e.is_directory()) continue;
    for (const char* ending : kEndings) {
      const fs::path file = e.path() / (std::string("model") + ending);
      if (!fs::exists(file)) continue;
      if (!out.empty() && out.back().first == *version) refuse("{}: has two models", e.path().string());
      out.emplace_back(*version, file.string());
    }
  }
  if (out.empty()) refuse("{}: model '{}' has no VERSION/model.pt, .ptl, .pt2 or .scx", entry.path, name);
  std::sort(out.begin(), out.end());
  if (!config.all_versions) out.erase(out.begin(), out.end() - 1);
  return out;
}

std::shared_ptr<ModelStats> Repository::stats_of(const std::string& name, const std::string& version) {
  const std::unique_lock lock(mutex_);
  auto& stats = stats_[{name, version}];
  if (!stats) {
    stats = std::make_shared<ModelStats>();
    stats->name = name;
    stats->version = version;
  }
  return stats;
}

void Repository::check_control() const {
  if (!settings_.control) refuse(Code::forbidden, "clients may not load and unload models here: --control allows it");
}

void Repository::load(const std::string& name, const std::string& override_config) {
  const std::scoped_lock one(loading_);
  if (!is_name(name)) refuse(Code::not_found, "there is no model '{}'", name.substr(0, 100));
  scan_folder();
  Entry entry;
  {
    const std::unique_lock lock(mutex_);
    const auto at = entries_.find(name);
    if (at == entries_.end()) refuse(Code::not_found, "there is no model '{}'", name);
    if (at->second.models.empty()) at->second.state = "LOADING", at->second.reason = "";
    entry.path = at->second.path;
  }
  const Clock::time_point start = Clock::now();
  std::map<int64_t, std::shared_ptr<Model>> models;
  try {
    ModelConfig config = settings_.defaults;
    const auto files = files_of(name, entry, config);
    if (!override_config.empty()) read_model_config(override_config, "the config of the request", config);
    for (const auto& [version, file] : files) {
      const std::string text = std::to_string(version);
      models[version] =
          std::make_shared<Model>(ModelSource{name, text, file, settings_.verify}, config, stats_of(name, text));
    }
  } catch (const std::exception& e) {
    log_.error("model not loaded").field("model", name).field("reason", e.what());
    const std::unique_lock lock(mutex_);
    Entry& there = entries_[name];
    there.reason = e.what();
    if (there.models.empty()) there.state = "UNAVAILABLE";
    if (const auto* f = dynamic_cast<const Failure*>(&e)) throw *f;
    throw Failure(Code::invalid_argument, e.what());
  }
  log_.info("model loaded")
      .field("model", name)
      .field("version", std::to_string(models.rbegin()->first))
      .field("seconds", std::chrono::duration<double>(Clock::now() - start).count());
  {
    const std::unique_lock lock(mutex_);
    Entry& there = entries_[name];
    there.models.swap(models);
    there.state = "READY";
    there.reason = "";
  }
  retire(std::move(models));
}

void Repository::unload(const std::string& name) {
  const std::scoped_lock one(loading_);
  std::map<int64_t, std::shared_ptr<Model>> models;
  {
    const std::unique_lock lock(mutex_);
    const auto at = entries_.find(name);
    if (at == entries_.end()) refuse(Code::not_found, "there is no model '{}'", name.substr(0, 100));
    models.swap(at->second.models);
    at->second.state = "UNAVAILABLE";
    at->second.reason = "unloaded";
  }
  log_.info("model unloaded").field("model", name);
  retire(std::move(models));
}

// What others still hold goes in tick().
void Repository::retire(std::map<int64_t, std::shared_ptr<Model>> models) {
  const std::unique_lock lock(mutex_);
  for (auto& [version, model] : models) retired_.push_back(std::move(model));
}

std::shared_ptr<Model> Repository::find(const std::string& name, const std::string& version) const {
  const std::shared_lock lock(mutex_);
  const auto at = entries_.find(name);
  if (at == entries_.end()) refuse(Code::not_found, "there is no model '{}'", name.substr(0, 100));
  const Entry& e = at->second;
  if (e.models.empty())
    refuse(Code::unavailable, "model '{}' is not ready: {}{}", name, e.state, e.reason.empty() ? "" : ", " + e.reason);
  if (version.empty()) return e.models.rbegin()->second;
  const auto number = version_number(version);
  const auto model = number ? e.models.find(*number) : e.models.end();
  if (model == e.models.end()) refuse(Code::not_found, "model '{}' has no version '{}'", name, version.substr(0, 40));
  return model->second;
}

std::shared_ptr<Model> Repository::find_method(const std::string& name, const std::string& version,
                                               std::string& method) const {
  const size_t colon = name.rfind(':');
  if (colon == name.npos) return find(name, version);
  method = name.substr(colon + 1);
  auto model = find(name.substr(0, colon), version);
  model->method(method);
  return model;
}

std::vector<std::string> Repository::versions(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  std::vector<std::string> out;
  if (const auto at = entries_.find(name); at != entries_.end()) {
    for (const auto& [version, model] : at->second.models) out.push_back(std::to_string(version));
  }
  return out;
}

std::vector<std::shared_ptr<Model>> Repository::models() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<Model>> out;
  for (const auto& [name, entry] : entries_) {
    for (const auto& [version, model] : entry.models) out.push_back(model);
  }
  return out;
}

std::vector<IndexEntry> Repository::index(bool ready_only) const {
  const std::shared_lock lock(mutex_);
  std::vector<IndexEntry> out;
  for (const auto& [name, entry] : entries_) {
    if (entry.models.empty() && !ready_only) out.push_back({name, "", entry.state, entry.reason});
    for (const auto& [version, model] : entry.models) out.push_back({name, std::to_string(version), "READY", ""});
  }
  return out;
}

std::vector<std::shared_ptr<ModelStats>> Repository::stats() const {
  const std::shared_lock lock(mutex_);
  std::vector<std::shared_ptr<ModelStats>> out;
  for (const auto& [key, stats] : stats_) out.push_back(stats);
  return out;
}

bool Repository::is_ready() const {
  const std::shared_lock lock(mutex_);
  return std::all_of(entries_.begin(), entries_.end(),
                     [](const auto& e) { return !e.second.models.empty() || e.second.reason == "unloaded"; });
}

void Repository::tick(Clock::time_point now) {
  std::vector<std::shared_ptr<Model>> all = models(), gone;
  {
    const std::unique_lock lock(mutex_);
    for (auto at = retired_.begin(); at != retired_.end();) {
      // Nobody else has it, and nobody can get it: it is not among the entries. Until then it takes requests: somebody may
      // have found it just before it was replaced.
      if (at->use_count() == 1 && (*at)->is_idle()) {
        gone.push_back(std::move(*at));
        at = retired_.erase(at);
      } else {
        all.push_back(*at);
        ++at;
      }
    }
  }
  for (const auto& model : all) model->expire(now);
}

void Repository::stop(Clock::time_point until) {
  std::vector<std::shared_ptr<Model>> all;
  {
    const std::unique_lock lock(mutex_);
    for (auto& [name, entry] : entries_) {
      for (auto& [version, model] : entry.models) all.push_back(std::move(model));
      entry.models.clear();
    }
    for (auto& model : retired_) all.push_back(std::move(model));
    retired_.clear();
  }
  for (const auto& model : all) model->close();
  bool cancelled = false;
  for (auto& model : all) {
    while (model.use_count() > 1 || !model->is_idle()) {
      const Clock::time_point now = Clock::now();
      model->expire(!cancelled && now >= until ? Clock::time_point::max() : now);
      cancelled |= now >= until;
      if (cancelled && now >= until + std::chrono::seconds(10))
        break;  // a kernel that does not end: ~Model waits for it
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    model.reset();
  }
}

}  // namespace sconce::server
