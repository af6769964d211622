// De-duplication of a batch: distinct keys by shard, first positions and numbers, for any number of threads.
#include "store/lookup/batch.h"

#include <algorithm>
#include <map>
#include <random>

#include "check.h"
#include "store/hash.h"

namespace {

using recmigrate::Batch;
using recmigrate::IdKind;
using recmigrate::kShards;

std::vector<std::int64_t> random_keys(std::mt19937_64& random, std::size_t count) {
  std::vector<std::int64_t> keys(count);
  for (std::int64_t& key : keys) {
    key = static_cast<std::int64_t>(random() % 7 == 0 ? random() % 40000 : random() % 50) - 25;
  }
  return keys;
}

// Every id is mentioned once, in input order within its part, and stands for its own key.
std::size_t check_part(const Batch& batch, std::size_t part, const std::vector<std::int64_t>& keys) {
  std::uint32_t next = 0;
  for (std::size_t i = batch.begin(part); i < batch.begin(part) + batch.ids(part); ++i) {
    const std::int64_t key = keys[batch.positions()[i]];
    CHECK(recmigrate::shard_of(recmigrate::hash_key(key)) == part);
    CHECK(batch.keys()[batch.begin(part) + batch.numbers()[i]] == key);
    CHECK(i == batch.begin(part) || batch.positions()[i] > batch.positions()[i - 1]);
    CHECK(batch.numbers()[i] <= next);
    if (batch.numbers()[i] == next) CHECK(batch.firsts()[batch.begin(part) + next++] == batch.positions()[i]);
  }
  CHECK(next == batch.distinct(part));
  return next;
}

TEST(batch_equals_a_map_for_any_thread_count) {
  std::mt19937_64 random(5);
  for (const std::size_t count : {0, 1, 100, 4096, 4097, 30000, 100000}) {
    const std::vector<std::int64_t> keys = random_keys(random, count);
    std::map<std::int64_t, int> oracle;
    for (const std::int64_t key : keys) ++oracle[key];
    for (const std::size_t threads : {1, 2, 3, 8}) {
      recmigrate::parallel::set_thread_count(threads);
      const Batch batch(keys.data(), count, IdKind::key, [](Batch&, std::size_t) {});
      std::size_t distinct = 0;
      for (std::size_t part = 0; part < kShards; ++part) distinct += check_part(batch, part, keys);
      CHECK(distinct == oracle.size() && batch.distinct() == distinct);
      std::vector<std::uint32_t> positions(batch.positions(), batch.positions() + count);
      std::sort(positions.begin(), positions.end());
      for (std::size_t i = 0; i < count; ++i) CHECK(positions[i] == i);
    }
  }
}

TEST(few_ids_are_one_part) {
  std::mt19937_64 random(6);
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{1}, std::size_t{100}, recmigrate::kFew, recmigrate::kFew + 1}) {
    std::vector<std::int64_t> keys(count);
    for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % 1500);
    std::uint64_t shards = 0;
    std::map<std::int64_t, std::uint32_t> firsts;
    for (std::size_t i = 0; i < count; ++i) {
      shards |= std::uint64_t{1} << recmigrate::shard_of(recmigrate::hash_key(keys[i]));
      firsts.emplace(keys[i], static_cast<std::uint32_t>(i));
    }
    const auto ahead = [](const Batch&, std::size_t, const std::int64_t*, std::size_t) {};
    std::size_t parts = 0;
    const Batch batch(
        keys.data(), count, IdKind::key, ahead, [&](Batch&, std::size_t) { ++parts; }, recmigrate::Division::few);
    CHECK(batch.distinct() == firsts.size());
    CHECK(batch.undivided() == (count != 0 && count <= recmigrate::kFew));
    if (!batch.undivided()) continue;
    CHECK(parts == 1 && batch.ids(0) == count && batch.shards(0) == shards);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(batch.positions()[i] == i && batch.keys()[batch.numbers()[i]] == keys[i]);
      CHECK(batch.firsts()[batch.numbers()[i]] == firsts[keys[i]]);
    }
    const Batch once = batch.distinct_only();
    CHECK(once.undivided() && once.count() == firsts.size() && once.shards(0) == shards);
  }
}

TEST(batch_of_distinct_keys_grows_its_numbering) {
  std::vector<std::int64_t> keys(200000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i * 4096);
  const Batch batch(keys.data(), keys.size(), IdKind::key, [](Batch&, std::size_t) {});
  CHECK(batch.distinct() == keys.size() && batch.first_repeated() == keys.size());
  keys[150000] = keys[7];
  keys[199999] = keys[8];
  const Batch twice(keys.data(), keys.size(), IdKind::key, [](Batch&, std::size_t) {});
  CHECK(twice.distinct() == keys.size() - 2 && twice.first_repeated() == 150000);
}

}  // namespace
