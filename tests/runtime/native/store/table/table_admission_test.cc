// Admission and eviction of a table: random sequences against maps of counts, times and rows.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using recmigrate::Admission;
using recmigrate::InvalidInput;
using recmigrate::kNever;
using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::TableMeta;

struct Answer {
  std::vector<float> rows;
  std::vector<std::uint8_t> admitted;
};

Answer train(Table& table, const std::vector<std::int64_t>& keys, const Admission& rules) {
  const std::size_t n = keys.size();
  Answer answer{std::vector<float>(n * table.dim(), -1.0F), std::vector<std::uint8_t>(n, 2)};
  const std::unique_ptr<bool[]> admitted(new bool[n]);
  table.lookup_and_admit(keys.data(), n, rules, answer.rows.data(), admitted.get());
  std::copy_n(admitted.get(), n, answer.admitted.begin());
  return answer;
}

Answer evaluate(Table& table, const std::vector<std::int64_t>& keys, std::int64_t threshold) {
  const std::size_t n = keys.size();
  Answer answer{std::vector<float>(n * table.dim(), -1.0F), std::vector<std::uint8_t>(n, 2)};
  const std::unique_ptr<bool[]> admitted(new bool[n]);
  table.lookup_admitted(keys.data(), n, threshold, answer.rows.data(), admitted.get());
  std::copy_n(admitted.get(), n, answer.admitted.begin());
  return answer;
}

// What a snapshot op writes, in memory.
struct Saved {
  std::vector<std::int64_t> meta;
  std::vector<std::int64_t> keys;
  std::vector<float> values;
  std::vector<float> slots;
};

Saved save(const Table& table) {
  Saved saved;
  TableMeta meta;
  std::vector<std::uint32_t> cells;
  table.snapshot([&](const TableMeta& now, std::size_t rows) {
    meta = now;
    saved.keys.resize(rows);
    saved.values.resize(rows * table.dim());
    saved.slots.resize(rows * table.dim() * slot_count(meta.kind));
    cells.resize(rows * meta.seen.layout.cells());
    return recmigrate::Destination{saved.keys.data(), saved.values.data(), saved.slots.data(), cells.data()};
  });
  if (meta.seen.tracked) meta.seen.add_rows(saved.keys.data(), cells.data(), saved.keys.size());
  saved.meta = meta.to_vector();
  return saved;
}

void restore(Table& table, const Saved& saved) {
  const TableMeta meta = TableMeta::from_vector(saved.meta.data(), saved.meta.size(), "a test");
  table.import_rows(meta, saved.keys.data(), saved.keys.size(), saved.values.data(), saved.slots.data());
}

void merge(Table& table, const Saved& saved) {
  const TableMeta meta = TableMeta::from_vector(saved.meta.data(), saved.meta.size(), "a test");
  table.merge(meta, saved.keys.data(), saved.keys.size(), saved.values.data(), saved.slots.data());
}

// The rules, said again with maps and nothing else.
struct Oracle {
  struct Key {
    std::int64_t count = 0;
    std::int64_t last_seen = kNever;
    bool row = false;
    bool fresh = true;  // its row has never been updated since it was inserted
  };
  std::map<std::int64_t, Key> keys;
  std::int64_t newest = kNever;

  std::set<std::int64_t> train(const std::vector<std::int64_t>& batch, std::int64_t threshold, std::int64_t coefficient,
                               std::int64_t now) {
    newest = std::max(newest, now);
    for (const std::int64_t key : batch) keys[key].count += coefficient;
    std::set<std::int64_t> admitted;
    for (const std::int64_t key : batch) {
      keys[key].last_seen = newest;
      if (keys[key].count < threshold) continue;
      keys[key].row = true;
      admitted.insert(key);
    }
    return admitted;
  }

  std::size_t evict(std::int64_t age) {
    std::size_t rows = 0;
    for (auto at = keys.begin(); at != keys.end();) {
      const bool old = newest - at->second.last_seen >= age;
      rows += old && at->second.row ? 1 : 0;
      at = old ? keys.erase(at) : std::next(at);
    }
    return rows;
  }

