// Batches prepared ahead: taken once, by exactly their ids, and a table that finds them computes the same.
#include "store/lookup/prepared.h"

#include <numeric>
#include <thread>

#include "check.h"
#include "fixtures.h"

namespace {

using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::prepared::prepare;
using recmigrate::prepared::take;

std::vector<std::int64_t> ids_from(std::int64_t first, std::size_t count) {
  std::vector<std::int64_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = first + static_cast<std::int64_t>(i * i % 97);
  return ids;
}

TEST(prepared_batches_are_taken_once_and_by_all_their_ids) {
  const std::vector<std::int64_t> ids = ids_from(3, 5000);
  prepare(ids.data(), ids.size());
  std::vector<std::int64_t> other = ids;
  other.back() += 1;
  CHECK(!take(other.data(), other.size()));
  CHECK(!take(ids.data(), ids.size() - 1));
  const auto batch = take(ids.data(), ids.size());
  CHECK(batch && batch->count() == ids.size() && batch->distinct() == 49);
  CHECK(!take(ids.data(), ids.size()));
}

TEST(prepared_batches_that_nobody_takes_are_forgotten) {
  std::vector<std::int64_t> last;
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(recmigrate::prepared::kMostBatches); ++i) {
    last = ids_from(1000 * i, 10);
    prepare(last.data(), last.size());
  }
  const std::vector<std::int64_t> first = ids_from(0, 10);
  CHECK(!take(first.data(), first.size()));
  CHECK(take(last.data(), last.size()));
  const std::vector<std::int64_t> large(recmigrate::prepared::kMostIds + 1);
  prepare(large.data(), large.size());
  CHECK(!take(large.data(), large.size()));
  for (std::int64_t i = 1; i < static_cast<std::int64_t>(recmigrate::prepared::kMostBatches); ++i) {
    const std::vector<std::int64_t> ids = ids_from(1000 * i, 10);
    CHECK(take(ids.data(), ids.size()));
  }
}

TEST(prepared_batches_pass_between_threads) {
  std::vector<std::thread> threads;
  for (std::int64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (std::int64_t i = 0; i < 50; ++i) {
        const std::vector<std::int64_t> ids = ids_from(i % 3, 300);
        prepare(ids.data(), ids.size());
        const auto batch = take(ids.data(), ids.size());
        if (batch) CHECK(batch->count() == ids.size());
        static_cast<void>(thread);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(a_table_computes_the_same_from_prepared_batches) {
  for (const OptimizerKind kind : {OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    Table one(fixtures::config());
    Table two(fixtures::config());
    for (std::uint64_t step = 0; step < 6; ++step) {
      const std::vector<std::int64_t> keys = fixtures::skewed_keys(9000, static_cast<unsigned>(step % 4));
      const std::vector<float> grads = fixtures::gradients(keys.size() * 4, static_cast<unsigned>(step));
      std::vector<float> rows(keys.size() * 4);
      std::vector<float> same(rows.size());
      prepare(keys.data(), keys.size());
      one.lookup_or_insert(keys.data(), keys.size(), rows.data());
      CHECK(!take(keys.data(), keys.size()));
      two.lookup_or_insert(keys.data(), keys.size(), same.data());
      CHECK(rows == same);
      one.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
      two.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
    }
    CHECK(fixtures::sorted_keys(one) == fixtures::sorted_keys(two));
    const std::vector<std::int64_t> keys = fixtures::sorted_keys(one);
    std::vector<float> rows(keys.size() * 4);
    std::vector<float> same(rows.size());
    one.lookup(keys.data(), keys.size(), rows.data());
    two.lookup(keys.data(), keys.size(), same.data());
    CHECK(rows == same);
  }
}

}  // namespace
