// Tables with a base, against tables in which every id has its own copy of its bucket's row from the start.
#include "store/rows/base.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
#include "store/notices.h"

namespace base_test {

using fixtures::Snapshot;
using recmigrate::Buckets;
using recmigrate::InvalidInput;
using recmigrate::kBaseKeys;
using recmigrate::OptimizerKind;
using recmigrate::Table;
using recmigrate::TableConfig;
using recmigrate::Update;

constexpr std::int64_t kBuckets = 7;
constexpr std::int64_t kIds = 40;
constexpr std::size_t kDim = 3;

// All of 7 rows; those behind four words; those between one word and three.
const Buckets kLayouts[] = {kBuckets, {3, 4, 4}, {3, 1, kBuckets}};

TableConfig config(bool with_base, const Buckets& layout = kBuckets) {
  TableConfig result = fixtures::config(kDim);
  if (with_base) result.buckets = layout;
  return result;
}

std::int64_t bucket(std::int64_t id, const Buckets& layout = kBuckets) {
  if (id >= 0 && id < layout.beyond) return id;
  std::int64_t row = id - layout.beyond;
  while (row < 0) row += layout.count;
  return layout.first + row % layout.count;
}

std::vector<std::int64_t> ids() {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < kIds; ++i) all.push_back(i - 5);
  return all;
}

Update step(OptimizerKind kind, int number) {
  Update u = fixtures::update(kind);
  const bool adam =
      kind == OptimizerKind::adam || kind == OptimizerKind::keras_adam || kind == OptimizerKind::keras_adamw;
  if (adam) {
    const double power = number + 1;
    const double rate = 0.05 * std::sqrt(1.0 - std::pow(0.999, power)) / (1.0 - std::pow(0.9, power));
    u.hyper = {static_cast<float>(rate), 0.1F, 0.001F, 1e-7F, 0.1F, 0.05F};
    if (kind == OptimizerKind::adam) u.hyper = {static_cast<float>(rate), 0.9F, 0.999F, 1e-7F};
  }
  if (kind == OptimizerKind::keras_momentum || kind == OptimizerKind::momentum) u.hyper = {0.1F, 0.9F, 1.0F};
  return u;
}

void train(Table& table, OptimizerKind kind, int steps, unsigned seed, std::int64_t least, std::int64_t most) {
  for (int number = 0; number < steps; ++number) {
    std::mt19937 random(seed + static_cast<unsigned>(number));
    std::vector<std::int64_t> keys(9);
    for (std::int64_t& key : keys)
      key = least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least));
    std::vector<float> out(keys.size() * kDim);
    table.lookup_or_insert(keys.data(), keys.size(), out.data());
    const std::vector<float> grads = fixtures::gradients(out.size(), seed + static_cast<unsigned>(number));
    table.apply(keys.data(), keys.size(), grads.data(), step(kind, number));
  }
}

std::vector<float> read(Table& table, const std::vector<std::int64_t>& keys) {
  std::vector<float> out(keys.size() * kDim);
  table.lookup(keys.data(), keys.size(), out.data());
  return out;
}

// A bucketed table after some steps; the last bucket was never seen.
Snapshot trained(OptimizerKind kind) {
  Table table(config(false));
  train(table, kind, 6, 1, 0, kBuckets - 1);
  return fixtures::snapshot(table);
}

Snapshot as_base(Snapshot rows) {
  for (std::int64_t& key : rows.keys) key += kBaseKeys;
  return rows;
}

// The rows of all ids, each a copy of its bucket's.
Snapshot copied(const Snapshot& rows, const Buckets& layout = kBuckets) {
  Snapshot all;
  all.meta = rows.meta;
  const std::size_t width = rows.slots.size() / rows.keys.size();
  for (const std::int64_t id : ids()) {
    const auto at = std::find(rows.keys.begin(), rows.keys.end(), bucket(id, layout)) - rows.keys.begin();
    if (at == static_cast<std::ptrdiff_t>(rows.keys.size())) continue;
    all.keys.push_back(id);
    all.values.insert(all.values.end(), &rows.values[at * kDim], &rows.values[at * kDim] + kDim);
    all.slots.insert(all.slots.end(), rows.slots.data() + at * width, rows.slots.data() + (at + 1) * width);
  }
  return all;
}

