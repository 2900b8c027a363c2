#include "sconce/ir/symbol.h"

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace sconce::ir {
namespace {

// Ids are indices into `texts`; a deque, so that references stay valid.
struct SymbolTable {
  std::shared_mutex mutex;
  std::deque<std::string> texts;
  std::unordered_map<std::string_view, uint32_t> ids;

  SymbolTable() {
    add("");
#define SCONCE_KIND(name) add("prim::" #name);
    SCONCE_PRIM_KINDS(SCONCE_KIND)
#undef SCONCE_KIND
  }
  uint32_t add(std::string_view text) {
    const uint32_t id = static_cast<uint32_t>(texts.size());
    ids.emplace(texts.emplace_back(text), id);
    return id;
  }
  static SymbolTable& get() {
    static SymbolTable& table = *new SymbolTable;
    return table;
  }
};

}  // namespace

Symbol::Symbol(std::string_view text) {
  SymbolTable& table = SymbolTable::get();
  {
    const std::shared_lock lock(table.mutex);
    if (const auto found = table.ids.find(text); found != table.ids.end()) {
      id_ = found->second;
      return;
    }
  }
  const std::unique_lock lock(table.mutex);
  const auto found = table.ids.find(text);
  id_ = found == table.ids.end() ? table.add(text) : found->second;
}

const std::string& Symbol::text() const {
  SymbolTable& table = SymbolTable::get();
  const std::shared_lock lock(table.mutex);
  return table.texts[id_];
}

std::string_view Symbol::space() const {
  const std::string_view all = text();
  const size_t colons = all.find("::");
  return colons == all.npos ? std::string_view() : all.substr(0, colons);
}

std::string_view Symbol::name() const {
  const std::string_view all = text();
  const size_t colons = all.find("::");
  return colons == all.npos ? all : all.substr(colons + 2);
}

}  // namespace sconce::ir
