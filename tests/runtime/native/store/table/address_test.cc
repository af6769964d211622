// Addresses and deletion: rows by address, stale and invented addresses, places used again.
#include <map>

#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using recmigrate::InvalidInput;
using recmigrate::OptimizerKind;
using recmigrate::Table;

using Ids = std::vector<std::int64_t>;

recmigrate::TableConfig expanding(std::int64_t dim) {
  auto config = fixtures::config(dim);
  config.parse_options("expansion=1");
  return config;
}

Ids addresses(Table& table, const Ids& keys) {
  Ids out(keys.size());
  table.addresses(keys.data(), keys.size(), out.data());
  return out;
}

std::vector<float> rows_at(const Table& table, const Ids& at) {
  std::vector<float> out(at.size() * table.dim());
  table.lookup_at(at.data(), at.size(), out.data());
  return out;
}

TEST(updates_by_address_equal_those_by_key) {
  Table by_key(expanding(3));
  Table by_address(expanding(3));
  for (unsigned step = 0; step < 3; ++step) {
    const Ids keys = fixtures::skewed_keys(9000, step);
    const std::vector<float> grads = fixtures::gradients(keys.size() * 3, step);
    const Ids at = addresses(by_address, keys);
    by_key.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::lazy_adam));
    by_address.apply_at(at.data(), at.size(), grads.data(), fixtures::update(OptimizerKind::lazy_adam));
    std::vector<float> wanted(keys.size() * 3);
    by_key.lookup(keys.data(), keys.size(), wanted.data());
    CHECK(rows_at(by_address, addresses(by_address, keys)) == wanted);
  }
  CHECK(by_key.size() == by_address.size());
}

TEST(updates_by_address_square_gradients_one_by_one_as_those_by_key_do) {
  recmigrate::Update update = fixtures::update(OptimizerKind::adagrad);
  update.squares_apart = true;
  Table by_key(expanding(3));
  Table by_address(expanding(3));
  const Ids keys = {1, 2, 1};
  const std::vector<float> grads = fixtures::gradients(9, 1);
  const Ids at = addresses(by_address, keys);
  by_key.apply(keys.data(), 3, grads.data(), update);
  by_address.apply_at(at.data(), 3, grads.data(), update);
  std::vector<float> wanted(9);
  by_key.lookup(keys.data(), 3, wanted.data());
  CHECK(rows_at(by_address, at) == wanted);
}

TEST(an_address_survives_growth_and_the_first_update_but_not_deletion) {
  Table table(expanding(2));
  const Ids at = addresses(table, {1, 2});
  const std::vector<float> before = rows_at(table, at);
  addresses(table, fixtures::skewed_keys(50000, 1));
  const std::vector<float> none(4, 0.0F);
  table.apply_at(at.data(), 2, none.data(), fixtures::update(OptimizerKind::adagrad));
  CHECK(rows_at(table, at) == before);
  const Ids one = {1};
  CHECK(table.remove(one.data(), 1) == 1 && table.remove(one.data(), 1) == 0);
  CHECK_THROWS(InvalidInput, rows_at(table, at), std::to_string(at[0]) + " at position 0");
  addresses(table, {1});
  CHECK_THROWS(InvalidInput, rows_at(table, {at[1], at[0]}), "at position 1");
  CHECK(rows_at(table, {at[1]}) == std::vector<float>(before.begin() + 2, before.end()));
}

TEST(an_address_from_before_a_reset_or_restore_or_of_another_table_is_refused) {
  Table table(expanding(2));
  Table other(expanding(2));
  const Ids at = addresses(table, {1});
  addresses(other, {1});
  CHECK_THROWS(InvalidInput, rows_at(other, at), "is not that of a row of table 'user'");
  const auto rows = fixtures::snapshot(table);
  for (int round = 0; round < 3; ++round) {
    fixtures::import_rows(table, rows);
    CHECK_THROWS(InvalidInput, rows_at(table, at), "before a reset or restore");
    table.reset();
    addresses(table, {1});  // in the same place, with the same generation
    CHECK_THROWS(InvalidInput, rows_at(table, at), "before a reset or restore");
    const std::vector<float> grads = {1.0F, 1.0F};
    const auto update = [&] { table.apply_at(at.data(), 1, grads.data(), fixtures::update(OptimizerKind::sgd)); };
    CHECK_THROWS(InvalidInput, update(), "before a reset or restore");
  }
  CHECK(rows_at(table, addresses(table, {1})) == rows.values);
}

TEST(invented_addresses_are_refused_before_anything_changes) {
  Table table(expanding(1));
  const Ids at = addresses(table, {5});
  const std::vector<float> grads = {1.0F, 1.0F};
  const auto before = rows_at(table, at);
  for (const std::int64_t wrong :
       {std::int64_t{0}, std::int64_t{-1}, at[0] + 1, at[0] ^ (std::int64_t{1} << 33), INT64_MAX}) {
    const Ids both = {at[0], wrong};
    const auto apply = [&] { table.apply_at(both.data(), 2, grads.data(), fixtures::update(OptimizerKind::sgd)); };
    CHECK_THROWS(InvalidInput, apply(), std::to_string(wrong) + " at position 1");
  }
  CHECK(rows_at(table, at) == before);
  Table plain(fixtures::config(1));
  CHECK_THROWS(InvalidInput, addresses(plain, {5}), "have no addresses");
  CHECK_THROWS(InvalidInput, rows_at(plain, at), "have no addresses");
}

TEST(deleted_rows_lose_their_slots_and_their_places_are_used_again) {
  Table table(fixtures::config(4));
  const Ids keys = fixtures::skewed_keys(20000, 1);
  const std::vector<float> grads = fixtures::gradients(keys.size() * 4, 1);
  table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(OptimizerKind::adagrad));
  const std::size_t size = table.size();
  const std::size_t bytes = table.bytes();
  const std::size_t even = table.remove_if([](std::int64_t key, const float*) { return key % 2 == 0; });
  CHECK(even > 1000 && table.size() == size - even);
  for (const std::int64_t key : fixtures::snapshot(table).keys) CHECK(key % 2 != 0);
  std::vector<float> out(keys.size() * 4);
  table.lookup_or_insert(keys.data(), keys.size(), out.data());
  CHECK(table.size() == size && table.bytes() < bytes + size * 8);
  const auto got = fixtures::snapshot(table);
  std::vector<float> initial(4);
  for (std::size_t i = 0; i < got.keys.size(); ++i) {
    if (got.keys[i] % 2 != 0) continue;
    table.initial_row(got.keys[i], initial.data());
    for (std::size_t c = 0; c < 4; ++c) CHECK(got.values[4 * i + c] == initial[c] && got.slots[4 * i + c] == 0.5F);
  }
}

TEST(a_table_refuses_to_outgrow_its_memory) {
  auto config = fixtures::config(16);
  config.parse_options("max_bytes=200000");
  Table table(config);
  Ids keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::int64_t>(i);
  std::vector<float> out(4000 * 16);
  table.lookup_or_insert(keys.data(), keys.size(), out.data());
  Ids more(4000);
  for (std::size_t i = 0; i < more.size(); ++i) more[i] = static_cast<std::int64_t>(i);
  CHECK_THROWS(recmigrate::LimitReached, table.lookup_or_insert(more.data(), more.size(), out.data()),
               "max_bytes of 200000");
  CHECK(table.size() >= 1000 && table.bytes() <= 210000);
  CHECK_THROWS(InvalidInput, config.parse_options("max_bytes=-1"), "whole number");
  CHECK_THROWS(InvalidInput, config.parse_options("shape=round"), "unknown option 'shape=round'");
}

}  // namespace
