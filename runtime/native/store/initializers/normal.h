// Logarithm and inverse normal distribution with bit-equal results everywhere (libm's differ between versions and
// CPUs).
#pragma once

namespace recmigrate {

// Natural logarithm of a positive normal number; relative error below 1e-15.
[[nodiscard]] double portable_log(double x) noexcept;

// x with P(N(0,1) < x) = p, for 0 < p < 1; relative error about 1e-15.
// Wichura, "Algorithm AS 241" (PPND16), Applied Statistics 37 (1988).
[[nodiscard]] double inverse_normal(double p) noexcept;

}  // namespace recmigrate
