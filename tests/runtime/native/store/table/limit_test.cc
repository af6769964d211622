// A table's limit of memory: exact whatever was refused, and rows evicted for others when it is to evict.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using recmigrate::Admission;
using recmigrate::InvalidInput;
using recmigrate::kNever;
using recmigrate::LimitReached;
using recmigrate::OptimizerKind;
using recmigrate::Table;

using Ids = std::vector<std::int64_t>;

constexpr std::size_t kColumns = 4;

recmigrate::TableConfig limited(std::size_t bytes, const std::string& options = "") {
  auto config = fixtures::config(kColumns);
  config.parse_options((bytes == 0 ? "" : "max_bytes=" + std::to_string(bytes)) + options);
  return config;
}

Ids range(std::int64_t begin, std::int64_t end) {
  Ids keys;
  for (std::int64_t key = begin; key < end; ++key) keys.push_back(key);
  return keys;
}

std::vector<float> look_up(Table& table, const Ids& keys) {
  std::vector<float> out(keys.size() * kColumns);
  table.lookup_or_insert(keys.data(), keys.size(), out.data());
  return out;
}

void train(Table& table, const Ids& keys, OptimizerKind kind = OptimizerKind::adagrad) {
  const std::vector<float> grads = fixtures::gradients(keys.size() * kColumns, static_cast<unsigned>(keys.size()));
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
}

std::size_t admit(Table& table, const Ids& keys, std::int64_t threshold, std::int64_t now) {
  std::vector<float> out(keys.size() * kColumns);
  const std::unique_ptr<bool[]> admitted(new bool[keys.size()]);
  Admission rules;
  rules.threshold = threshold;
  rules.now = now;
  table.lookup_and_admit(keys.data(), keys.size(), rules, out.data(), admitted.get());
  return static_cast<std::size_t>(std::count(admitted.get(), admitted.get() + keys.size(), true));
}

bool has(const Table& table, const Ids& keys) {
  const std::unique_ptr<bool[]> found(new bool[keys.size()]);
  table.contains(keys.data(), keys.size(), found.get());
  return std::all_of(found.get(), found.get() + keys.size(), [](bool one) { return one; });
}

std::vector<float> rows_of(Table& table, const Ids& keys) {
  std::vector<float> out(keys.size() * kColumns);
  table.lookup(keys.data(), keys.size(), out.data());
  return out;
}

// Everything that takes and gives memory, one after the other; with `after` called in between.
template <typename After>
void live(Table& table, const After& after) {
  look_up(table, range(0, 700));
  after();
  train(table, range(500, 900));  // with slots
  after();
  admit(table, range(800, 1400), 2, 3);  // with counters and cells
  after();
  admit(table, range(1000, 1500), 2, 9);
  after();
  const Ids some = range(0, 300);
  table.remove(some.data(), some.size());
  after();
  table.evict_unseen(5, 9);
  after();
  look_up(table, range(3000, 3200));
  after();
  const auto rows = fixtures::snapshot(table);
  fixtures::import_rows(table, rows);
  after();
  look_up(table, range(4000, 4500));
  after();
}

TEST(a_limit_is_exact_whatever_was_refused) {
  Table reference(limited(0));
  std::size_t most = 0;
  live(reference, [&] { most = std::max(most, reference.bytes()); });
  Table enough(limited(most));
  int calls = 0;
  live(enough, [&] {
    const std::size_t bytes = enough.bytes();
    const std::size_t size = enough.size();
    CHECK_THROWS(LimitReached, look_up(enough, range(-50000, 0)), "max_bytes of " + std::to_string(most));
    if (++calls >= 3) CHECK_THROWS(LimitReached, admit(enough, range(-50000, 0), 1, kNever), "max_bytes");
    const Ids keys = range(-50000, 0);
    const std::vector<float> values(keys.size() * kColumns);
    CHECK_THROWS(LimitReached, enough.upsert(keys.data(), keys.size(), values.data()), "max_bytes");
    CHECK(enough.bytes() == bytes && enough.size() == size && !has(enough, {-1}));
    CHECK(enough.bytes() <= most);
  });
  CHECK(fixtures::sorted_keys(enough) == fixtures::sorted_keys(reference));
  Table too_small(limited(most - 1));
  CHECK_THROWS(LimitReached, live(too_small, [] {}), "would need " + std::to_string(most) + " bytes");
}

