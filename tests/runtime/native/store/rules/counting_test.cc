// Tables whose updates count their keys, and initial rows out of a matrix.
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace counting_test {

using recmigrate::Admission;
using recmigrate::InvalidInput;
using recmigrate::kNever;
using recmigrate::OptimizerKind;
using recmigrate::Table;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

Admission rules(std::int64_t threshold, std::int64_t now, std::int64_t bloom = 0) {
  Admission result;
  result.threshold = threshold;
  result.now = now;
  result.bloom.max_elements = bloom;
  return result;
}

struct Known {
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> times;
};

Known known(const Table& table, const std::vector<std::int64_t>& keys) {
  Known result{std::vector<std::int64_t>(keys.size()), std::vector<std::int64_t>(keys.size())};
  table.sightings(keys.data(), keys.size(), result.counts.data(), result.times.data());
  return result;
}

std::vector<float> permitted_rows(Table& table, const std::vector<std::int64_t>& keys, std::vector<int>& permitted) {
  std::vector<float> rows(keys.size() * table.dim(), -1.0F);
  const std::unique_ptr<bool[]> found(new bool[keys.size()]);
  table.lookup_permitted(keys.data(), keys.size(), rows.data(), found.get());
  permitted.assign(found.get(), found.get() + keys.size());
  return rows;
}

TEST(counting_updates_admit_what_was_seen_often_enough) {
  for (const std::int64_t bloom : {0, 5000}) {
    Table table(fixtures::config(2));
    std::mt19937_64 random(5);
    std::map<std::int64_t, std::int64_t> counts;
    std::map<std::int64_t, std::int64_t> times;
    std::map<std::int64_t, std::int64_t> trained;  // occurrences whose gradient counted
    for (std::int64_t step = 0; step < 40; ++step) {
      std::vector<std::int64_t> keys(random() % 200);
      for (auto& key : keys) key = static_cast<std::int64_t>(random() % 300) - 20;
      const std::vector<float> grads(2 * keys.size(), 1.0F);
      table.apply_and_count(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::sgd),
                            rules(3, step, bloom));
      for (const std::int64_t key : keys) ++counts[key], times[key] = step;
      std::map<std::int64_t, std::int64_t> here;
      for (const std::int64_t key : keys) ++here[key];
      for (const auto& [key, more] : here) {
        if (counts[key] >= 3) trained[key] += more;
      }
    }
    std::vector<std::int64_t> keys{kLeast, 5000};
    std::size_t waiting = 0;
    for (const auto& [key, count] : counts) {
      keys.push_back(key);
      waiting += count < 3;
    }
    CHECK(table.size() == counts.size() - waiting);
    CHECK(table.waiting() == (bloom == 0 ? waiting : 0));
    const Known seen = known(table, keys);
    std::vector<int> permitted;
    const std::vector<float> rows = permitted_rows(table, keys, permitted);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto count = counts.find(keys[i]);
      const bool has_row = count != counts.end() && count->second >= 3;
      CHECK(permitted[i] == has_row);
      CHECK(seen.counts[i] == (count == counts.end() ? 0 : count->second));
      if (bloom == 0 || has_row) CHECK(seen.times[i] == (count == counts.end() ? kNever : times[keys[i]]));
      float start[2] = {0, 0};
      if (has_row) table.initial_row(keys[i], start);
      for (std::size_t column = 0; column < 2; ++column) {
        const float steps = has_row ? 0.1F * static_cast<float>(trained[keys[i]]) : 0.0F;
        CHECK(std::fabs(rows[2 * i + column] - (start[column] - steps)) < 1e-4F);
      }
    }
  }
}

TEST(counting_knows_nothing_before_the_first_update) {
  Table table(fixtures::config());
  const std::vector<std::int64_t> keys{1, 2};
  std::vector<float> rows(2 * table.dim());
  table.lookup_or_insert(keys.data(), 1, rows.data());
  const Known seen = known(table, keys);
  CHECK(seen.counts == std::vector<std::int64_t>(2, 0) && seen.times == std::vector<std::int64_t>(2, kNever));
  CHECK(table.waiting() == 0);
  std::vector<int> permitted;
  permitted_rows(table, keys, permitted);
  CHECK(permitted == (std::vector<int>{1, 0}));
}

TEST(counting_rules_out_of_range_change_nothing) {
  Table table(fixtures::config());
  const std::int64_t key = 1;
  const std::vector<float> grads(table.dim(), 1.0F);
  CHECK_THROWS(InvalidInput,
               table.apply_and_count(&key, 1, grads.data(), fixtures::update(OptimizerKind::sgd), rules(-1, 0)),
               "access threshold of -1");
  CHECK(table.size() == 0 && table.waiting() == 0);
}

TEST(initial_rows_come_out_of_a_matrix) {
  Table table(fixtures::config(2));
  const std::vector<float> matrix{0, 1, 2, 3, 4, 5};
  CHECK_THROWS(InvalidInput, table.set_initial_rows(matrix.data(), 0, false), "matrix that has no rows");
  table.set_initial_rows(matrix.data(), 3, false);
  const std::vector<std::int64_t> keys{0, 1, 2, 3, -1, -3, -4, kLeast, std::numeric_limits<std::int64_t>::max()};
  const std::vector<std::size_t> wanted{0, 1, 2, 0, 2, 0, 2, 1, 1};  // -2^63 mod 3 is 1
  std::vector<float> rows(2 * keys.size());
  table.lookup_or_insert(keys.data(), keys.size(), rows.data());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    CHECK(rows[2 * i] == matrix[2 * wanted[i]] && rows[2 * i + 1] == matrix[2 * wanted[i] + 1]);
  }
  const std::vector<float> other{9, 9};
  float row[2];
  table.set_initial_rows(other.data(), 1, true);
  table.initial_row(77, row);
  CHECK(row[0] == 4);
  table.reset();
  table.set_initial_rows(other.data(), 1, false);
  table.initial_row(77, row);
  CHECK(row[0] == 9);
}

}  // namespace counting_test
