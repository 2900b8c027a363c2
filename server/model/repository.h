// Repository: the models that are served, by name and version. A model is a file, or a folder with a folder for each
// version (NAME/VERSION/model.pt, .ptl, .pt2 or .scx, and NAME/config.json). Models are loaded, replaced and taken away
// while requests run: those that an old one has taken are answered by it, and it goes when it is idle.
#pragma once

#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "server/model/model.h"

namespace sconce::server {

class Log;

struct RepositorySettings {
  std::string folder;    // empty: none
  ModelConfig defaults;  // where config.json says nothing
  bool verify = true;
  bool control = false;  // clients may load and unload
};

struct IndexEntry {
  std::string name, version, state, reason;  // READY, LOADING, UNAVAILABLE
};

class Repository {
 public:
  Repository(RepositorySettings settings, Log& log);
  ~Repository();

  // A file by a name of its own. It is not loaded yet.
  void add_file(const std::string& name, const std::string& path);
  // Loads everything that is known and in the folder. A model that cannot be loaded is UNAVAILABLE, with the reason;
  // gives how many these are.
  size_t load_all();

  // Loads the model, or what has changed of it, and replaces what is served. `config`: JSON over its config.json.
  // Throws Failure; then what was served stays.
  void load(const std::string& name, const std::string& config = {});
  void unload(const std::string& name);
  // Whether clients may do so. Throws Failure (forbidden).
  void check_control() const;

  // An empty version is the latest one. Throws Failure: not_found, unavailable.
  std::shared_ptr<Model> find(const std::string& name, const std::string& version = {}) const;
  // "name" or "name:method", the longest name that there is. `method` is set to what follows it.
  std::shared_ptr<Model> find_method(const std::string& name, const std::string& version, std::string& method) const;
  std::vector<std::string> versions(const std::string& name) const;
  std::vector<std::shared_ptr<Model>> models() const;
  std::vector<IndexEntry> index(bool ready_only = false) const;
  std::vector<std::shared_ptr<ModelStats>> stats() const;
  // All that should be there are.
  bool is_ready() const;

  // Answers what is late; lets go of models that were replaced and are idle. To be called often, by one thread.
  void tick(Clock::time_point now);
  // No model takes requests any more. Waits until all are answered, or until `until`; then they are cancelled.
  void stop(Clock::time_point until);

 private:
  struct Entry {
    std::string path;  // a file, or a folder of versions
    std::map<int64_t, std::shared_ptr<Model>> models;
    std::string state = "UNAVAILABLE", reason = "not loaded";
  };
  std::vector<std::pair<int64_t, std::string>> files_of(const std::string& name, const Entry& entry,
                                                        ModelConfig& config) const;
  std::shared_ptr<ModelStats> stats_of(const std::string& name, const std::string& version);
  void scan_folder();
  void retire(std::map<int64_t, std::shared_ptr<Model>> models);

  const RepositorySettings settings_;
  Log& log_;
  std::mutex loading_;  // one load at a time
  mutable std::shared_mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<ModelStats>> stats_;
  std::vector<std::shared_ptr<Model>> retired_;
};

}  // namespace sconce::server
