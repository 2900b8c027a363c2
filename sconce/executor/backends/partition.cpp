#include "sconce/executor/backends/partition.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace sconce::executor {
namespace {

class Joiner {
 public:
  explicit Joiner(const Successors& after) : after_(after), group_(after.size()), members_(after.size()) {
    for (uint32_t n = 0; n < after.size(); ++n) {
      group_[n] = n;
      members_[n] = {n};
    }
    visited_.resize(after.size());
  }

  // Joins what can be joined along edges of taken nodes. Whether anything was.
  bool round(const std::vector<bool>& taken) {
    bool changed = false;
    for (uint32_t n = 0; n < after_.size(); ++n) {
      if (!taken[n]) continue;
      for (const uint32_t m : after_[n]) {
        if (!taken[m] || group_[n] == group_[m] || has_detour(group_[n], group_[m])) continue;
        join(group_[n], group_[m]);
        changed = true;
      }
    }
    return changed;
  }
  const std::vector<uint32_t>& groups() const { return group_; }

 private:
  // Whether a path leads from one group to the other through a third.
  bool has_detour(uint32_t from, uint32_t to) {
    ++turn_;
    std::vector<uint32_t> open;
    const auto visit = [&](uint32_t n) {
      const uint32_t g = group_[n];
      if (g == from || visited_[g] == turn_) return;
      visited_[g] = turn_;
      open.push_back(g);
    };
    for (const uint32_t n : members_[from]) {
      for (const uint32_t m : after_[n]) {
        if (group_[m] != to) visit(m);
      }
    }
    while (!open.empty()) {
      const uint32_t g = open.back();
      open.pop_back();
      for (const uint32_t n : members_[g]) {
        for (const uint32_t m : after_[n]) {
          if (group_[m] == to) return true;
          visit(m);
        }
      }
    }
    return false;
  }

  void join(uint32_t a, uint32_t b) {
    const uint32_t into = std::min(a, b), from = std::max(a, b);
    std::vector<uint32_t> all;
    std::ranges::merge(members_[into], members_[from], std::back_inserter(all));
    for (const uint32_t n : members_[from]) group_[n] = into;
    members_[into] = std::move(all);
    members_[from].clear();
  }

  const Successors& after_;
  std::vector<uint32_t> group_;                 // by node
  std::vector<std::vector<uint32_t>> members_;  // by name of the group, ascending
  std::vector<uint32_t> visited_;               // by name: the search that came by
  uint32_t turn_ = 0;
};

}  // namespace

std::vector<uint32_t> join_taken(const Successors& after, const std::vector<bool>& taken) {
  Joiner joiner(after);
  while (joiner.round(taken)) {
  }
  return joiner.groups();
}

std::vector<uint32_t> order_of_groups(const Successors& after, const std::vector<uint32_t>& group_of) {
  const size_t nodes = after.size();
  std::vector<uint32_t> last(nodes), waits(nodes);
  std::vector<std::vector<uint32_t>> members(nodes);
  for (uint32_t n = 0; n < nodes; ++n) {
    last[group_of[n]] = n;
    members[group_of[n]].push_back(n);
    for (const uint32_t m : after[n]) waits[group_of[m]] += group_of[m] != group_of[n];
  }
  using Item = std::pair<uint32_t, uint32_t>;  // the last node, the group
  std::priority_queue<Item, std::vector<Item>, std::greater<>> ready;
  for (uint32_t n = 0; n < nodes; ++n) {
    if (group_of[n] == n && waits[n] == 0) ready.emplace(last[n], n);
  }
  std::vector<uint32_t> order;
  while (!ready.empty()) {
    const uint32_t g = ready.top().second;
    ready.pop();
    order.push_back(g);
    for (const uint32_t n : members[g]) {
      for (const uint32_t m : after[n]) {
        if (group_of[m] != g && --waits[group_of[m]] == 0) ready.emplace(last[group_of[m]], group_of[m]);
      }
    }
  }
  return order;
}

}  // namespace sconce::executor
