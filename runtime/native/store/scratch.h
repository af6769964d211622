// Memory for the length of one batch: large pieces lie in huge pages and are used again, so that writing to many places
// of them at once costs neither page walks nor page faults.
#pragma once

#include <cstddef>

#include "store/rows/memory.h"

namespace recmigrate {

// Hands out arrays one after the other from one piece of memory, which goes back for the next batch at the end.
class Scratch {
 public:
  // Room for `bytes`, each array rounded up to a cache line. Throws std::bad_alloc.
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(Scratch&& other) noexcept = default;  // leaves no memory, so the destructor of the other has nothing to do
  Scratch& operator=(Scratch&&) = delete;

  // `count` values, not initialised.
  template <typename T>
  [[nodiscard]] T* take(std::size_t count) noexcept {
    void* const array = next_;
    next_ += bytes_of<T>(count);
    return static_cast<T*>(array);
  }

  // What an array of `count` values takes.
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
