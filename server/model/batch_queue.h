// BatchQueue: dynamic batching. Requests wait in the order in which they came; the first one and those behind it that
// can be joined with it leave together when they are enough, or when the first has waited long enough. It has neither a
// clock nor a lock of its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace sconce::server {

using Clock = std::chrono::steady_clock;

struct BatchPolicy {
  int64_t max_rows = 0;  // 0: no batches
  std::chrono::nanoseconds delay{0};
  std::vector<int64_t> preferred;  // sizes that leave at once, ascending
};

// ItemPtr points to something with `int64_t rows` (0: cannot be joined), `Clock::time_point queued` and
// `bool joins(const Item&) const`.
template <class ItemPtr>
class BatchQueue {
 public:
  explicit BatchQueue(BatchPolicy policy = {}) : policy_(std::move(policy)) {
    std::sort(policy_.preferred.begin(), policy_.preferred.end());
  }

  size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  void push(ItemPtr item) { items_.push_back(std::move(item)); }

  // What leaves now; empty, when the first one still waits for others (see ready_at), or when there is nothing.
  // `in_a_hurry`: nobody waits for others, as when the server stops.
  std::vector<ItemPtr> take(Clock::time_point now, bool in_a_hurry = false) {
    std::vector<ItemPtr> out;
    if (items_.empty()) return out;
    const ItemPtr& first = items_.front();
    if (policy_.max_rows == 0 || first->rows == 0) {
      out.push_back(std::move(items_.front()));
      items_.pop_front();
      return out;
    }
    std::vector<size_t> chosen{0};
    int64_t rows = first->rows;
    size_t preferred_count = 0;  // how many of the chosen make the largest preferred size
    const auto look = [&] {
      if (std::binary_search(policy_.preferred.begin(), policy_.preferred.end(), rows)) preferred_count = chosen.size();
    };
    look();
    bool full = rows >= policy_.max_rows;
    for (size_t i = 1; i < items_.size() && !full; ++i) {
      if (items_[i]->rows == 0 || !items_[i]->joins(*first)) continue;
      if (rows + items_[i]->rows > policy_.max_rows) {
        full = true;  // the next one is of the next batch
        break;
      }
      rows += items_[i]->rows;
      chosen.push_back(i);
      look();
      full = rows >= policy_.max_rows;
    }
    const bool waited = in_a_hurry || now - first->queued >= policy_.delay;
    if (!full && preferred_count) chosen.resize(preferred_count);
    if (!full && !preferred_count && !waited) return out;
    out.reserve(chosen.size());
    for (const size_t i : chosen) out.push_back(std::move(items_[i]));
    for (size_t i = chosen.size(); i-- > 0;) items_.erase(items_.begin() + static_cast<std::ptrdiff_t>(chosen[i]));
    return out;
  }

  // When take() gives the first one, if nothing else comes.
  std::optional<Clock::time_point> ready_at() const {
    if (items_.empty()) return {};
    return items_.front()->queued + policy_.delay;
  }

  // Takes all out for which `gone` says so.
  template <class Gone>
  std::vector<ItemPtr> remove_if(Gone&& gone) {
    std::vector<ItemPtr> out;
    for (auto at = items_.begin(); at != items_.end();) {
      if (!gone(**at)) {
        ++at;
        continue;
      }
      out.push_back(std::move(*at));
      at = items_.erase(at);
    }
    return out;
  }

 private:
  BatchPolicy policy_;
  std::deque<ItemPtr> items_;
};

}  // namespace sconce::server
