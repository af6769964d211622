// Padding keys: rows that no update changes, by key and by address, in values and slots.
#include "check.h"
#include "fixtures.h"
#include "store/errors.h"

namespace {

using recmigrate::InvalidInput;
using recmigrate::OptimizerKind;
using recmigrate::Table;

recmigrate::TableConfig padded(const std::string& options) {
  auto config = fixtures::config(3);
  config.parse_options(options);
  return config;
}

bool is_padding(std::int64_t key) { return key == 0 || key == -7 || key == 5; }

TEST(updates_change_all_rows_but_those_of_padding_keys) {
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adagrad, OptimizerKind::lazy_adam}) {
    for (const bool by_address : {false, true}) {
      Table plain(padded("expansion=1"));
      Table table(padded("padding_keys=0,-7,5;expansion=1"));
      for (unsigned step = 0; step < 3; ++step) {
        const std::vector<std::int64_t> keys = fixtures::skewed_keys(step == 1 ? 40 : 20000, step);
        const std::vector<float> grads = fixtures::gradients(keys.size() * 3, step);
        plain.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
        if (by_address) {
          std::vector<std::int64_t> at(keys.size());
          table.addresses(keys.data(), keys.size(), at.data());
          table.apply_at(at.data(), at.size(), grads.data(), fixtures::update(kind));
        } else {
          table.apply(keys.data(), keys.size(), grads.data(), fixtures::update(kind));
        }
      }
      const auto wanted = fixtures::sorted(fixtures::snapshot(plain), 3);
      const auto got = fixtures::sorted(fixtures::snapshot(table), 3);
      CHECK(got.keys == wanted.keys);
      const std::size_t width = got.slots.size() / got.keys.size();
      const float start = kind == OptimizerKind::adagrad ? 0.5F : 0.0F;
      std::size_t paddings = 0;
      for (std::size_t i = 0; i < got.keys.size(); ++i) {
        std::vector<float> row(&wanted.values[i * 3], &wanted.values[i * 3] + 3);
        std::vector<float> slots(wanted.slots.data() + i * width, wanted.slots.data() + (i + 1) * width);
        if (is_padding(got.keys[i])) {
          table.initial_row(got.keys[i], row.data());
          slots.assign(width, start);
          ++paddings;
        }
        CHECK(std::equal(row.begin(), row.end(), &got.values[i * 3]));
        CHECK(std::equal(slots.begin(), slots.end(), got.slots.data() + i * width));
      }
      CHECK(paddings == 3);
    }
  }
}

TEST(padding_keys_may_be_the_extremes_and_nothing_but_whole_numbers) {
  const auto config = padded("padding_keys=-9223372036854775808,9223372036854775807,0");
  CHECK((config.padding_keys == std::vector<std::int64_t>{INT64_MIN, INT64_MAX, 0}));
  for (const char* wrong : {"", "1,", ",1", "1,,2", "x", "1 2", "9223372036854775808", "1.5"}) {
    CHECK_THROWS(InvalidInput, padded(std::string("padding_keys=") + wrong), "padding_keys=");
  }
}

}  // namespace