TEST(slots_and_counters_that_do_not_fit_are_refused) {
  Table reference(limited(std::size_t{1} << 30));  // with the shards of the others
  const std::vector<float> initial = look_up(reference, range(0, 2000));
  for (const char* const options : {"", ";when_full=evict"}) {
    const bool evicts = *options != 0;
    Table table(limited(reference.bytes() + 4 * 2000, options));
    CHECK(look_up(table, range(0, 2000)) == initial);
    const std::size_t bytes = table.bytes();
    CHECK_THROWS(LimitReached, train(table, evicts ? range(0, 2000) : Ids{1}),
                 "slots and counters that its rows are to get");
    CHECK_THROWS(LimitReached, admit(table, {1}, 2, 1), "slots and counters that its rows are to get");
    CHECK_THROWS(LimitReached, table.set_threshold(2), "slots and counters that its rows are to get");
    CHECK(table.bytes() == bytes && look_up(table, range(0, 2000)) == initial);
    train(table, range(0, 2000), OptimizerKind::sgd);  // without slots
    const auto rows = fixtures::snapshot(table);
    Table small(limited(evicts ? 1000 : bytes / 2, options));
    CHECK_THROWS(LimitReached, fixtures::import_rows(small, rows), "for the rows to restore");
    CHECK(small.size() == 0 && small.bytes() < bytes / 4);
  }
}

TEST(counters_of_keys_without_rows_that_do_not_fit_are_refused) {
  const Ids keys = range(10, 3000);
  Table reference(limited(0));
  admit(reference, {1}, 2, 1);
  admit(reference, keys, 2, 1);
  Table table(limited(reference.bytes() - 1));
  admit(table, {1}, 2, 1);
  const std::size_t bytes = table.bytes();
  CHECK_THROWS(LimitReached, admit(table, keys, 2, 1), "would need " + std::to_string(reference.bytes()) + " bytes");
  CHECK(table.bytes() == bytes);
}

