// Memory of batches: arrays apart from each other and on cache lines, pieces used again, safe from many threads.
#include "store/scratch.h"

#include <cstdint>
#include <thread>
#include <vector>

#include "check.h"

namespace {

using recmigrate::Scratch;

// Two arrays of `count` values each keep what is written to them.
void check_arrays(std::size_t count, std::uint32_t mark) {
  Scratch scratch(Scratch::bytes_of<std::uint32_t>(count) + Scratch::bytes_of<std::uint64_t>(count));
  auto* const narrow = scratch.take<std::uint32_t>(count);
  auto* const wide = scratch.take<std::uint64_t>(count);
  CHECK(reinterpret_cast<std::uintptr_t>(narrow) % 64 == 0 && reinterpret_cast<std::uintptr_t>(wide) % 64 == 0);
  for (std::size_t i = 0; i < count; ++i) {
    narrow[i] = mark;
    wide[i] = i;
  }
  const Scratch moved(std::move(scratch));
  for (std::size_t i = 0; i < count; ++i) CHECK(narrow[i] == mark && wide[i] == i);
}

TEST(scratch_keeps_arrays_apart) {
  for (const std::size_t count : {0, 1, 63, 5000, 30000, 200000, 3000000}) check_arrays(count, 7);
}

TEST(scratch_serves_many_threads_with_many_sizes) {
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (std::uint32_t i = 0; i < 40; ++i) check_arrays(1000 + 20000 * ((i * 7 + t) % 13), t * 100 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
