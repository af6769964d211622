// Rows that lie as a matrix has them: where they are, when they begin to be there, and that a table with them holds
// what one without them holds.
#include "store/rows/dense_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "fixtures.h"

namespace dense_rows {
namespace {

using fixtures::insert;
using fixtures::same_tables;
using fixtures::Snapshot;
using fixtures::train;
using recmigrate::dense_limit;
using recmigrate::DenseRows;
using recmigrate::kAbsent;
using recmigrate::kDense;
using recmigrate::kShards;
using recmigrate::OptimizerKind;
using recmigrate::Slot;
using recmigrate::Table;
using recmigrate::TableConfig;

constexpr std::size_t kDim = 4;

TEST(of_consecutive_keys_each_shard_has_one) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t number = i < 500 ? static_cast<std::uint64_t>(i) : random() >> recmigrate::kShardBits;
    std::vector<bool> seen(kShards);
    for (std::size_t s = 0; s < kShards; ++s) {
      const std::int64_t key = recmigrate::key_in_shard(s, number);
      CHECK(static_cast<std::uint64_t>(key) / kShards == number);
      CHECK(recmigrate::shard_of_key(key) == s && recmigrate::shard_of(recmigrate::hash_key(key)) == s);
      seen[static_cast<std::uint64_t>(key) % kShards] = true;
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](bool one) { return one; }));
  }
}

// Ids that are all multiples of a number, or differ in their upper bits alone.
TEST(keys_with_a_common_divisor_are_spread_over_the_shards) {
  for (const std::int64_t factor : {std::int64_t{64}, std::int64_t{100}, std::int64_t{4096}, std::int64_t{1} << 32}) {
    std::vector<int> counts(kShards);
    constexpr int kKeys = 100;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(kKeys * kShards); ++i) {
      ++counts[recmigrate::shard_of_key(i * factor)];
    }
    CHECK(*std::min_element(counts.begin(), counts.end()) > kKeys / 2);
    CHECK(*std::max_element(counts.begin(), counts.end()) < 2 * kKeys);
  }
}

TEST(dense_rows_keep_what_is_written_while_their_limit_rises) {
  for (const bool whole : {true, false}) {
    std::mt19937_64 random(11);
    constexpr std::size_t kShard = 7;
    recmigrate::DenseMemory memory;
    DenseRows rows(2, memory, kShard, whole);
    std::map<std::int64_t, float> oracle;
    CHECK(rows.keys() == 0 && !rows.covers(0));
    for (const std::uint64_t limit : {3U, 90U, 1000U, 1024U, 1025U, 5000U, 5001U, 20000U}) {
      rows.prepare(limit);
      CHECK(rows.limit() < limit);
      rows.raise(limit);
      for (int i = 0; i < 600; ++i) {
        const std::uint64_t number = random() % limit;
        const std::int64_t key = whole ? static_cast<std::int64_t>(number) : recmigrate::key_in_shard(kShard, number);
        CHECK(rows.covers(key) && rows.key_of(rows.number_of(key)) == key);
        if (oracle.count(key) != 0) {
          CHECK(rows.erase(key) == (kDense | static_cast<Slot>(number)));
          oracle.erase(key);
        } else {
          CHECK(rows.find(key) == kAbsent && rows.erase(key) == kAbsent);
          rows.reserve(key);
          const Slot slot = rows.insert(key);
          rows.row(slot & ~kDense)[1] = oracle[key] = static_cast<float>(i);
        }
      }
      CHECK(rows.size() == oracle.size());
      std::size_t visited = 0;
      rows.for_each([&](std::int64_t key, Slot slot) {
        CHECK(rows.find(key) == slot && rows.row(slot & ~kDense)[1] == oracle.at(key));
        ++visited;
      });
      CHECK(visited == oracle.size());
      CHECK(rows.bytes() <= limit * 8 + limit / 8 + 8);
    }
  }
}

TEST(rows_are_dense_as_far_as_a_matrix_is_smaller_than_an_index) {
  std::vector<std::uint64_t> every(100);
  std::iota(every.begin(), every.end(), 0);
  CHECK(dense_limit(every, 0, 0, 128, 0) == 100);
  std::vector<std::uint64_t> second(100);
  for (std::uint64_t i = 0; i < 100; ++i) second[i] = 2 * i;
  CHECK(dense_limit(second, 0, 0, 8, 0) == 199);  // a row and its key in an index take more than two rows of 8 bytes
  CHECK(dense_limit(second, 0, 0, 128, 0) == 0);
  CHECK(dense_limit(second, 0, 0, 128, 150) == 149);  // where memory does not count
  std::vector<std::uint64_t> far = every;
  far.push_back(std::uint64_t{1} << 57);
  CHECK(dense_limit(far, 0, 0, 64, 0) == 100);
  CHECK(dense_limit({}, 50, 50, 64, 0) == 50);
  CHECK(dense_limit({50, 51, 52, 53, 54}, 50, 50, 64, 0) == 55);
  CHECK(dense_limit({50, 51, 52, 53, 54}, 50, 20, 64, 0) == 50);  // most of its rows were removed
  CHECK(dense_limit({std::uint64_t{1} << 57}, 0, 0, 64, ~std::uint64_t{0}) == 0);
}