TEST(slots_of_the_first_update_make_room_for_themselves) {
  for (const OptimizerKind kind : {OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    Table reference(limited(0));
    look_up(reference, range(0, 2000));
    Table roomy(limited(1 << 30));  // its shards are those of a table with another limit
    look_up(roomy, range(0, 2000));
    const std::size_t limit = roomy.bytes() + 4 * 2000;
    Table table(limited(limit, ";when_full=evict"));
    look_up(table, range(0, 2000));
    const Ids removed = range(500, 600);
    table.remove(removed.data(), removed.size());
    Ids batch = range(0, 100);  // the oldest but for those that the update needs
    look_up(table, range(1000, 1100));
    train(table, batch, kind);
    train(reference, batch, kind);
    CHECK(table.bytes() <= limit && table.bytes() > limit / 10 * 8 && table.evicted() > 500);
    CHECK(has(table, batch) && has(table, range(1000, 1100)) && !has(table, {100}));
    CHECK(table.evicted() + table.size() == 1900);
    const Ids left = fixtures::sorted_keys(table);
    CHECK(left.size() == table.size() && rows_of(table, left) == rows_of(reference, left));
    for (std::int64_t step = 0; step < 20; ++step) {
      batch = range(step * 30, step * 30 + 200);
      look_up(table, batch);
      train(table, batch, kind);
      CHECK(table.bytes() <= limit && has(table, batch));
    }
    Table group(limited(limit, ";when_full=evict"));
    look_up(group, range(0, 2000));
    batch = range(0, 100);
    const std::vector<float> grads = fixtures::gradients(batch.size() * kColumns, 100);
    Table::apply_together({{&group, batch.data(), batch.size(), grads.data()}}, fixtures::update(kind));
    CHECK(group.bytes() <= limit && has(group, batch) && rows_of(group, batch) == rows_of(reference, batch));
  }
}

TEST(rows_that_are_restored_make_room) {
  Table source(limited(0));
  admit(source, range(0, 1000), 1, 5);
  admit(source, range(300, 500), 1, 9);
  train(source, range(0, 1000), OptimizerKind::lazy_adam);
  const auto rows = fixtures::snapshot(source);
  const std::size_t limit = source.bytes() / 2;
  Table table(limited(limit, ";when_full=evict"));
  fixtures::import_rows(table, rows);
  CHECK(table.bytes() <= limit && table.size() > 250 && table.evicted() + table.size() == 1000);
  const Ids left = fixtures::sorted_keys(table);
  CHECK(rows_of(table, left) == rows_of(source, left) && has(table, range(950, 1000)));
  train(table, left, OptimizerKind::lazy_adam);
  train(source, left, OptimizerKind::lazy_adam);
  CHECK(rows_of(table, left) == rows_of(source, left));

  // Rows with slots come into a table that has none.
  constexpr std::size_t kLimit = 200000;
  Table merged(limited(kLimit, ";when_full=evict"));
  const Ids old = range(5000, 15000);
  std::size_t inserted = 0;
  while (inserted < old.size() && merged.evicted() == 0) look_up(merged, {old[inserted++]});
  const std::size_t some = 100;
  auto meta = rows.meta;
  meta.seen = {};
  merged.merge(meta, rows.keys.data(), some, rows.values.data(), rows.slots.data());
  CHECK(merged.bytes() <= kLimit && merged.evicted() > 500 &&
        has(merged, Ids(rows.keys.begin(), rows.keys.begin() + some)));
}

// Whether no key that is gone was used after one of `left`, or with it and has a larger number.
bool used_last(const std::map<std::int64_t, int>& last_use, const Ids& left) {
  std::vector<std::pair<int, std::int64_t>> uses;
  for (const auto& [key, step] : last_use) uses.emplace_back(step, key);
  std::sort(uses.begin(), uses.end(), std::greater<>());
  Ids expected;
  for (std::size_t i = 0; i < left.size(); ++i) expected.push_back(uses[i].second);
  std::sort(expected.begin(), expected.end());
  return expected == left;
}

// Tables so small that a shard has few rows, or none: places are often in the wrong one.
TEST(a_small_full_table_keeps_what_was_used_last) {
  for (const std::size_t limit : {30000U, 60000U, 120000U}) {
    for (const bool trains : {false, true}) {
      Table table(limited(limit, ";when_full=evict"));
      std::map<std::int64_t, int> last_use;
      for (int step = 0; step < 80; ++step) {
        const Ids keys = range(step * 50, step * 50 + 70);
        look_up(table, keys);
        if (trains) train(table, keys);
        for (const std::int64_t key : keys) last_use[key] = step;
        CHECK(table.bytes() <= limit && used_last(last_use, fixtures::sorted_keys(table)));
      }
      CHECK(table.evicted() > 900);
    }
  }
}

// A window of ids slides on: the rows in it train as they do without a limit, and memory never grows past it.
TEST(a_full_table_evicts_what_was_not_used_for_longest) {
  constexpr std::size_t kLimit = 200000;
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    Table table(limited(kLimit, ";when_full=evict"));
    Table reference(limited(0));
    std::map<std::int64_t, int> last_use;
    std::size_t evictions = 0;
    for (int step = 0; step < 300; ++step) {
      Ids keys = range(step * 40, step * 40 + 150);
      for (std::int64_t key = 0; key < 20; ++key) keys.push_back(-1 - key);  // always in use
      keys.push_back(keys[0]);
      const std::size_t before = table.evicted();
      const std::size_t rows = table.size();
      CHECK(look_up(table, keys) == look_up(reference, keys));
      if (table.evicted() != before) {
        ++evictions;
        CHECK(table.evicted() - before >= rows / 20);
      }
      train(table, keys, kind);
      train(reference, keys, kind);
      for (const std::int64_t key : keys) last_use[key] = step;
      CHECK(table.bytes() <= kLimit && has(table, keys));
      CHECK(rows_of(table, keys) == rows_of(reference, keys));
    }
    CHECK(evictions > 5 && evictions < 150 && table.evicted() == last_use.size() - table.size());
    const Ids left = fixtures::sorted_keys(table);
    CHECK(used_last(last_use, left));
    CHECK(last_use[left[left.size() / 2]] > 150);
    CHECK(rows_of(table, left) == rows_of(reference, left));
    // A key that comes again starts anew, slots too.
    Table fresh(limited(0));
    const Ids again = range(0, 50);
    CHECK(!has(table, {0}) && look_up(table, again) == look_up(fresh, again));
    train(table, again, kind);
    train(fresh, again, kind);
    CHECK(rows_of(table, again) == rows_of(fresh, again));
  }
}

TEST(evictions_are_the_same_every_time) {
  const auto run = [] {
    Table table(limited(60000, ";when_full=evict"));
    for (unsigned step = 0; step < 60; ++step) {
      const Ids keys = fixtures::skewed_keys(200, step);
      look_up(table, keys);
      train(table, keys);
    }
    CHECK(table.evicted() != 0);
    return fixtures::snapshot(table);
  };
  CHECK(fixtures::same_rows(run(), run()));
}