  std::vector<std::int64_t> rows() const {
    std::vector<std::int64_t> result;
    for (const auto& [key, known] : keys) {
      if (known.row) result.push_back(key);
    }
    return result;
  }
};

TEST(admission_and_eviction_are_those_of_maps_over_random_sequences) {
  for (const bool expansion : {false, true}) {
    std::mt19937_64 random(5);
    recmigrate::TableConfig config = fixtures::config(3);
    config.expansion = expansion;
    auto table = std::make_unique<Table>(config);
    Oracle oracle;
    Admission rules;
    rules.threshold = 4;
    rules.coefficient = 1;
    std::int64_t now = 10;
    for (int step = 0; step < 400; ++step) {
      std::vector<std::int64_t> keys(1 + random() % 40);
      for (std::int64_t& key : keys) key = static_cast<std::int64_t>(random() % 120 * (random() % 2)) - 20;
      now += static_cast<std::int64_t>(random() % 5) - 1;
      rules.now = now;
      rules.coefficient = 1 + static_cast<std::int64_t>(random() % 2);
      rules.threshold = step < 250 ? 4 : 12;  // raised: keys that were admitted no longer are
      const std::set<std::int64_t> admitted = oracle.train(keys, rules.threshold, rules.coefficient, now);
      const Answer answer = train(*table, keys, rules);
      std::vector<std::int64_t> trained;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        CHECK(answer.admitted[i] == admitted.count(keys[i]));
        std::vector<float> wanted(3, 0.0F);
        if (admitted.count(keys[i]) != 0 && oracle.keys[keys[i]].fresh) table->initial_row(keys[i], wanted.data());
        if (admitted.count(keys[i]) != 0 && !oracle.keys[keys[i]].fresh) table->lookup(&keys[i], 1, wanted.data());
        CHECK(std::equal(wanted.begin(), wanted.end(), &answer.rows[i * 3]));
        if (admitted.count(keys[i]) != 0) trained.push_back(keys[i]);
      }
      for (const std::int64_t key : trained) oracle.keys[key].fresh = false;
      const std::vector<float> grads = fixtures::gradients(trained.size() * 3, static_cast<unsigned>(step));
      table->apply(trained.data(), trained.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
      if (random() % 8 == 0) CHECK(table->evict_unseen(9, kNever) == oracle.evict(9));
      if (random() % 8 == 0) {
        const Saved saved = save(*table);
        table = std::make_unique<Table>(config);
        restore(*table, saved);
      }
      CHECK(fixtures::sorted_keys(*table) == oracle.rows());
      const std::vector<std::int64_t> some = {-20, -19, 3, 50, 7000};
      const Answer read = evaluate(*table, some, rules.threshold);
      for (std::size_t i = 0; i < some.size(); ++i) {
        const auto known = oracle.keys.find(some[i]);
        const bool enough = known != oracle.keys.end() && known->second.row && known->second.count >= rules.threshold;
        CHECK(read.admitted[i] == enough);
      }
    }
    CHECK(!oracle.rows().empty());
  }
}

TEST(evicted_rows_lose_their_slots_and_places_are_used_again) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.now = 5;
  const std::vector<std::int64_t> keys = {1, 2};
  const std::vector<float> initial = train(table, keys, rules).rows;
  const std::vector<float> grads(4, 0.5F);
  table.apply(keys.data(), 2, grads.data(), fixtures::update(OptimizerKind::adagrad));
  CHECK(train(table, {1}, rules).rows != std::vector<float>(initial.begin(), initial.begin() + 2));
  const Saved trained = save(table);
  rules.now = 9;
  train(table, {2}, rules);
  CHECK(table.evict_unseen(5, kNever) == 0 && table.evict_unseen(4, kNever) == 1 && table.size() == 1);
  const std::size_t bytes = table.bytes();
  CHECK(train(table, {1}, rules).rows == std::vector<float>(initial.begin(), initial.begin() + 2));
  CHECK(table.bytes() == bytes);
  const Saved again = save(table);
  const std::size_t at = again.keys[0] == 1 ? 0 : 1;
  CHECK(again.slots[2 * at] == 0.5F && again.slots[2 * at + 1] == 0.5F);
  CHECK(trained.slots[0] != 0.5F && again.slots[2 * (1 - at)] == 0.75F);
}

