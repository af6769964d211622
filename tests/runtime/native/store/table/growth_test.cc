// Tables whose indexes are in the middle of growing: a few keys at a time come, go and are saved, alone and from
// threads.
#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace growth {
namespace {

using fixtures::Snapshot;
using recmigrate::Table;

constexpr std::int64_t kFirst = 60000;
// A tenth more, in steps: a third of the shards grow meanwhile, each in the time of 3 % of its keys.
constexpr std::int64_t kLast = 66000;
constexpr std::int64_t kStep = 100;

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> keys;
  for (std::int64_t key = begin; key < end; ++key) keys.push_back(key);
  return keys;
}

std::vector<float> insert(Table& table, const std::vector<std::int64_t>& keys) {
  std::vector<float> rows(keys.size() * table.dim());
  table.lookup_or_insert(keys.data(), keys.size(), rows.data());
  return rows;
}

// Each row is the initial row of its key, as in a table of its own.
void expect_rows(Table& table, const std::set<std::int64_t>& keys) {
  const Snapshot found = fixtures::sorted(fixtures::snapshot(table), table.dim());
  CHECK((found.keys == std::vector<std::int64_t>(keys.begin(), keys.end())));
  std::vector<float> initial(table.dim());
  for (std::size_t i = 0; i < found.keys.size(); i += 97) {
    table.initial_row(found.keys[i], initial.data());
    CHECK(std::equal(initial.begin(), initial.end(), &found.values[i * table.dim()]));
  }
  std::vector<std::int64_t> asked = range(0, kLast);
  const std::unique_ptr<bool[]> there(new bool[asked.size()]);
  table.contains(asked.data(), asked.size(), there.get());
  for (std::size_t i = 0; i < asked.size(); ++i) CHECK(there[i] == (keys.count(asked[i]) != 0));
}

TEST(tables_are_saved_and_thinned_while_they_grow) {
  Table table(fixtures::config(2));
  insert(table, range(0, kFirst));
  std::set<std::int64_t> keys;
  for (const std::int64_t key : range(0, kFirst)) keys.insert(keys.end(), key);
  for (std::int64_t at = kFirst; at < kLast; at += kStep) {
    const std::vector<std::int64_t> fresh = range(at, at + kStep);
    insert(table, fresh);
    keys.insert(fresh.begin(), fresh.end());
    std::vector<std::int64_t> gone;
    for (std::int64_t i = 0; i < 20; ++i) gone.push_back((at * 7 + i * 641) % at);
    CHECK(table.remove(gone.data(), gone.size()) <= gone.size());
    for (const std::int64_t key : gone) keys.erase(key);
    if ((at / kStep) % 10 == 0) expect_rows(table, keys);
  }
  const std::size_t odd = table.remove_if([](std::int64_t key, const float*) { return key % 2 != 0; });
  for (auto at = keys.begin(); at != keys.end();) at = *at % 2 != 0 ? keys.erase(at) : std::next(at);
  CHECK(odd > 30000);
  expect_rows(table, keys);
}

TEST(threads_find_all_rows_of_a_table_that_grows) {
  recmigrate::parallel::set_thread_count(2);
  Table table(fixtures::config(2));
  const std::vector<float> before = insert(table, range(0, kFirst));
  std::atomic<bool> stop{false};
  std::atomic<bool> lost{false};
  std::vector<std::thread> readers;
  for (const bool saves : {false, true}) {
    readers.emplace_back([&, saves] {
      const std::vector<std::int64_t> old = range(0, kFirst);
      std::vector<float> rows(before.size());
      const std::unique_ptr<bool[]> there(new bool[old.size()]);
      while (!stop) {
        table.lookup(old.data(), old.size(), rows.data());
        table.contains(old.data(), old.size(), there.get());
        if (rows != before || !std::all_of(there.get(), there.get() + old.size(), [](bool one) { return one; })) {
          lost = true;
        }
        if (saves && fixtures::snapshot(table).keys.size() < old.size()) lost = true;
      }
    });
  }
  for (std::int64_t at = kFirst; at < kLast; at += kStep) insert(table, range(at, at + kStep));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(!lost && table.size() == static_cast<std::size_t>(kLast));
}

}  // namespace
}  // namespace growth
