#include "sconce/lite/run_arena.h"

#include <algorithm>
#include <atomic>

#include "sconce/lite/host.h"

namespace sconce::lite {
namespace {

thread_local constinit Arena* active_arena = nullptr;
// All arenas: a block that outlives its arena must find out.
constinit std::atomic_flag list_busy = ATOMIC_FLAG_INIT;
constinit Arena* first_arena = nullptr;
constinit uint32_t arenas_made = 0;

struct Locked {
  Locked() {
    while (list_busy.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Locked() { list_busy.clear(std::memory_order_release); }
};

constexpr uint32_t kForever = ~uint32_t{0};
constexpr size_t kMostPassed = 16;  // of the noted run, that a later one may leave out between two blocks
constexpr int kMostPlans = 4;       // of a method whose runs differ; then the host is asked for every block

}  // namespace

Arena* Arena::active() noexcept { return active_arena; }

ActiveArena::ActiveArena(Arena& arena) {
  arena.begin();
  active_arena = &arena;
}
ActiveArena::~ActiveArena() {
  Arena* arena = active_arena;
  active_arena = nullptr;
  arena->end(succeeded_);
}

Arena::Arena() noexcept {
  const Locked locked;
  number_ = ++arenas_made;
  next_arena_ = first_arena;
  first_arena = this;
}

Arena::~Arena() {
  {
    const Locked locked;
    Arena** at = &first_arena;
    while (*at != this) at = &(*at)->next_arena_;
    *at = next_arena_;
  }
  // Memory in which something lives stays: a cache of the library may have taken it.
  if (memory_ && live_ < 0) give_memory(memory_);
  if (plan_) give_memory(plan_);
}

bool Arena::reserve(size_t count) noexcept {
  if (count <= room_) return true;
  auto* const more = static_cast<Planned*>(try_memory(count * sizeof(Planned)));
  if (!more) return false;
  std::copy_n(plan_, count_, more);
  if (plan_) give_memory(plan_);
  plan_ = more;
  room_ = count;
  return true;
}

void Arena::begin() {
  if (state_ == State::noted) lay_out();
  if (state_ == State::laid_out) settle();
  // Blocks of an older plan may still live: its memory is theirs, and a new plan waits for them.
  const bool may_note = live_ < 0 && replans_ < kMostPlans;
  if ((state_ == State::none || (state_ == State::planned && differs_)) && may_note) {
    count_ = 0;
    ++plan_number_;
    state_ = State::noting;
    ++replans_;
  }
  next_ = now_ = 0;
  outside_ = 0;
  differs_ = false;
}

void Arena::end(bool succeeded) noexcept {
  if (state_ != State::noting) return;
  state_ = succeeded ? State::noted : State::none;
  if (succeeded) try {
      return lay_out();
    } catch (...) {
      return;  // there was no memory for it: the next run tries again
    }
  count_ = 0;
  ++plan_number_;
  --replans_;
}

// Results live until the next run, so what lives now may be one.
void Arena::lay_out() {
  const std::unique_ptr<executor::Lifetime[]> buffers(new executor::Lifetime[count_]);
  for (size_t i = 0; i < count_; ++i) {
    const Planned& p = plan_[i];
    buffers[i] = {p.bytes, p.first, p.last};
  }
  const size_t total = executor::lay_out({buffers.get(), count_});
  char* memory = total == 0 ? nullptr : static_cast<char*>(take_memory(total));
  if (memory_) give_memory(memory_);
  memory_ = memory;
  bytes_ = total;
  for (size_t i = 0; i < count_; ++i) plan_[i].offset = buffers[i].offset;
  state_ = State::laid_out;
}

// What still lives before the next run was no result, and is not the run's: it stays where it is.
void Arena::settle() noexcept {
  for (size_t i = 0; i < count_; ++i) {
    Planned& p = plan_[i];
    if (p.lives) p.offset = -1;
    p.lives = false;
  }
  ++plan_number_;
  state_ = State::planned;
}

bool Arena::is_free(const Planned& p) const noexcept {
  for (int32_t i = live_; i >= 0; i = planned(i).behind) {
    const Planned& other = planned(i);
    if (p.offset < other.offset + static_cast<int64_t>(other.bytes) &&
        other.offset < p.offset + static_cast<int64_t>(p.bytes))
      return false;
  }
  return true;
}

void* Arena::take(size_t bytes, Ticket& ticket) noexcept {
  if (state_ == State::noting) {
    ++outside_;
    // Where it is not noted, the next run differs from the plan.
    if (count_ == room_ && !reserve(count_ == 0 ? 256 : 2 * count_)) return nullptr;
    plan_[count_] = {bytes, now_++, kForever, -1, true};
    ticket = {number_, plan_number_, static_cast<int32_t>(count_++)};
    return nullptr;
  }
  if (state_ != State::planned) return nullptr;
  // Blocks that only the noted run took, for what is made once, are passed over.
  size_t n = next_;
  const size_t end = std::min(count_, next_ + kMostPassed);
  while (n < end && plan_[n].bytes != bytes) ++n;
  Planned* p = n < end ? &plan_[n] : nullptr;
  next_ = p ? n + 1 : next_;
  if (!p || p->lives || (p->offset >= 0 && !is_free(*p))) {
    differs_ = true;
    ++outside_;
    return nullptr;
  }
  if (p->offset < 0) {
    ++outside_;
    return nullptr;
  }
  p->lives = true;
  ticket = {number_, plan_number_, static_cast<int32_t>(n)};
  p->before = -1;
  p->behind = live_;
  if (live_ >= 0) planned(live_).before = ticket.block;
  live_ = ticket.block;
  return memory_ + p->offset;
}

void Arena::give_back(Ticket ticket) noexcept {
  if (ticket.arena == 0) return;
  Arena* arena = active_arena;
  if (!arena || arena->number_ != ticket.arena) {
    const Locked locked;
    for (arena = first_arena; arena && arena->number_ != ticket.arena;) arena = arena->next_arena_;
  }
  if (arena && arena->plan_number_ == ticket.plan) arena->free(ticket.block);
}

void Arena::free(int32_t block) noexcept {
  Planned& p = planned(block);
  p.lives = false;
  if (state_ == State::noting) p.last = now_++;
  if (state_ != State::planned) return;
  (p.before < 0 ? live_ : planned(p.before).behind) = p.behind;
  if (p.behind >= 0) planned(p.behind).before = p.before;
}

}  // namespace sconce::lite
