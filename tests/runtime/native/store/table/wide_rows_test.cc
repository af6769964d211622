// Wide rows are copied, and on one thread their gradients summed, in the order of the ids: the same rows as one by one,
// new and old, from many threads or one.
#include <cmath>
#include <map>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"
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

constexpr std::size_t kThreads[] = {1, 3};

// The rows of keys after one update, where the gradients of each key are summed one after the other.
std::map<std::int64_t, std::vector<float>> updated(const Table& before, const std::vector<std::int64_t>& keys,
                                                   const std::vector<float>& grads, const recmigrate::Update& update) {
  const std::size_t dim = before.dim();
  std::map<std::int64_t, std::vector<float>> rows;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [at, fresh] = rows.try_emplace(keys[i], &grads[i * dim], &grads[(i + 1) * dim]);
    for (std::size_t c = 0; !fresh && c < dim; ++c) at->second[c] += grads[i * dim + c];
  }
  for (auto& [key, row] : rows) {
    const std::vector<float> sum = row;
    row.resize(2 * dim);
    before.initial_row(key, row.data());
    std::fill(row.begin() + static_cast<std::ptrdiff_t>(dim), row.end(), update.starts[0]);
    float* const one[] = {row.data()};
    recmigrate::apply_update(update, one, sum.data(), nullptr, 1, dim);
    row.resize(dim);
  }
  return rows;
}

TEST(wide_gradients_of_equal_keys_are_summed_in_input_order) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(9000, 5);
  const recmigrate::Update update = fixtures::update(fixtures::OptimizerKind::adagrad);
  for (const std::int64_t dim : {31, 32, 64, 100}) {
    const auto width = static_cast<std::size_t>(dim);
    const std::vector<float> grads = fixtures::gradients(keys.size() * width, 6);
    const auto wanted = updated(Table(fixtures::config(dim)), keys, grads, update);
    for (const std::size_t threads : kThreads) {
      recmigrate::parallel::set_thread_count(threads);
      Table table(fixtures::config(dim));
      table.apply(keys.data(), keys.size(), grads.data(), update);
      std::vector<float> row(width);
      for (const auto& [key, expected] : wanted) {
        table.lookup(&key, 1, row.data());
        CHECK(row == expected);
      }
    }
  }
}

TEST(a_wide_gradient_that_is_no_number_changes_no_row) {
  const std::vector<std::int64_t> keys = fixtures::skewed_keys(9000, 7);
  std::vector<float> grads = fixtures::gradients(keys.size() * 32, 8);
  grads[5000 * 32 + 31] = INFINITY;
  for (const std::size_t threads : kThreads) {
    recmigrate::parallel::set_thread_count(threads);
    Table table(fixtures::config(32));
    std::vector<float> before(keys.size() * 32);
    table.lookup_or_insert(keys.data(), keys.size(), before.data());
    CHECK_THROWS(recmigrate::InvalidInput,
                 table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(fixtures::OptimizerKind::sgd)),
                 "the gradient for key " + std::to_string(keys[5000]) + " of");
    std::vector<float> after(before.size());
    table.lookup(keys.data(), keys.size(), after.data());
    CHECK(after == before);
  }
}

}  // namespace
}  // namespace wide_rows
