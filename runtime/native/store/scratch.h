// Memory for the duration of one batch: large blocks are in huge pages and are reused, so that writing to many places
// in them at once costs neither page walks nor page faults.
#pragma once

#include <cstddef>

#include "store/rows/memory.h"

namespace recmigrate {

// Allocates arrays one after the other from one block of memory, which is returned for the next batch at the end.
class Scratch {
 public:
  // Space for `bytes`; each array is rounded up to a cache line. Throws std::bad_alloc.
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(Scratch&& other) noexcept = default;  // leaves no memory, so that the other's destructor does nothing
  Scratch& operator=(Scratch&&) = delete;

  // `count` values, uninitialized.
  template <typename T>
  [[nodiscard]] T* take(std::size_t count) noexcept {
    void* const array = next_;
    next_ += bytes_of<T>(count);
    return static_cast<T*>(array);
  }

  // Bytes for an array of `count` values.
  template <typename T>
  [[nodiscard]] static std::size_t bytes_of(std::size_t count) noexcept {
    return (count * sizeof(T) + kLine - 1) / kLine * kLine;
  }

 private:
  static constexpr std::size_t kLine = 64;

  Region memory_;
  std::size_t size_;
  char* next_;
};

}  // namespace recmigrate
