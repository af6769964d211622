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

  // The same for a few rows, beside the other blocks, so that small tables fill their pages. At most kBlockBytes.
  [[nodiscard]] float* block(std::size_t bytes);
  static constexpr std::size_t kBlockBytes = std::size_t{64} << 10;

 private:
  // Bytes from `next` on.
  struct Free {
    char* next = nullptr;
    std::size_t left = 0;

    [[nodiscard]] float* take(std::size_t bytes) noexcept;
  };

  const std::size_t chunk_bytes_;
  std::mutex mutex_;
  std::vector<Region> extents_;
  std::size_t large_ = 0;  // extents of chunks
  Free chunks_;
  Free blocks_;
};

}  // namespace recmigrate
