// Epoch-based reclamation: what threads read without a lock is freed once the last of those that may still see it has
// left.
//
// Note [Epochs]
// A thread that reads says so by storing the number of the current epoch, and 0 when it leaves: two stores to memory of
// its own. Whoever takes something away first unlinks it, then begins a new epoch, and frees it when no thread is
// inside that entered in the old one or before. That a reader's store comes before its reads needs a fence; it stands
// on the rare side alone, which asks the kernel to run one in every thread of the process (membarrier). Where the
// kernel refuses, readers run it.
#pragma once

#include <atomic>
#include <cstdint>

namespace sconce::executor {

namespace detail {

struct alignas(64) EpochReader {
  std::atomic<uint64_t> inside{0};  // the epoch in which its thread entered; 0: it is outside
  std::atomic<bool> is_taken{true};
  EpochReader* next = nullptr;  // they stay for ever, for threads to come
};

extern constinit std::atomic<uint64_t> epoch;       // never 0
extern constinit std::atomic<bool> readers_fence;   // the kernel does not
extern thread_local constinit EpochReader* reader;  // of this thread; null: it has not read yet
EpochReader& new_reader();

}  // namespace detail

// While one lives, nothing that this thread finds is freed. They may be nested.
class Reading {
 public:
  Reading() : reader_(detail::reader ? *detail::reader : detail::new_reader()) {
    is_outermost_ = reader_.inside.load(std::memory_order_relaxed) == 0;
    if (!is_outermost_) return;
    reader_.inside.store(detail::epoch.load(std::memory_order_acquire), std::memory_order_relaxed);
    if (detail::readers_fence.load(std::memory_order_relaxed)) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Reading() {
    if (is_outermost_) reader_.inside.store(0, std::memory_order_release);
  }
  Reading(const Reading&) = delete;

 private:
  detail::EpochReader& reader_;
  bool is_outermost_;
};

// To be called behind unlinking something. Gives the number of the epoch that ends; what was unlinked can go when
// oldest_reader() is larger.
uint64_t end_epoch() noexcept;
// The earliest epoch in which a thread entered that is inside now; the largest number if none is, 0 if nobody can say.
uint64_t oldest_reader() noexcept;

}  // namespace sconce::executor