constexpr OptimizerKind kKinds[] = {OptimizerKind::sgd,         OptimizerKind::adagrad,       OptimizerKind::lazy_adam,
                                    OptimizerKind::momentum,    OptimizerKind::adam,          OptimizerKind::keras_adam,
                                    OptimizerKind::keras_adamw, OptimizerKind::keras_momentum};

// The ids without a row in `wanted`, i.e. of the bucket that was never seen.
std::vector<std::int64_t> seen_before(bool seen, const Buckets& layout = kBuckets) {
  std::vector<std::int64_t> result;
  for (const std::int64_t id : ids()) {
    if ((bucket(id, layout) != kBuckets - 1) == seen) result.push_back(id);
  }
  return result;
}

void ids_begin_as_their_buckets_and_part(const Buckets& layout) {
  for (const OptimizerKind kind : kKinds) {
    const Snapshot rows = trained(kind);
    Table wanted(config(false));
    fixtures::import_rows(wanted, copied(rows, layout));
    Table table(config(true, layout));
    fixtures::import_rows(table, as_base(rows));
    CHECK(table.size() == 0U);
    const std::vector<std::int64_t> seen = seen_before(true, layout);
    CHECK(read(table, seen) == read(wanted, seen));
    // A bucket without a row begins as the bucketed model would have read it, not as its ids would begin by themselves.
    for (const std::int64_t id : seen_before(false, layout)) CHECK(read(table, {id}) == read(wanted, {kBuckets - 1}));
    for (int round = 0; round < 3; ++round) {
      train(table, kind, 8, 20 + static_cast<unsigned>(round), -5, 20);
      train(wanted, kind, 8, 20 + static_cast<unsigned>(round), -5, 20);
      CHECK(read(table, seen) == read(wanted, seen));
      if (round != 1) continue;
      // Saved and restored: what has a row, and what only has a base.
      Table again(config(true, layout));
      fixtures::import_rows(again, fixtures::snapshot(table));
      CHECK(again.size() == table.size());
      CHECK(read(again, seen) == read(wanted, seen));
      CHECK(fixtures::same_rows(fixtures::sorted(fixtures::snapshot(again), kDim),
                                fixtures::sorted(fixtures::snapshot(table), kDim)));
    }
  }
}

TEST(ids_begin_as_their_buckets_and_part) {
  for (const Buckets& layout : kLayouts) ids_begin_as_their_buckets_and_part(layout);
}

TEST(any_id_has_a_bucket) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  for (const Buckets& layout : kLayouts) {
    for (std::int64_t id = -20; id < 20; ++id) CHECK(layout.of(id) == bucket(id, layout));
    for (std::int64_t id = 0; id < layout.rows(); ++id) CHECK(layout.of(id) == id);
    for (const std::int64_t id : {most, -most, most - 1, -most - 1}) {
      CHECK(layout.of(id) >= layout.first && layout.of(id) < layout.first + layout.count);
    }
  }
  const Buckets behind(3, 4, 4);
  CHECK(behind.of(most - 2) - 4 == (most - 6) % 3);
}

TEST(a_restored_base_trains_on_as_the_saved_one) {
  for (const OptimizerKind kind : kKinds) {
    Table table(config(true));
    fixtures::import_rows(table, as_base(trained(kind)));
    train(table, kind, 8, 20, -5, 10);
    Table again(config(true));
    fixtures::import_rows(again, fixtures::snapshot(table));
    Table copy(config(true));
    fixtures::import_rows(copy, fixtures::snapshot(again));
    train(again, kind, 8, 30, -5, 30);
    train(copy, kind, 8, 30, -5, 30);
    CHECK(read(again, ids()) == read(copy, ids()));
  }
}

