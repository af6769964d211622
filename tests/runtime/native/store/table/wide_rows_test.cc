// Wide rows are copied in the order of the ids: the same rows as one by one, new and old, from many threads or one.
#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace wide_rows {
namespace {

using recmigrate::Table;

TEST(wide_rows_are_those_of_their_ids) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(20000, 3);
  for (const std::int64_t dim : {31, 32, 64, 100}) {
    for (const std::size_t threads : {1, 3}) {
      recmigrate::parallel::set_thread_count(threads);
      Table table(fixtures::config(dim));
      const auto width = static_cast<std::size_t>(dim);
      std::vector<float> rows(keys.size() * width);
      table.lookup_or_insert(keys.data(), keys.size() / 2, rows.data());
      std::vector<float> grads = fixtures::gradients(rows.size() / 2, 4);
      table.apply(keys.data(), keys.size() / 2, grads.data(), fixtures::update(fixtures::OptimizerKind::sgd));
      table.lookup_or_insert(keys.data(), keys.size(), rows.data());
      std::vector<float> row(width);
      for (std::size_t i = 0; i < keys.size(); i += 7) {
        table.lookup(&keys[i], 1, row.data());
        CHECK(std::equal(row.begin(), row.end(), &rows[i * width]));
      }
    }
  }
}

}  // namespace
}  // namespace wide_rows