// Keys 0 … n-1 that have rows after some occurrences each, a few of them in one batch.
std::set<std::int64_t> admitted_after(Table& table, const Admission& rules, std::int64_t n, int batches, int at_once) {
  std::vector<std::int64_t> keys;
  for (std::int64_t key = 0; key < n; ++key) keys.insert(keys.end(), static_cast<std::size_t>(at_once), key);
  for (int i = 0; i < batches; ++i) train(table, keys, rules);
  const std::vector<std::int64_t> rows = fixtures::sorted_keys(table);
  return {rows.begin(), rows.end()};
}

TEST(each_occurrence_admits_a_key_with_the_same_probability) {
  constexpr std::int64_t kKeys = 20000;
  Admission rules;
  rules.threshold = 1;
  for (const double p : {0.02, 0.3}) {
    rules.probability = p;
    std::set<std::int64_t> before;
    for (const int occurrences : {1, 2, 5, 20}) {
      Table table(fixtures::config(1));
      const std::set<std::int64_t> found = admitted_after(table, rules, kKeys, occurrences, 1);
      const double share = 1.0 - std::pow(1.0 - p, occurrences);
      const double deviation = std::sqrt(kKeys * share * (1.0 - share));
      CHECK(std::abs(static_cast<double>(found.size()) - kKeys * share) <= 4.0 * deviation + 1.0);
      CHECK(std::includes(found.begin(), found.end(), before.begin(), before.end()));
      Table together(fixtures::config(1));  // the count decides, not the batches that it came in
      CHECK(admitted_after(together, rules, kKeys, 1, occurrences) == found);
      recmigrate::TableConfig other = fixtures::config(1);
      other.seed = 8;
      Table reseeded(other);
      CHECK(admitted_after(reseeded, rules, kKeys, occurrences, 1) != found);
      before = found;
    }
  }
}

TEST(counts_of_chance_travel_in_snapshots_and_a_replaced_threshold_ends_it) {
  Admission rules;
  rules.threshold = 1;
  rules.probability = 0.1;
  Table whole(fixtures::config(1));
  const std::set<std::int64_t> wanted = admitted_after(whole, rules, 500, 6, 1);
  Table first(fixtures::config(1));
  CHECK(admitted_after(first, rules, 500, 4, 1).size() < wanted.size());
  Table second(fixtures::config(1));
  restore(second, save(first));
  CHECK(admitted_after(second, rules, 500, 2, 1) == wanted);
  second.set_threshold(7);
  CHECK(admitted_after(second, rules, 500, 1, 1).size() == 500);
  for (const double p : {0.0, -0.5, 1.5, std::nan("")}) {
    rules.probability = p;
    CHECK_THROWS(InvalidInput, train(first, {1}, rules), "it must be above 0 and at most 1");
  }
}

TEST(rows_that_did_not_come_by_counting_are_admitted_and_not_old) {
  Table table(fixtures::config(2));
  const std::vector<std::int64_t> keys = {1};
  const std::vector<float> values = {3.0F, 4.0F};
  table.upsert(keys.data(), 1, values.data());
  Admission rules;
  rules.threshold = 3;
  CHECK(evaluate(table, keys, 3).rows == values && evaluate(table, {2}, 3).admitted[0] == 0);
  CHECK_THROWS(InvalidInput, table.evict_unseen(1, 7), "does not know when its keys were looked up");
  CHECK(train(table, keys, rules).rows == values && train(table, {2}, rules).admitted[0] == 0);
  CHECK(table.evict_unseen(1, 7) == 0 && table.evict_unseen(1, 7) == 0 && table.evict_unseen(1, 8) == 1);
}

