// Memory for rows and indexes: large blocks come from the system in huge pages, so that a random access needs no page
// walk.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace recmigrate {

struct FreeRegion {
  std::size_t bytes = 0;  // 0: from operator new
  void operator()(void* memory) const noexcept;
};
using Region = std::unique_ptr<void, FreeRegion>;

// Zeroed memory, aligned to a cache line; from 2 MiB on, in huge pages as far as they are filled. Throws
// std::bad_alloc.
[[nodiscard]] Region allocate_region(std::size_t bytes);

// Allocates chunks of one size that live as long as the arena. Memory is used only when it is touched: a chunk of a
// small table costs one page. Safe for many threads.
class Arena {
 public:
  explicit Arena(std::size_t chunk_bytes);

  // Zeroed, aligned to a cache line. Throws std::bad_alloc.
  [[nodiscard]] float* chunk();

 private:
  const std::size_t chunk_bytes_;
  std::mutex mutex_;
  std::vector<Region> extents_;
  char* next_ = nullptr;
  std::size_t left_ = 0;  // bytes from next_ on
};

}  // namespace recmigrate
