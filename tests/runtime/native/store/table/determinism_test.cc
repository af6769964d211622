// Same inputs, same bits: for any number of threads, and the bits written here (a change breaks resumed trainings).
#include "check.h"
#include "fixtures.h"
#include "store/parallel.h"

namespace {

using fixtures::Snapshot;
using recmigrate::OptimizerKind;
using recmigrate::Table;

Snapshot trained(OptimizerKind kind, std::size_t threads) {
  recmigrate::parallel::set_thread_count(threads);
  Table table(fixtures::config(5));
  std::vector<float> out(12000 * table.dim());
  for (unsigned step = 0; step < 3; ++step) {
    const std::vector<std::int64_t> keys = fixtures::skewed_keys(12000, step);
    const std::vector<float> grads = fixtures::gradients(out.size(), step);
    table.lookup_or_insert(keys.data(), keys.size() / (step + 1), out.data());
    table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
  }
  return fixtures::snapshot(table);
}

void check_golden(OptimizerKind kind, std::uint64_t golden) {
  const Snapshot one = trained(kind, 1);
  for (const std::size_t threads : {2, 4, 7}) {
    const Snapshot many = trained(kind, threads);
    CHECK(fixtures::same_rows(one, many) && one.slots == many.slots);
  }
  const Snapshot rows = fixtures::sorted(one, 5);  // the order of rows may change, their bits may not
  const check::Digest digest = check::Digest().add(rows.keys).add(rows.values).add(rows.slots);
  CHECK_GOLDEN(digest.value, golden);
}

TEST(sgd_golden_bits_for_any_thread_count) { check_golden(OptimizerKind::sgd, 13283814249815896795ULL); }

TEST(adagrad_golden_bits_for_any_thread_count) { check_golden(OptimizerKind::adagrad, 8021181686849708636ULL); }

TEST(lazy_adam_golden_bits_for_any_thread_count) { check_golden(OptimizerKind::lazy_adam, 11980338708469730471ULL); }

}  // namespace
