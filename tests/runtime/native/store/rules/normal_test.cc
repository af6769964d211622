// The generator against the published vectors, log and inverse normal distribution against reference values.
#include "store/initializers/normal.h"

#include <cmath>

#include "check.h"
#include "store/initializers/philox.h"

namespace {

using recmigrate::inverse_normal;
using recmigrate::philox;
using recmigrate::portable_log;
using recmigrate::Words;

bool close(double got, double wanted, double tolerance) {
  return std::fabs(got - wanted) <= tolerance * std::fabs(wanted);
}

TEST(philox_gives_the_published_vectors) {
  CHECK((philox({0, 0, 0, 0}, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  CHECK((philox({~0U, ~0U, ~0U, ~0U}, ~0U, ~0U) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  CHECK((philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
         Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(log_is_accurate_over_the_whole_range) {
  CHECK(portable_log(1.0) == 0.0);
  for (double x = 1e-300; x < 1e300; x *= 1.37) CHECK(close(portable_log(x), std::log(x), 1e-15));
  for (double x = 0.5; x < 2.0; x += 0.00137) CHECK(close(portable_log(x), std::log(x), 4e-15));
}

TEST(inverse_normal_matches_reference_values) {
  CHECK(inverse_normal(0.5) == 0.0);
  CHECK(close(inverse_normal(0.975), 1.9599639845400542, 1e-15));
  CHECK(close(inverse_normal(0.02275013194817921), -2.0, 1e-15));
  CHECK(close(inverse_normal(1e-3), -3.0902323061678136, 1e-15));
  CHECK(close(inverse_normal(1e-10), -6.3613409024040566, 1e-15));
  CHECK(close(inverse_normal(1e-20), -9.262340089798408, 1e-15));
}

TEST(inverse_normal_inverts_the_distribution) {
  double last = -100;
  for (double p = 1e-12; p < 1; p = p < 0.01 ? p * 1.1 : p + 0.0007) {
    const double x = inverse_normal(p);
    CHECK(x > last);
    CHECK(close(0.5 * std::erfc(-x / std::sqrt(2.0)), p, 1e-13));
    last = x;
  }
}

}  // namespace