TEST(rows_that_did_not_come_by_counting_stay_admitted_at_any_threshold) {
  Table table(fixtures::config(2));
  const std::vector<std::int64_t> keys = {1};
  const std::vector<float> values = {3.0F, 4.0F};
  table.upsert(keys.data(), 1, values.data());
  Admission rules;
  rules.threshold = 3;
  CHECK(train(table, {1, 2, 2, 2}, rules).admitted == (std::vector<std::uint8_t>{1, 1, 1, 1}));
  table.set_threshold(9);
  CHECK(evaluate(table, {1, 2}, 3).admitted == (std::vector<std::uint8_t>{1, 0}));
  CHECK(train(table, {1, 2}, rules).admitted == (std::vector<std::uint8_t>{1, 0}));
  Table other(fixtures::config(2));
  restore(other, save(table));
  CHECK(evaluate(other, {1, 2}, 3).admitted == (std::vector<std::uint8_t>{1, 0}));
}

TEST(a_replaced_threshold_travels_in_snapshots) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = 3;
  table.set_threshold(5);  // before anything was counted
  CHECK(train(table, {1, 1, 1, 1}, rules).admitted[0] == 0);
  for (const bool merges : {false, true}) {
    Table other(fixtures::config(2));
    const Saved saved = save(table);
    if (merges) {
      merge(other, saved);
    } else {
      restore(other, saved);
    }
    CHECK(train(other, {2, 2, 2, 2}, rules).admitted[0] == 0);
    CHECK(train(other, {1}, rules).admitted[0] == 1);
    other.reset();
    CHECK(train(other, {2, 2, 2}, rules).admitted[0] == 1);
  }
  table.set_threshold(0);
  Table other(fixtures::config(2));
  restore(other, save(table));
  CHECK(train(other, {1, 1, 1}, rules).admitted[0] == 0);  // counts stay
  Table plain(fixtures::config(2));
  train(plain, {1}, rules);
  restore(other, save(plain));
  CHECK(train(other, {1, 1}, rules).admitted[0] == 1);  // the look-ups' own threshold again
  Saved bad = save(table);
  bad.meta.pop_back();
  CHECK_THROWS(InvalidInput, restore(other, bad), "damaged");
}

TEST(an_update_does_not_bring_evicted_rows_back) {
  const std::vector<std::int64_t> keys = {1, 2, 1};
  const std::vector<float> grads(6, 1.0F);
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::adagrad}) {
    Table table(fixtures::config(2));
    Admission rules;
    rules.threshold = 2;
    rules.now = 5;
    train(table, {1, 1, 2, 2}, rules);
    rules.now = 9;
    train(table, {2}, rules);
    CHECK(table.evict_unseen(4, kNever) == 1);
    const std::vector<float> two = evaluate(table, {2}, 2).rows;
    table.apply(keys.data(), 3, grads.data(), fixtures::update(kind));  // of a look-up before the eviction
    CHECK(fixtures::sorted_keys(table) == std::vector<std::int64_t>{2});
    CHECK(evaluate(table, {2}, 2).rows != two);
    CHECK(train(table, {1}, rules).admitted[0] == 0);
    Table light(fixtures::config(2));  // counts nothing
    light.apply(keys.data(), 3, grads.data(), fixtures::update(kind));
    CHECK(light.size() == 2);
    CHECK(light.evict_light(1e9F) == 2);
    light.apply(keys.data(), 3, grads.data(), fixtures::update(kind));
    CHECK(light.size() == 0);
    light.reset();
    light.apply(keys.data(), 3, grads.data(), fixtures::update(kind));
    CHECK(light.size() == 2);
  }
}

TEST(an_old_sighting_does_not_take_a_row_along_that_came_otherwise) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = 3;
  rules.now = 5;
  train(table, {1}, rules);
  const std::int64_t key = 1;
  const std::vector<float> values = {3.0F, 4.0F};
  table.upsert(&key, 1, values.data());
  rules.now = 9;
  train(table, {1}, rules);
  CHECK(table.evict_unseen(4, kNever) == 0 && table.size() == 1);
}

