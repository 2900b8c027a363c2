// Arena planning by replay: a method that runs again takes blocks of the same sizes in the same order, so their
// places are known from its first run.
//
// Note [Arenas]
// In the first run of a method every block of more than 1 KiB is taken from the host, and its size, the moment it was
// taken and the moment it was given back are noted. At its end the blocks are laid out (executor/arena.h),
// so that those that live at the same time do not overlap, in one block of the host: the arena. From then on the nth
// block of a run is at its planned place, if it has the planned size and nothing that lives lies there (what the first
// run took for things that are made once is passed over); what differs (a branch that data decides, other sizes of
// arguments) takes memory of the host, and the next run is noted anew.
// Results of a run live until the next; what a run keeps for longer (attributes of the model) has no place in the
// arena.
#pragma once

#include <cstdint>
#include <memory>

#include "sconce/executor/arena.h"

namespace sconce::lite {

class Arena {
 public:
  Arena() noexcept;
  ~Arena();
  Arena(const Arena&) = delete;

  // Around a run, on the thread that runs it; results of the run before are gone by then.
  void begin();
  void end(bool succeeded) noexcept;  // what a run took that failed is forgotten

  size_t bytes() const { return bytes_; }
  size_t outside() const { return outside_; }

  // For the allocator: a block's place, or null: the host is to be asked. `ticket` is for give_back.
  struct Ticket {
    uint32_t arena = 0;  // its number in the process; 0: none, or the arena has no use for the block
    uint32_t plan = 0;
    int32_t block = -1;  // in the plan, or in what is noted
  };
  void* take(size_t bytes, Ticket& ticket) noexcept;
  // Does nothing where the arena is gone, or has another plan by now.
  static void give_back(Ticket ticket) noexcept;
  static Arena* active() noexcept;

 private:
  struct Planned {
    size_t bytes;
    uint32_t first, last;
    int64_t offset;  // -1: it has no place here
    bool lives = false;
    int32_t before = -1, behind = -1;  // others that live in the arena
  };
  Planned& planned(int32_t block) const { return plan_[static_cast<size_t>(block)]; }
  bool reserve(size_t count) noexcept;  // false when there is no memory
  void lay_out();
  void settle() noexcept;
  void free(int32_t block) noexcept;
  bool is_free(const Planned& p) const noexcept;

  enum class State : uint8_t { none, noting, noted, laid_out, planned } state_ = State::none;
  Planned* plan_ = nullptr;  // in memory of the host, since noting what a run takes must not be noted
  size_t count_ = 0, room_ = 0;
  int32_t live_ = -1;  // the first of those that live in the arena
  char* memory_ = nullptr;
  size_t bytes_ = 0, outside_ = 0;
  size_t next_ = 0;
  uint32_t now_ = 0;
  uint32_t number_, plan_number_ = 0;
  Arena* next_arena_;  // in the list of all
  int replans_ = 0;
  bool differs_ = false;
};

// While it lives, blocks of this thread are the arena's.
class ActiveArena {
 public:
  explicit ActiveArena(Arena& arena);
  ~ActiveArena();
  ActiveArena(const ActiveArena&) = delete;
  void succeeded() { succeeded_ = true; }

 private:
  bool succeeded_ = false;
};

}  // namespace sconce::lite