TEST(a_batch_that_does_not_fit_alone_changes_nothing) {
  Table table(limited(60000, ";when_full=evict"));
  const Ids keys = range(0, 300);
  look_up(table, keys);
  train(table, keys);
  const auto before = fixtures::snapshot(table);
  const std::size_t bytes = table.bytes();
  const Ids many = range(200, 20000);
  const std::vector<float> values(many.size() * kColumns);
  for (int round = 0; round < 2; ++round) {
    CHECK_THROWS(LimitReached, look_up(table, many), "even without the rows that this batch of ids does not need");
    CHECK_THROWS(LimitReached, table.upsert(many.data(), many.size(), values.data()), "smaller batches");
    CHECK_THROWS(LimitReached, train(table, many), "smaller batches");
    CHECK(table.bytes() == bytes && table.evicted() == 0);
  }
  CHECK_THROWS(LimitReached, admit(table, many, 1, 1), "smaller batches");
  CHECK(table.bytes() <= 60000 && table.evicted() == 0);
  CHECK(fixtures::same_rows(fixtures::snapshot(table), before));
}

TEST(a_batch_never_loses_rows_of_its_own) {
  Table table(limited(60000, ";when_full=evict"));
  std::int64_t next = 0;
  while (table.evicted() == 0) look_up(table, {next++});
  Ids keys = fixtures::sorted_keys(table);
  while (table.bytes() < 59900 && table.evicted() < 100) look_up(table, {next++});
  keys = fixtures::sorted_keys(table);
  const std::size_t evicted = table.evicted();
  for (std::int64_t more = 0; more < 400; ++more) keys.push_back(1000000 + more);
  CHECK_THROWS(LimitReached, look_up(table, keys), "smaller batches");
  CHECK(table.evicted() == evicted && table.size() == keys.size() - 400);
}

// Look-ups leave their rows with the table; those of a batch that were evicted since are neither touched nor brought
// back.
TEST(an_update_of_an_evicted_batch_touches_no_other_row) {
  Table table(limited(60000, ";when_full=evict"));
  train(table, {1}, OptimizerKind::adagrad);
  const Ids first = range(1000, 1300);
  look_up(table, first);
  std::int64_t next = 2000;
  while (has(table, {1000})) {
    look_up(table, range(next, next + 20));
    next += 20;
  }
  look_up(table, first);
  const Ids between = range(100000, 100000 + static_cast<std::int64_t>(table.size()) - 200);
  look_up(table, between);
  const std::size_t size = table.size();
  std::map<std::int64_t, std::vector<float>> before;
  for (const std::int64_t key : fixtures::sorted_keys(table)) before[key] = rows_of(table, {key});
  const std::set<std::int64_t> batch(first.begin(), first.end());
  train(table, first);
  CHECK(table.size() == size && !has(table, first));
  for (const auto& one : before) CHECK((rows_of(table, {one.first}) == one.second) == (batch.count(one.first) == 0));
}

TEST(admission_and_eviction_go_together) {
  constexpr std::size_t kLimit = 120000;
  Table table(limited(kLimit, ";when_full=evict"));
  for (std::int64_t step = 0; step < 200; ++step) {
    const Ids keys = range(step * 50, step * 50 + 100);
    const std::size_t admitted = admit(table, keys, 2, step);
    CHECK(step == 0 || admitted == 50);
    CHECK(table.bytes() <= kLimit);
    train(table, range(step * 50, step * 50 + 50));
  }
  CHECK(table.evicted() > 5000 && table.size() > 300);
  // Keys that never get a row are forgotten too, where their counters would take more.
  for (std::int64_t step = 200; step < 300; ++step) admit(table, range(step * 1000, step * 1000 + 300), 2, step);
  CHECK(table.bytes() <= kLimit && admit(table, {299000}, 2, 300) == 1);
}

TEST(by_address_rows_are_evicted_and_their_addresses_refused) {
  Table table(limited(60000, ";when_full=evict;expansion=1"));
  const auto addresses = [&](const Ids& keys) {
    Ids at(keys.size());
    table.addresses(keys.data(), keys.size(), at.data());
    return at;
  };
  const Ids old = addresses({1});
  for (std::int64_t step = 0; step < 40; ++step) {
    const Ids at = addresses(range(100 + step * 50, 200 + step * 50));
    const std::vector<float> grads(at.size() * kColumns, 1.0F);
    table.apply_at(at.data(), at.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
  }
  std::vector<float> row(kColumns);
  CHECK(table.evicted() != 0 && !has(table, {1}));
  CHECK_THROWS(InvalidInput, table.lookup_at(old.data(), 1, row.data()), "evicted");
}

TEST(wrong_options_are_refused) {
  CHECK_THROWS(InvalidInput, Table(limited(0, "when_full=evict")), "has no max_bytes");
  CHECK_THROWS(InvalidInput, limited(1, ";when_full=wait"), "it must be error or evict");
}

}  // namespace