// A table that has a limit has no dense rows.
TableConfig without_dense(TableConfig config) {
  config.max_bytes = std::int64_t{1} << 40;
  return config;
}

// Most keys are numbers of a vocabulary, some are hashes.
std::vector<std::int64_t> mixed_keys(std::size_t count, std::int64_t vocabulary, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> keys(count);
  for (std::int64_t& key : keys) {
    const auto number = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(vocabulary));
    key = random() % 10 == 0 ? static_cast<std::int64_t>(recmigrate::mix(static_cast<std::uint64_t>(number))) : number;
  }
  return keys;
}

TEST(a_table_with_dense_rows_holds_what_one_without_them_holds) {
  for (const OptimizerKind kind : {OptimizerKind::adagrad, OptimizerKind::adam, OptimizerKind::lazy_adam}) {
    for (const auto values : {recmigrate::ValueType::float32, recmigrate::ValueType::bfloat16}) {
      TableConfig config = fixtures::config(kDim);
      config.values = values;
      config.padding_keys = {3, 5};
      Table own(config);
      Table other(without_dense(config));
      const auto both = [&](const auto& body) {
        body(own);
        body(other);
      };
      for (unsigned step = 0; step < 36; ++step) {
        const std::vector<std::int64_t> keys = mixed_keys(step % 9 == 8 ? 4000 : 700, 200 * (1 + step), step);
        CHECK(insert(own, keys) == insert(other, keys));
        both([&](Table& table) { train(table, keys, kind, step); });
        if (step % 5 == 0) {
          const std::vector<std::int64_t> gone = mixed_keys(100, 200 * (1 + step), step + 1);
          both([&](Table& table) { (void)table.remove(gone.data(), gone.size()); });
        }
        if (step % 7 == 1)
          both([](Table& table) { (void)table.remove_if([](auto key, auto*) { return key % 9 == 0; }); });
        if (step % 6 == 1) CHECK(same_tables(own, other));
        if (step % 11 == 10) both([](Table& table) { fixtures::import_rows(table, fixtures::snapshot(table)); });
      }
      CHECK(own.size() > 5000 && same_tables(own, other));
      CHECK(own.bytes() + 5 * own.size() < other.bytes());
    }
  }
}

// The rows of a variable that a table replaces, and those that it gets one by one.
TEST(a_table_of_all_numbers_takes_the_memory_of_a_matrix) {
  for (const std::int64_t dim : {1, 16}) {
    for (const std::int64_t count : {1000, 70001}) {
      std::vector<std::int64_t> keys(static_cast<std::size_t>(count));
      std::iota(keys.begin(), keys.end(), 0);
      std::shuffle(keys.begin(), keys.end(), std::mt19937_64(5));
      TableConfig config = fixtures::config(dim);
      config.reserve = count;
      Table grown(config);
      for (std::size_t at = 0; at < keys.size(); at += 100) {
        (void)insert(grown, {keys.data() + at, keys.data() + std::min(at + 100, keys.size())});
      }
      train(grown, keys, OptimizerKind::adagrad, 1);
      Table restored(fixtures::config(dim));
      fixtures::import_rows(restored, fixtures::snapshot(grown));
      const double matrix = static_cast<double>(2 * dim * count) * sizeof(float);
      for (const Table* const table : {&grown, &restored}) {
        // Each shard has two empty lines of an index at least.
        CHECK(static_cast<double>(table->bytes()) < 1.05 * matrix + 256.0 * kShards);
      }
      CHECK(same_tables(grown, restored));
    }
  }
}

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> keys(static_cast<std::size_t>(end - begin));
  std::iota(keys.begin(), keys.end(), begin);
  return keys;
}

