// Tables that are only read for a while: nothing is kept for updates then, with the same rows as ever.
#include <thread>
#include <vector>

#include "check.h"
#include "fixtures.h"

namespace only_read {
namespace {

using recmigrate::OptimizerKind;
using recmigrate::Table;

constexpr std::size_t kDim = 4;

std::vector<float> rows_of(Table& table, const std::vector<std::int64_t>& keys) {
  std::vector<float> out(keys.size() * kDim);
  table.lookup_or_insert(keys.data(), keys.size(), out.data());
  return out;
}

void read_often(Table& table, const std::vector<std::int64_t>& keys) {
  const std::vector<float> first = rows_of(table, keys);
  for (int i = 0; i < 40; ++i) CHECK(rows_of(table, keys) == first);
}

void train(Table& table, const std::vector<std::int64_t>& keys) {
  const std::vector<float> gradients(keys.size() * kDim, 0.5F);
  (void)rows_of(table, keys);
  table.apply(keys.data(), keys.size(), gradients.data(), fixtures::update(OptimizerKind::adagrad));
}

TEST(reading_for_long_changes_no_bit_of_what_follows) {
  Table read(fixtures::config(kDim));
  Table fresh(fixtures::config(kDim));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(200, 1);
  const std::vector<std::int64_t> others = fixtures::skewed_keys(200, 2);
  read_often(read, keys);
  CHECK(rows_of(read, others) == rows_of(fresh, others));  // some are new, in the middle of the batch
  (void)rows_of(fresh, keys);
  CHECK(read.size() == fresh.size());
  for (int step = 0; step < 4; ++step) {
    train(read, keys);
    train(fresh, keys);
    train(read, others);
    train(fresh, others);
  }
  CHECK(rows_of(read, keys) == rows_of(fresh, keys) && rows_of(read, others) == rows_of(fresh, others));
}

TEST(batches_are_only_read_beside_threads_that_insert_update_and_evict) {
  Table table(fixtures::config(kDim));
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(64, 3);
  read_often(table, keys);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < 60; ++step) (void)rows_of(table, keys);
    });
  }
  threads.emplace_back([&] {
    for (unsigned step = 0; step < 20; ++step) (void)rows_of(table, fixtures::skewed_keys(64, 10 + step));
  });
  threads.emplace_back([&] {
    const std::vector<float> gradients(keys.size() * kDim, 0.5F);
    for (int step = 0; step < 4; ++step) {
      table.apply(keys.data(), keys.size(), gradients.data(), fixtures::update(OptimizerKind::adagrad));
      (void)table.evict_light(0.01F);
    }
  });
  for (std::thread& thread : threads) thread.join();
  const std::vector<float> last = rows_of(table, keys);
  CHECK(rows_of(table, keys) == last);
}

}  // namespace
}  // namespace only_read
