// Initial rows: golden bits (a checkpoint's unseen keys depend on them), distributions, and texts that are refused.
#include "store/initializers/initializer.h"

#include <algorithm>
#include <cmath>

#include "check.h"
#include "store/errors.h"

namespace {

using recmigrate::Initializer;

std::vector<float> rows(const std::string& text, std::size_t dim, std::size_t count, std::int64_t seed = 42) {
  const Initializer initializer(text, dim, "table 't'");
  std::vector<float> values(dim * count);
  for (std::size_t i = 0; i < count; ++i) initializer.fill(seed, static_cast<std::int64_t>(i), &values[i * dim]);
  return values;
}

struct Moments {
  double mean = 0;
  double stddev = 0;
};

Moments moments(const std::vector<float>& values) {
  Moments result;
  for (const float value : values) result.mean += value / static_cast<double>(values.size());
  for (const float value : values) result.stddev += std::pow(value - result.mean, 2);
  result.stddev = std::sqrt(result.stddev / static_cast<double>(values.size()));
  return result;
}

bool near(double got, double wanted, double tolerance) { return std::fabs(got - wanted) <= tolerance; }

TEST(initializer_golden_bits) {
  const char* text = "3:normal:0.0:1.0;2:constant:0.25:0.0;2:uniform:-1.0:1.0;2:truncated_normal:1.0:0.5";
  const std::vector<float> values = rows(text, 9, 50);
  CHECK_GOLDEN(check::Digest().add(values).value, 2681162748047825720ULL);
}

TEST(initializer_depends_on_seed_key_and_column_only) {
  const std::vector<float> one = rows("8:normal:0:1", 8, 3);
  CHECK(one == rows("8:normal:0:1", 8, 3));
  CHECK(one != rows("8:normal:0:1", 8, 3, 43));
  CHECK(one == rows("3:normal:0:1;5:normal:0:1", 8, 3));
  std::vector<float> sorted = one;
  std::sort(sorted.begin(), sorted.end());
  CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
}

TEST(initializer_normal_has_its_moments_and_tails) {
  const std::vector<float> values = rows("16:normal:0.5:2.0", 16, 20000);
  const Moments got = moments(values);
  CHECK(near(got.mean, 0.5, 0.02) && near(got.stddev, 2.0, 0.02));
  const auto beyond = std::count_if(values.begin(), values.end(), [](float v) { return std::fabs(v - 0.5F) > 3.92F; });
  CHECK(near(static_cast<double>(beyond) / static_cast<double>(values.size()), 0.05, 0.002));
}

TEST(initializer_truncated_normal_is_cut_at_two_deviations) {
  const std::vector<float> values = rows("16:truncated_normal:1.0:0.1", 16, 20000);
  const Moments got = moments(values);
  // A standard normal cut at +-2 has standard deviation 0.8796.
  CHECK(near(got.mean, 1.0, 0.001) && near(got.stddev, 0.08796, 0.0005));
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  CHECK(*low >= 0.8F && *low < 0.801F && *high <= 1.2F && *high > 1.199F);
}

TEST(initializer_uniform_is_flat_and_excludes_its_end) {
  const std::vector<float> values = rows("16:uniform:-0.05:0.05", 16, 20000);
  const Moments got = moments(values);
  CHECK(near(got.mean, 0.0, 0.0003) && near(got.stddev, 0.1 / std::sqrt(12.0), 0.0001));
  std::vector<int> bins(10);
  for (const float value : values) ++bins.at(static_cast<std::size_t>((value + 0.05F) * 100.0F));
  for (const int bin : bins) CHECK(near(bin, 32000, 1000));
  for (const float value : rows("1:uniform:1.0:1.0000001", 1, 5000)) CHECK(value == 1.0F);
  for (const float value : rows("1:uniform:3:3", 1, 10)) CHECK(value == 3.0F);
}

TEST(initializer_refuses_wrong_texts) {
  for (const char* text :
       {"", ";", "4", "4:normal", "4:normal:0", "4:norml:0:1", "-4:normal:0:1", "0:normal:0:1", "x:normal:0:1",
        "4:normal:0:1:2", "4:normal:nan:1", "4:normal:0:inf", "4:normal:0,5:1", "4:constant:1x", "4:normal:1e999:1"}) {
    CHECK_THROWS(recmigrate::InvalidInput, Initializer(text, 4, "table 'user'"), "table 'user'");
  }
  CHECK_THROWS(recmigrate::InvalidInput, Initializer("3:normal:0:1", 4, "table 'user'"), "covers 3 of its 4");
  CHECK_THROWS(recmigrate::InvalidInput, Initializer("3:normal:0:1;2:constant:0:0", 4, "t"), "more than its 4");
  CHECK_THROWS(recmigrate::InvalidInput, Initializer("9223372036854775807:constant:0:0", 4, "t"), "more than its 4");
  CHECK_THROWS(recmigrate::InvalidInput, Initializer("4:uniform:1:0", 4, "t"), "b below a");
  CHECK_THROWS(recmigrate::InvalidInput, Initializer("4:normal:0:-1", 4, "t"), "negative b");
}

}  // namespace