TEST(a_base_gets_the_slots_of_the_first_optimizer) {
  const Snapshot rows = trained(OptimizerKind::sgd);  // which has none
  Table wanted(config(false));
  fixtures::import_rows(wanted, copied(rows));
  Table table(config(true));
  std::vector<std::int64_t> keys = rows.keys;
  for (std::int64_t& key : keys) key += kBaseKeys;
  table.upsert(keys.data(), keys.size(), rows.values.data());
  train(table, OptimizerKind::adagrad, 8, 3, -5, 20);
  train(wanted, OptimizerKind::adagrad, 8, 3, -5, 20);
  const std::vector<std::int64_t> seen = seen_before(true);
  CHECK(read(table, seen) == read(wanted, seen));
}

TEST(rows_merge_into_a_base) {
  const Snapshot rows = as_base(trained(OptimizerKind::adagrad));
  Table table(config(true));
  train(table, OptimizerKind::adagrad, 2, 3, 100, 110);
  table.merge(rows.meta, rows.keys.data(), rows.keys.size(), rows.values.data(), rows.slots.data());
  Table wanted(config(true));
  fixtures::import_rows(wanted, rows);
  CHECK(read(table, seen_before(true)) == read(wanted, seen_before(true)));
}

TEST(a_base_is_forgotten) {
  const Snapshot rows = as_base(trained(OptimizerKind::adagrad));
  Table table(config(true));
  const std::size_t before = table.bytes();
  fixtures::import_rows(table, rows);
  CHECK(table.bytes() >= before + kBuckets * kDim * 2 * sizeof(float));
  const std::int64_t id = 3;
  std::vector<float> kept(kDim);
  table.lookup_or_insert(&id, 1, kept.data());
  CHECK(table.remove(rows.keys.data(), rows.keys.size()) == rows.keys.size());
  CHECK(read(table, {id}) == kept);
  Table plain(config(false));
  CHECK(read(table, {id + 1}) == read(plain, {id + 1}));
  CHECK(fixtures::snapshot(table).keys.size() == 1U);
}

TEST(a_base_stays_within_the_limit) {
  constexpr std::int64_t many = 1000;
  std::vector<std::int64_t> keys(many);
  std::iota(keys.begin(), keys.end(), kBaseKeys);
  const std::vector<float> values(many * kDim, 0.5F);
  for (const bool merges : {false, true}) {
    const auto put = [&](Table& table) {
      if (!merges) return table.upsert(keys.data(), keys.size(), values.data());
      Snapshot rows = trained(OptimizerKind::adagrad);
      rows.keys = keys;
      rows.slots = values;
      table.merge(rows.meta, keys.data(), keys.size(), values.data(), rows.slots.data());
    };
    TableConfig limited = config(true, many);
    limited.max_bytes = 60000;
    limited.evicts = true;
    Table table(limited);
    train(table, OptimizerKind::adagrad, 400, 1, 0, 100000);
    const Snapshot full = fixtures::snapshot(table);
    put(table);
    CHECK(table.bytes() <= 60000U);
    CHECK(table.size() > 0U && table.size() < full.keys.size());
    CHECK(read(table, {many + 3, 2 * many + 3}) != read(table, {full.keys.front()}));
    const Snapshot left = fixtures::snapshot(table);
    train(table, OptimizerKind::adagrad, 100, 2, 0, 100000);
    CHECK(table.bytes() <= 60000U);
    for (const bool evicts : {false, true}) {
      limited.evicts = evicts;
      limited.max_bytes = 16000;
      Table narrow(limited);
      train(narrow, OptimizerKind::adagrad, 2, 1, 0, 100000);
      const Snapshot before = fixtures::snapshot(narrow);
      CHECK_THROWS(recmigrate::LimitReached, put(narrow), "with the rows of buckets that it is to get; raise it");
      CHECK(fixtures::same_rows(fixtures::snapshot(narrow), before));
    }
  }
}

