// Copies of single rows, for the loops that take most of a step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace recmigrate {

// From this many columns on, the rows of a batch are read and written in the order of its ids: shard by shard, each
// thread would come back to each of their pages for every shard.
inline constexpr std::size_t kWide = 32;

inline void prefetch_row(const float* row, std::size_t floats) noexcept {
  // The hardware prefetcher takes over from the fourth line on.
  const std::size_t lines = std::min<std::size_t>((floats + 15) / 16, 4);
  const auto at = reinterpret_cast<std::uintptr_t>(row);  // null is harmless
  for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(reinterpret_cast<const void*>(at + line * 64));
}

// A copy of fixed size is a few vector moves; calling memcpy for a short row costs more than the copy.
inline void copy_row(float* to, const float* from, std::size_t dim) noexcept {
  switch (dim) {
    case 4:
      std::memcpy(to, from, 4 * sizeof(float));
      break;
    case 8:
      std::memcpy(to, from, 8 * sizeof(float));
      break;
    case 16:
      std::memcpy(to, from, 16 * sizeof(float));
      break;
    case 32:
      std::memcpy(to, from, 32 * sizeof(float));
      break;
    case 64:
      std::memcpy(to, from, 64 * sizeof(float));
      break;
    default:
      std::memcpy(to, from, dim * sizeof(float));
  }
}

// The same for many rows, which may not overlap `to`, [count, dim].
inline void copy_rows(float* __restrict to, const float* const* rows, std::size_t count, std::size_t dim) noexcept {
  const auto copy = [&](auto width) {
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * width, rows[i], width * sizeof(float));
  };
  switch (dim) {
    case 4:
      return copy(std::integral_constant<std::size_t, 4>());
    case 8:
      return copy(std::integral_constant<std::size_t, 8>());
    case 16:
      return copy(std::integral_constant<std::size_t, 16>());
    default:
      copy(dim);
  }
}

}  // namespace recmigrate
