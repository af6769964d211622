#include "store/updates/deferred.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "store/errors.h"
#include "store/simd.h"

namespace recmigrate {
namespace {

constexpr std::size_t kMostSteps = std::size_t{1} << 22;  // 64 MiB of sums
constexpr double kLeastLeft = 1e-250;
constexpr std::size_t kLongestSeries = 4096;
constexpr double kNothing = 1e-12;    // what later steps may add to a sum, relative
constexpr double kTolerance = 1e-7;   // of a sum, relative: the error of a float
constexpr double kBelowFloat = 1e-9;  // a movement that a float does not show, relative

bool is_adam(OptimizerKind kind) noexcept { return kind != OptimizerKind::keras_momentum; }

// Whether the betas are given, and not 1 - beta.
bool gives_betas(OptimizerKind kind) noexcept {
  return kind == OptimizerKind::adam || kind == OptimizerKind::adam_scaled;
}

// The factors by which a step multiplies a slot.
double factor1(const Update& update) noexcept {
  const double setting = update.hyper[1];
  return gives_betas(update.kind) || !is_adam(update.kind) ? setting : 1.0 - setting;
}

double factor2(const Update& update) noexcept {
  if (!is_adam(update.kind)) return 0.0;
  const double setting = update.hyper[2];
  return gives_betas(update.kind) ? setting : 1.0 - setting;
}

std::array<float, kMaxHyper> constants_of(const Update& update) noexcept {
  std::array<float, kMaxHyper> constants = update.hyper;
  constants[0] = 0;
  if (update.kind == OptimizerKind::keras_adamw) constants[4] = constants[5] = 0;
  if (update.kind == OptimizerKind::adam_scaled) constants[4] = 0;
  return constants;
}

double decay_of(const Update& update) noexcept {
  return update.kind == OptimizerKind::keras_adamw ? double{update.hyper[4] * update.hyper[5]} : 0.0;
}

inline float adam_moved(const DeferredSteps& steps, float w, float m, float v) noexcept {
  const float over = 1.0F / (std::sqrt(v) + steps.epsilon);
  const float u = steps.epsilon * over;
  const float sum = steps.terms[0] - u * (steps.terms[1] - u * (steps.terms[2] - u * steps.terms[3]));
  return (w - m * over * sum) * steps.left;
}

RECMIGRATE_VECTOR_CLONES
void adam_value(const DeferredSteps& steps, const float* row, std::size_t dim, float* __restrict out) noexcept {
  for (std::size_t i = 0; i < dim; ++i) out[i] = adam_moved(steps, row[i], row[dim + i], row[2 * dim + i]);
}

RECMIGRATE_VECTOR_CLONES
void adam_row(const DeferredSteps& given, float* __restrict w, float* __restrict m, float* __restrict v,
              std::size_t dim) noexcept {
  const DeferredSteps steps = given;
  for (std::size_t i = 0; i < dim; ++i) {
    w[i] = adam_moved(steps, w[i], m[i], v[i]);
    m[i] *= steps.factor1;
    v[i] *= steps.factor2;
  }
}

}  // namespace

Powers::Powers(double base) : low_{}, high_{} {
  low_[0] = high_[0] = 1.0;
  for (std::size_t i = 1; i < kTable; ++i) low_[i] = low_[i - 1] * base;
  const double block = low_[kTable - 1] * base;
  for (std::size_t i = 1; i < kTable; ++i) high_[i] = high_[i - 1] * block;
}

float Powers::operator()(std::uint32_t exponent) const noexcept {
  double power = low_[exponent % kTable];
  std::size_t blocks = exponent / kTable;
  for (; blocks >= kTable && power > 1e-30; blocks -= kTable - 1) power *= high_[kTable - 1];
  if (blocks < kTable) power *= high_[blocks];
  return power < 1e-30 ? 0.0F : static_cast<float>(power);
}

Deferred::Deferred(const Update& update)
    : kind_(update.kind), constants_(constants_of(update)), power1_(factor1(update)), power2_(factor2(update)) {
  if (kind_ == OptimizerKind::keras_adamw) left_.push_back(1.0);
  if (is_adam(kind_)) {
    const double q = 1.0 / std::sqrt(factor2(update));
    const double r = factor1(update) * q;
    double part = 1.0;
    double power = 1.0;
    double all = 0.0;
    weights_.push_back({});
    while (r < 1.0 && part > kNothing && weights_.size() <= kLongestSeries) {
      part *= r;
      power *= q;
      const double more = power - 1.0;
      weights_.push_back({part, part * more, part * more * more, part * more * more * more});
      all += part;
      remainder_ += part * more * more * more * more;
    }
    remainder_ /= std::max(all, 1e-300);
    series_ = r < 1.0 && weights_.size() <= kLongestSeries;
    recent_.assign(series_ ? weights_.size() : 0, Terms{});
  }
}

bool Deferred::fits(const Update& update) const noexcept {
  const std::array<float, kMaxHyper> constants = constants_of(update);  // their bits: a NaN never equals itself
  // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison)
  return update.kind == kind_ && !update.term.present && std::memcmp(&constants, &constants_, sizeof constants) == 0;
}

bool Deferred::needs_sizes() const noexcept {
  return is_adam(kind_) && (!series_ || remainder_ > kTolerance || scales_epsilon());
}

bool Deferred::full() const noexcept { return now_ >= kMostSteps || shrinkage() < kLeastLeft; }

std::size_t Deferred::bytes() const noexcept {
  return terms_.capacity() * sizeof terms_[0] + left_.capacity() * sizeof(double) +
         (sizes_.capacity() + shares_.capacity()) * sizeof(float);
}

void Deferred::check(const Update& update) const {
  if (!(decay_of(update) < 1.0)) {
    fail_invalid("weight_decay times the learning rate is " + std::to_string(decay_of(update)) +
                 " and would leave nothing of a value; it must be below 1");
  }
}

void Deferred::reserve() {
  if (has_room()) return;
  const std::size_t room = std::max<std::size_t>(1024, now_ + now_ / 2);
  if (!left_.empty()) left_.reserve(room + 1);
  if (needs_sizes()) sizes_.reserve(room);
  if (scales_epsilon()) shares_.reserve(room);
  if (is_adam(kind_) && series_) terms_.reserve(room);
  room_ = static_cast<std::uint32_t>(room);
}

void Deferred::append(const Update& update) noexcept {
  const double size = update.hyper[0];
  if (!left_.empty()) left_.push_back(left_.back() * (1.0 - decay_of(update)));
  if (needs_sizes()) {
    sizes_.push_back(update.hyper[0]);
    largest_ = std::max(largest_, std::fabs(update.hyper[0]));
  }
  const double share = scales_epsilon() ? double{update.hyper[4]} / update.hyper[3] : 1.0;
  if (scales_epsilon()) shares_.push_back(static_cast<float>(share));
  ++now_;
  if (!is_adam(kind_) || !series_) return;
  const std::size_t ring = recent_.size();
  terms_.push_back({});  // for rows that took step now_ - 1 last
  recent_[(now_ - 1) % ring] = Terms{};
  for (std::size_t j = 1; j < std::min<std::size_t>(ring, now_ + std::size_t{1}); ++j) {
    const std::size_t from = now_ - j;
    const double scaled = size / (left_.empty() ? 1.0 : left_[now_] / left_[from]);
    Terms& sums = recent_[from % ring];
    Terms weights = weights_[j];
    if (share != 1.0) {
      const double more = share * (weights[1] / weights[0] + 1.0) - 1.0;
      for (std::size_t n = 1; n < kTerms; ++n) weights[n] = weights[n - 1] * more;
    }
    for (std::size_t n = 0; n < kTerms; ++n) {
      sums[n] += scaled * weights[n];
      terms_[from][n] = static_cast<float>(sums[n]);
    }
  }
}

// What the steps since `from` add to the value because of a momentum slot.
float Deferred::momentum_since(std::uint32_t from) const noexcept {
  const double momentum = constants_[1];
  const double steps = now_ - from;
  const double sum = momentum < 1.0 ? momentum * (1.0 - double{power1_(now_ - from)}) / (1.0 - momentum) : steps;
  return static_cast<float>(constants_[2] != 0.0F ? momentum * sum : sum);
}

DeferredSteps Deferred::steps_since(std::uint32_t from) const noexcept {
  DeferredSteps steps{};
  std::copy_n(terms_[from].data(), kTerms, steps.terms);
  steps.left = static_cast<float>(shrinkage_since(from));
  steps.epsilon = constants_[3];
  steps.factor1 = power1_(now_ - from);
  steps.factor2 = power2_(now_ - from);
  return steps;
}

void Deferred::value(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept {
  if (from >= now_) {
    std::copy_n(row, dim, out);
  } else if (!is_adam(kind_)) {
    const float factor = momentum_since(from);
    for (std::size_t i = 0; i < dim; ++i) out[i] = row[i] + row[dim + i] * factor;
  } else if (needs_steps(row, from, dim)) {
    take_steps(row, from, dim, out);
  } else {
    adam_value(steps_since(from), row, dim, out);
  }
}

void Deferred::from_start(float* value, const SlotStarts& /*starts*/, std::size_t dim) const noexcept {
  const auto factor = static_cast<float>(shrinkage());
  for (std::size_t i = 0; factor != 1.0F && i < dim; ++i) value[i] *= factor;
}

void Deferred::catch_up(float* row, std::uint32_t from, std::size_t dim) const noexcept {
  if (from >= now_) return;
  if (is_adam(kind_) && !needs_steps(row, from, dim))
    return adam_row(steps_since(from), row, row + dim, row + 2 * dim, dim);
  value(row, from, dim, row);
  for (std::size_t i = dim; i < 2 * dim; ++i) row[i] *= power1_(now_ - from);
  for (std::size_t i = 2 * dim; is_adam(kind_) && i < 3 * dim; ++i) row[i] *= power2_(now_ - from);
}

void Deferred::copy(const float* row, std::uint32_t from, std::size_t dim, float* out, float* slots) const noexcept {
  value(row, from, dim, out);
  const std::uint32_t steps = from < now_ ? now_ - from : 0;
  const float factors[2] = {power1_(steps), power2_(steps)};
  for (std::size_t s = 0; s < slot_count(kind_); ++s) {
    for (std::size_t i = s * dim; i < (s + 1) * dim; ++i) slots[i] = row[dim + i] * factors[s];
  }
}

// Whether the series would omit more than a float shows: for epsilons near sqrt(v), with unusual betas.
bool Deferred::needs_steps(const float* row, std::uint32_t from, std::size_t dim) const noexcept {
  if (!series_) return true;
  const double less = shares_.empty() ? 0.0 : 1.0 - double{shares_[from]};  // of all later steps at most
  const double remainder = remainder_ + less * less * less * less;
  if (remainder <= kTolerance) return false;
  for (std::size_t i = 0; i < dim; ++i) {
    if (row[dim + i] == 0.0F) continue;
    const double u = constants_[3] / (std::sqrt(double{row[2 * dim + i]}) + constants_[3]);
    if (!(u * u * u * u * remainder <= kTolerance)) return true;
  }
  return false;
}

// Until the rest of the movement is too small to be visible.
void Deferred::take_steps(const float* row, std::uint32_t from, std::size_t dim, float* out) const noexcept {
  Update update;
  update.kind = kind_;
  update.hyper = constants_;
  const double b1 = factor1(update);
  const double b2 = factor2(update);
  const double r = b1 / std::sqrt(b2);
  for (std::size_t i = 0; i < dim; ++i) {
    double w = row[i];
    double m = row[dim + i];
    double v = row[2 * dim + i];
    std::uint32_t s = from;
    while (s < now_) {
      const double epsilon = shares_.empty() ? double{constants_[3]} : double{constants_[3]} * shares_[s];
      const double rest = r < 1.0 ? 1.0 / ((std::sqrt(v) + epsilon) * (1.0 - r)) : 1.0 / (epsilon * (1.0 - b1));
      if (largest_ * std::fabs(m) * rest <= kBelowFloat * std::fabs(w)) break;
      ++s;
      if (!left_.empty()) w *= left_[s] / left_[s - 1];
      m *= b1;
      v *= b2;
      w -= sizes_[s - 1] * m / (std::sqrt(v) + epsilon);
    }
    out[i] = static_cast<float>(left_.empty() ? w : w * (left_[now_] / left_[s]));
  }
}

}  // namespace recmigrate