// New ids are ever larger, old ones are removed: there are as many rows as before.
TEST(rows_that_take_the_place_of_removed_ones_take_no_more_memory) {
  constexpr std::int64_t kRows = 6000;
  Table own(fixtures::config(kDim));
  Table other(without_dense(fixtures::config(kDim)));
  for (Table* const table : {&own, &other}) {
    for (std::int64_t begin = 0; begin < 20 * kRows; begin += kRows) {
      for (std::int64_t at = begin; at < begin + kRows; at += 500) (void)insert(*table, range(at, at + 500));
      const std::vector<std::int64_t> old = range(begin - kRows, begin);
      (void)table->remove(old.data(), old.size());
      CHECK(table->size() == kRows);
    }
  }
  CHECK(same_tables(own, other));
  CHECK(own.bytes() < 2 * other.bytes());  // at worst, the matrix is given up, and the rows are beside it
}

// Most ids are hashes: their rows wait for no others.
TEST(rows_that_stay_in_the_index_stay_where_they_are) {
  TableConfig config = fixtures::config(kDim);
  config.reserve = 100000;
  Table table(config);
  std::vector<std::int64_t> hashes(20000);
  for (std::size_t i = 0; i < hashes.size(); ++i) hashes[i] = static_cast<std::int64_t>(recmigrate::mix(i + 1));
  (void)insert(table, hashes);
  const auto places = [&table](const std::vector<std::int64_t>& keys) {
    std::vector<const float*> rows(keys.size());
    table.view(keys.data(), keys.size(), false, [&](const Table::View& view) {
      for (std::size_t at = 0; at < keys.size(); at += 32) {
        float scratch[32 * kDim];
        view.read(at, std::min<std::size_t>(32, keys.size() - at), scratch, &rows[at]);
      }
    });
    return rows;
  };
  const std::vector<std::int64_t> numbers = range(0, 2000);
  (void)insert(table, numbers);
  const auto before = places(numbers);
  const auto there = places(hashes);
  for (std::int64_t at = 2000; at < 6000; at += 1000) (void)insert(table, range(at, at + 1000));
  CHECK(places(numbers) != before && places(hashes) == there);
}

TEST(a_small_table_of_all_numbers_takes_the_memory_of_a_matrix) {
  constexpr std::int64_t kRows = 1500;
  Table table(fixtures::config(1));
  for (std::int64_t at = 0; at < kRows; at += 100) (void)insert(table, range(at, at + 100));
  const std::size_t empty = Table(fixtures::config(1)).bytes();
  Table restored(fixtures::config(1));
  fixtures::import_rows(restored, fixtures::snapshot(table));
  CHECK(table.bytes() < empty + kRows * sizeof(float) * 2);  // the latest rows are in the index
  CHECK(restored.bytes() < empty + kRows * sizeof(float) * 5 / 4);
}

TEST(keys_that_are_no_numbers_take_no_dense_rows) {
  Table own(fixtures::config(kDim));
  Table other(without_dense(fixtures::config(kDim)));
  for (unsigned step = 0; step < 20; ++step) {
    std::vector<std::int64_t> keys = mixed_keys(500, 1 << 20, step);
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(recmigrate::mix(static_cast<std::uint64_t>(key)));
    CHECK(insert(own, keys) == insert(other, keys));
  }
  CHECK(own.bytes() <= other.bytes() + kShards * 1024);
}

TEST(rows_become_dense_beside_threads_that_use_and_save_them) {
  for (int round = 0; round < 3; ++round) {
    Table table(fixtures::config(kDim));
    std::vector<std::int64_t> hot(64);
    std::iota(hot.begin(), hot.end(), 0);
    train(table, hot, OptimizerKind::adagrad, 1);
    std::vector<std::thread> threads;
    for (std::int64_t i = 0; i < 2; ++i) {
      threads.emplace_back([&table, i] {
        for (std::int64_t at = 0; at < 60; ++at) {
          std::vector<std::int64_t> keys(100);
          std::iota(keys.begin(), keys.end(), 100 * (2 * at + i));
          (void)insert(table, keys);
        }
      });
    }
    threads.emplace_back([&] {
      for (unsigned step = 0; step < 60; ++step) {
        (void)insert(table, hot);
        train(table, hot, OptimizerKind::adagrad, step);
      }
    });
    threads.emplace_back([&] {
      for (int step = 0; step < 15; ++step) {
        const Snapshot now = fixtures::snapshot(table);
        CHECK(now.keys.size() >= hot.size() && now.values.size() == now.keys.size() * kDim);
        std::vector<std::int64_t> keys = now.keys;
        std::sort(keys.begin(), keys.end());
        CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
      }
    });
    for (std::thread& thread : threads) thread.join();
    CHECK(table.size() == 12000);
    std::vector<float> initial(kDim);
    table.initial_row(11234, initial.data());
    CHECK(insert(table, {11234}) == initial);
  }
}

}  // namespace
}  // namespace dense_rows
