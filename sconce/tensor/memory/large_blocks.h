// Best-fit allocation of large blocks: regions from the system are cut into pieces. A free piece serves smaller blocks,
// too, and neighbours that are free become one piece again, so that a program whose sizes vary holds little more than
// it uses. Not locked: the allocator does that.
#pragma once

#include <cstddef>
#include <unordered_map>

namespace sconce {

class LargeBlocks {
 public:
  // The smallest free piece that has `bytes`, cut to that size unless the rest would be small; null if there is none,
  // or only some that are several times larger. Throws std::bad_alloc.
  void* take(size_t bytes);
  // A fresh region, in use as a whole. Throws std::bad_alloc.
  void add(void* data, size_t bytes);
  // Frees a piece that take or add gave.
  void give_back(void* data) noexcept;

  struct Region {
    void* data;
    size_t bytes;
  };
  // Forgets the region that has been free as a whole for longest; null if there is none.
  Region remove_oldest() noexcept;
  size_t free_bytes() const { return free_bytes_; }

 private:
  struct Piece {
    char* data;
    size_t bytes;
    Piece *before = nullptr, *after = nullptr;  // neighbours in the region
    Piece *older = nullptr, *newer = nullptr;   // in the list of free pieces
    bool is_free = false;
  };
  void link(Piece* p) noexcept;
  void unlink(Piece* p) noexcept;
  // p and the piece behind it become one.
  static void absorb(Piece* p) noexcept;

  std::unordered_map<void*, Piece*> used_;
  Piece *oldest_ = nullptr, *newest_ = nullptr;
  size_t free_bytes_ = 0;
};

}  // namespace sconce