TEST(a_table_without_buckets_has_ids_in_the_place_of_base_keys) {
  const Snapshot rows = as_base(trained(OptimizerKind::adagrad));
  Table table(config(false));
  fixtures::import_rows(table, rows);
  CHECK(table.size() == rows.keys.size());
  CHECK(read(table, rows.keys) == rows.values);
}

TEST(what_does_not_fit_a_base_is_refused) {
  const Snapshot rows = as_base(trained(OptimizerKind::adagrad));
  TableConfig fewer = config(true);
  fewer.buckets = 2;
  Table table(fewer);
  CHECK_THROWS(InvalidInput, fixtures::import_rows(table, rows), "has 2 buckets");
  Table other(config(true));
  const std::int64_t reserved = kBaseKeys + 1;
  std::vector<float> out(kDim);
  CHECK_THROWS(InvalidInput, other.lookup_or_insert(&reserved, 1, out.data()), "ids must be");
  fewer.buckets = -1;
  CHECK_THROWS(InvalidInput, Table{fewer}, "base_buckets of -1 from 0 on");
  fewer.buckets = {3, 4, 5};
  CHECK_THROWS(InvalidInput, Table{fewer}, "it must be 4, or 7 or more");
}

// What `layout` saved, in an older format: without how it divided ids.
Snapshot undivided(Snapshot rows) {
  rows.meta.buckets = {};
  return rows;
}

TEST(a_slot_is_read_as_a_row_begins) {
  const Snapshot rows = trained(OptimizerKind::adagrad);
  TableConfig on_device = config(true);
  on_device.device_rows = 8;
  Table table(on_device);
  fixtures::import_rows(table, as_base(rows));
  const std::int64_t id = 5 * kBuckets + rows.keys[2];
  std::vector<float> slot(kDim);
  table.on_device().read_slot(&id, 1, step(OptimizerKind::adagrad, 0), 0, slot.data());
  CHECK(std::equal(slot.begin(), slot.end(), rows.slots.begin() + 2 * kDim));
  CHECK(table.size() == 0U);
}

TEST(a_snapshot_says_how_ids_divide) {
  for (const OptimizerKind kind : {OptimizerKind::none, OptimizerKind::adagrad, OptimizerKind::adam}) {
    for (const auto values : {recmigrate::ValueType::float32, recmigrate::ValueType::bfloat16}) {
      for (const Buckets& layout : kLayouts) {
        TableConfig saved = config(true, layout);
        saved.values = values;
        Table table(saved);
        fixtures::import_rows(table, as_base(trained(OptimizerKind::sgd)));
        if (kind != OptimizerKind::none) train(table, kind, 6, 3, -5, 20);
        const Snapshot rows = fixtures::snapshot(table);
        const std::vector<std::int64_t> entries = rows.meta.to_vector();
        const auto parsed = recmigrate::TableMeta::from_vector(entries.data(), entries.size(), "table 'user'");
        CHECK(parsed.buckets == layout);
        CHECK(parsed.to_vector() == entries);
        for (const Buckets& other : kLayouts) {
          if (other == layout) continue;
          Table wrong(config(true, other));
          CHECK_THROWS(InvalidInput, fixtures::import_rows(wrong, rows),
                       ("saved with " + layout.text() + ", and table 'user' has " + other.text()).c_str());
          CHECK_THROWS(
              InvalidInput,
              wrong.merge(rows.meta, rows.keys.data(), rows.keys.size(), rows.values.data(), rows.slots.data()),
              ("saved with " + layout.text()).c_str());
          CHECK(fixtures::snapshot(wrong).keys.empty());
          fixtures::import_rows(wrong, undivided(rows));
        }
        Table none(config(false));
        CHECK_THROWS(InvalidInput, fixtures::import_rows(none, rows), "has no base_buckets, so ids would begin");
        const std::vector<std::int64_t> base = as_base(trained(OptimizerKind::sgd)).keys;
        static_cast<void>(table.remove(base.data(), base.size()));
        const Snapshot ids =
            fixtures::snapshot(table);  // without a base, a table of bucketed ids would never find them
        if (!ids.keys.empty()) {
          CHECK_THROWS(InvalidInput, fixtures::import_rows(none, ids), "has no base_buckets, so ids would begin");
        }
        CHECK(fixtures::snapshot(none).keys.empty());
      }
    }
  }
  CHECK(Buckets(kBuckets).text() == "base_buckets=7");
  CHECK(Buckets(3, 1, 7).text() == "base_buckets=Buckets(3, 1, 7)");
}