TEST(a_threshold_can_be_replaced_and_counting_stopped) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = 3;
  CHECK(train(table, {1, 1, 2, 2, 2}, rules).admitted == (std::vector<std::uint8_t>{0, 0, 1, 1, 1}));
  table.set_threshold(5);
  CHECK(train(table, {2, 1}, rules).admitted == (std::vector<std::uint8_t>{0, 0}));
  CHECK(evaluate(table, {2}, 3).admitted[0] == 0);
  table.set_threshold(0);
  CHECK(train(table, {2, 2, 2}, rules).admitted[0] == 0);
  table.set_threshold(1);
  CHECK(train(table, {1, 9}, rules).admitted == (std::vector<std::uint8_t>{1, 1}) && table.size() == 3);
  CHECK_THROWS(InvalidInput, table.set_threshold(-1), "1 to 2147483647");
}

TEST(threshold_zero_admits_all_and_counts_none) {
  Table table(fixtures::config(2));
  Admission rules;
  CHECK(train(table, {1}, rules).admitted[0] == 1 && table.size() == 1);
  rules.threshold = 2;
  CHECK(train(table, {1}, rules).admitted[0] == 1);  // was never counted, so it stays
}

TEST(a_bloom_filter_counts_in_fixed_memory_and_travels) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = 3;
  rules.bloom = {1000, 0.001, 8};
  std::vector<std::int64_t> keys(500);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i) - 100;
  train(table, keys, rules);
  const std::size_t bytes = table.bytes();
  train(table, keys, rules);
  CHECK(table.bytes() == bytes && table.size() <= 5);
  Table other(fixtures::config(2));
  restore(other, save(table));
  CHECK(other.size() == table.size());
  const Answer third = train(other, keys, rules);
  CHECK(std::count(third.admitted.begin(), third.admitted.end(), 1) == 500);  // never counted too low
  rules.threshold = 256;
  CHECK_THROWS(InvalidInput, train(table, keys, rules), "never reach");
}

TEST(light_rows_are_evicted) {
  Table table(fixtures::config(2));
  const std::vector<std::int64_t> keys = {1, 2, 3};
  const std::vector<float> values = {3.0F, 4.0F, 1.0F, 1.0F, 0.0F, 0.0F};
  table.upsert(keys.data(), 3, values.data());
  CHECK(table.evict_light(1.0F) == 1 && table.size() == 2);
  CHECK(table.evict_light(1.01F) == 1 && table.evict_light(12.5F) == 0 && table.evict_light(12.6F) == 1);
}

TEST(an_address_of_an_evicted_row_is_refused) {
  recmigrate::TableConfig config = fixtures::config(2);
  config.expansion = true;
  Table table(config);
  Admission rules;
  rules.now = 1;
  train(table, {1}, rules);
  const std::int64_t key = 1;
  std::int64_t address = 0;
  table.addresses(&key, 1, &address);
  float row[2];
  table.lookup_at(&address, 1, row);
  CHECK(table.evict_unseen(0, kNever) == 1);
  CHECK_THROWS(InvalidInput, table.lookup_at(&address, 1, row), "evicted");
  train(table, {1}, rules);
  CHECK_THROWS(InvalidInput, table.lookup_at(&address, 1, row), "evicted");
}

TEST(damaged_counters_are_found) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = 3;
  train(table, {1, 2, 2, 2}, rules);
  const Saved good = save(table);
  for (std::size_t cut = 1; cut <= 8; ++cut) {
    Saved bad = good;
    bad.meta.resize(bad.meta.size() - cut);
    CHECK_THROWS(InvalidInput, restore(table, bad), "damaged");
  }
  restore(table, good);
  CHECK(table.size() == 1);
}

TEST(refuses_numbers_out_of_range) {
  Table table(fixtures::config(2));
  Admission rules;
  rules.threshold = -1;
  CHECK_THROWS(InvalidInput, train(table, {1}, rules), "threshold of -1");
  rules = Admission();
  rules.coefficient = 0;
  CHECK_THROWS(InvalidInput, train(table, {1}, rules), "counts an occurrence 0 times");
  rules = Admission();
  rules.now = 0xffffffffLL;
  CHECK_THROWS(InvalidInput, train(table, {1}, rules), "the time 4294967295");
  CHECK(table.size() == 0);
}

}  // namespace
