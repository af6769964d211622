// Memory runs out at every allocation in turn: each time the call throws std::bad_alloc and the table is as before.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <numeric>
#include <vector>

#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace {

// Allocations that still succeed; negative when none is to fail.
std::atomic<long> allowance{-1};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (allowance >= 0 && allowance-- == 0) {
    allowance = -1;
    throw std::bad_alloc();
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace {

using recmigrate::OptimizerKind;
using recmigrate::Table;

// Few rows to a chunk, so that every call needs new ones.
constexpr std::size_t kWide = 256;

template <typename Call>
bool fails_at(long allocation, Call&& call) {
  allowance = allocation;
  try {
    call();
  } catch (const std::bad_alloc&) {
    return true;
  }
  allowance = -1;
  return false;
}

// Neither the rows nor the way to find them has changed. (Keys that the call was to insert may be there.)
bool unchanged(Table& table, const fixtures::Snapshot& before) {
  std::vector<float> found(before.values.size());
  table.lookup(before.keys.data(), before.keys.size(), found.data());
  return found == before.values;
}

// Each attempt has a table of its own: what an attempt reserved before it failed would spare the next one allocations.
fixtures::Snapshot trained_rows() {
  Table table(fixtures::config(kWide));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(600, 1);
  const std::vector<float> grads = fixtures::gradients(keys.size() * kWide, 1);
  // Trained, so that a row that cannot be found any more is not mistaken for its initial values.
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::sgd));
  return fixtures::snapshot(table);
}

// Repeats `call` on such a table with the n-th allocation failing, n = 0, 1, … until it succeeds.
template <typename Call>
void survives_every_failure(Call&& call) {
  recmigrate::parallel::set_thread_count(2);
  const fixtures::Snapshot before = trained_rows();
  long failures = -1;
  for (bool failed = true; failed; ++failures) {
    Table table(fixtures::config(kWide));
    fixtures::import_rows(table, before);
    failed = fails_at(failures + 1, [&] { call(table); });
    if (failed) {
      CHECK(unchanged(table, before));
      call(table);
    }
    CHECK(!fixtures::same_rows(fixtures::snapshot(table), before));
  }
  CHECK(failures > 3);
}

TEST(no_memory_while_inserting_leaves_the_table_as_it_was) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(2400, 2);
  std::vector<float> out(keys.size() * kWide);
  survives_every_failure([&](Table& table) { table.lookup_or_insert(keys.data(), keys.size(), out.data()); });
}

TEST(no_memory_while_updating_leaves_the_rows_as_they_were) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(2400, 3);
  const std::vector<float> grads = fixtures::gradients(keys.size() * kWide, 3);
  survives_every_failure([&](Table& table) {
    table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
  });
}

TEST(no_memory_while_counting_steps_leaves_the_rows_as_they_were) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(10, 3);
  const std::vector<float> grads = fixtures::gradients(keys.size() * kWide, 3);
  auto update = fixtures::update(OptimizerKind::keras_adam);
  update.hyper = {0.1F, 0.1F, 0.001F, 1e-7F};
  survives_every_failure([&](Table& table) { table.apply(keys.data(), keys.size(), grads.data(), update); });
}

TEST(no_memory_while_importing_leaves_the_table_as_it_was) {
  Table source(fixtures::config(kWide));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(2400, 4);
  const std::vector<float> grads = fixtures::gradients(keys.size() * kWide, 3);
  source.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::lazy_adam));
  const auto rows = fixtures::snapshot(source);
  survives_every_failure([&](Table& table) { fixtures::import_rows(table, rows); });
}

// Rows that were to become dense are removed before the next attempt, which makes fewer of them dense.
TEST(no_memory_while_rows_become_dense_leaves_all_shards_alike) {
  recmigrate::parallel::set_thread_count(2);
  std::vector<std::int64_t> keys(9000);
  std::iota(keys.begin(), keys.end(), 0);
  constexpr std::size_t kKept = 6000;
  const std::vector<std::int64_t> later(keys.begin() + 6500, keys.begin() + 8500);
  const std::vector<float> grads = fixtures::gradients(keys.size(), 1);
  bool failed = true;
  long at = 0;
  for (; failed; at += 7) {
    Table table(fixtures::config(1));
    table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::sgd));
    std::vector<float> out(keys.size());
    failed = fails_at(at, [&] { table.lookup_or_insert(keys.data(), 1, out.data()); });
    (void)table.remove(keys.data() + kKept, keys.size() - kKept);
    table.lookup_or_insert(keys.data(), 1, out.data());
    table.apply(later.data(), later.size(), grads.data(), fixtures::update(OptimizerKind::sgd));
    const fixtures::Snapshot rows = fixtures::snapshot(table);
    CHECK(rows.keys.size() == kKept + later.size() && unchanged(table, rows));
  }
  CHECK(at > 70);
}

}  // namespace