TEST(rows_of_a_table_with_buckets_are_the_base) {
  const Snapshot rows = trained(OptimizerKind::adam);
  for (const bool merges : {false, true}) {
    Table wanted(config(true));
    Table table(config(true));
    fixtures::import_rows(wanted, as_base(rows));
    static_cast<void>(recmigrate::notices::take());
    if (merges) {
      table.merge(rows.meta, rows.keys.data(), rows.keys.size(), rows.values.data(), rows.slots.data());
    } else {
      fixtures::import_rows(table, rows);
    }
    CHECK(recmigrate::notices::take().size() == 1U);
    CHECK(table.size() == 0U && read(table, ids()) == read(wanted, ids()));
    train(table, OptimizerKind::adam, 8, 20, -5, 20);
    train(wanted, OptimizerKind::adam, 8, 20, -5, 20);
    CHECK(read(table, ids()) == read(wanted, ids()));
  }
  Table table(config(true));
  Snapshot others = rows;
  others.keys.back() = kBuckets;
  fixtures::import_rows(table, others);
  CHECK(table.size() == others.keys.size());
  Table plain(config(false));
  fixtures::import_rows(plain, rows);
  CHECK(recmigrate::notices::take().empty());
}

TEST(a_base_of_fewer_rows_is_noted) {
  Snapshot rows = as_base(trained(OptimizerKind::sgd));  // one row fewer than the buckets are
  static_cast<void>(recmigrate::notices::take());
  Table table(config(true));
  fixtures::import_rows(table, rows);
  const std::vector<std::string> noted = recmigrate::notices::take();
  CHECK(noted.size() == 1U);
  CHECK(noted[0].find("the rows of 6 buckets and divides ids into 7") != std::string::npos);
  TableConfig fewer = config(true);
  fewer.buckets = kBuckets - 1;
  Table same(fewer);
  fixtures::import_rows(same, rows);
  CHECK(recmigrate::notices::take().empty());
}

TEST(a_base_beside_a_limit_tiers_and_two_byte_rows) {
  const Snapshot rows = trained(OptimizerKind::adagrad);
  const auto folder = std::filesystem::temp_directory_path() / "recmigrate_base_test";
  std::filesystem::create_directories(folder);
  for (const int kind : {0, 1, 2}) {
    TableConfig own = config(true);
    TableConfig plain = config(false);
    for (TableConfig* one : {&own, &plain}) {
      if (kind == 0) one->values = recmigrate::ValueType::bfloat16;
      if (kind == 1) {
        one->tiers = {{recmigrate::Medium::memory, 400}, {recmigrate::Medium::mapped, 0}};
        one->tier_folder = folder.string();
      }
      if (kind == 2) one->max_bytes = 1 << 24;
    }
    Table table(own);
    Table wanted(plain);
    fixtures::import_rows(table, as_base(rows));
    fixtures::import_rows(wanted, copied(rows));
    train(table, OptimizerKind::adagrad, 12, 9, -5, 30);
    if (kind != 0) train(wanted, OptimizerKind::adagrad, 12, 9, -5, 30);
    const std::vector<std::int64_t> seen = kind == 0 ? std::vector<std::int64_t>{31, 32, 33} : seen_before(true);
    CHECK(read(table, seen) == read(wanted, seen));
  }
  std::filesystem::remove_all(folder);
}

}  // namespace base_test
