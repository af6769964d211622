// Sums, divisors and gradients of pooling, beside plain loops in double.
#include "store/lookup/pooling.h"

#include <cmath>
#include <random>

#include "check.h"
#include "store/errors.h"

namespace {

using namespace recmigrate;

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-5 * (1 + std::fabs(b)); }

TEST(pieces_of_rows_make_up_their_bag) {
  for (std::size_t count = 0; count < 60; ++count) {
    std::size_t rest = count - first_piece(count);
    CHECK(first_piece(count) <= kPiece && rest % 8 == 0 && (count == 0) == (first_piece(count) == 0));
  }
}

TEST(rows_are_added_whatever_their_number_and_width) {
  for (std::size_t dim : {1U, 3U, 16U, 33U}) {
    for (std::size_t count = 1; count <= kPiece; ++count) {
      const std::vector<float> rows = numbers(count * dim, 1);
      std::vector<const float*> places;
      for (std::size_t r = 0; r < count; ++r) places.push_back(&rows[r * dim]);
      std::vector<float> once(dim, 99.0F);
      add_rows(once.data(), places.data(), count, dim, false);
      std::vector<float> twice = once;
      add_rows(twice.data(), places.data(), count, dim, true);
      for (std::size_t c = 0; c < dim; ++c) {
        double sum = 0;
        for (std::size_t r = 0; r < count; ++r) sum += static_cast<double>(rows[r * dim + c]);
        CHECK(near(once[c], sum) && near(twice[c], 2 * sum));
      }
    }
  }
}

TEST(divisors_and_division) {
  const std::vector<float> weights = {3.0F, -4.0F};
  CHECK(divisor(combiner_named("sum"), weights.data(), 2) == 1.0F);
  CHECK(divisor(combiner_named("mean"), weights.data(), 2) == -1.0F);
  CHECK(divisor(combiner_named("sqrtn"), weights.data(), 2) == 5.0F);
  CHECK(divisor(Combiner::mean, nullptr, 4) == 4.0F && divisor(Combiner::sqrtn, nullptr, 4) == 2.0F);
  CHECK_THROWS(InvalidInput, static_cast<void>(combiner_named("max")), "combiner 'max'");
  std::vector<float> row = {1.0F, 2.0F};
  divide(row.data(), row.data(), 0.0F, 2);
  CHECK(row[0] == 0.0F && row[1] == 0.0F);
}

TEST(the_gradient_of_clipping_is_its_slope) {
  for (const float max_norm : {0.5F, 100.0F}) {
    const std::vector<float> row = numbers(5, 2);
    const std::vector<float> direction = numbers(5, 3);
    std::vector<float> gradient = direction;
    clip_gradient(gradient.data(), row.data(), max_norm, 5);
    for (std::size_t c = 0; c < 5; ++c) {
      double moved[2];
      for (const int side : {0, 1}) {
        std::vector<float> other = row;
        other[c] += side == 0 ? -1e-2F : 1e-2F;
        clip_row(other.data(), other.data(), max_norm, 5);
        moved[side] = static_cast<double>(dot(other.data(), direction.data(), 5));
      }
      CHECK(std::fabs((moved[1] - moved[0]) / 2e-2 - static_cast<double>(gradient[c])) < 1e-2);
    }
  }
}

TEST(weighted_sums_by_number) {
  const std::vector<float> rows = numbers(4 * 3, 4);
  const std::vector<std::uint32_t> named = {0, 1, 0, 2, 1};
  const std::vector<std::uint32_t> positions = {3, 0, 1, 3, 2};
  const std::vector<float> weights = {0.5F, 2.0F, -1.0F, 0.0F, 3.0F};
  std::vector<float> sums(9, 7.0F);
  sum_weighted_rows(sums.data(), named.data(), rows.data(), positions.data(), weights.data(), 5, 3);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(near(sums[c], static_cast<double>(0.5F * rows[9 + c] - rows[3 + c])));
    CHECK(near(sums[3 + c], static_cast<double>(2.0F * rows[c] + 3.0F * rows[6 + c])));
    CHECK(sums[6 + c] == 0.0F);
  }
}

}  // namespace
