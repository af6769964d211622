// RecWholeTableNorms: the norms of all rows of a table, for a term of the loss; RecWholeTableGradient: the gradient of
// such a term as rows of the table's gradient.
#include "ops/terms.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

// The keys of the three rows. A program whose ids have these values would train the term, not a row.
constexpr std::int64_t kHalfSquares = std::numeric_limits<std::int64_t>::min() + 0x7265631;
constexpr std::int64_t kAbsolutes = kHalfSquares + 1;
// A row that is not 0 whatever the factors are: what divides a gradient by its norm, which is infinite, makes it 0.
constexpr std::int64_t kWitness = kHalfSquares + 2;
constexpr int kRows = 3;
constexpr float kScale = 0x1p96F;
constexpr float kLeast = 0x1p40F;

constexpr bool is_term(std::int64_t key) noexcept { return key >= kHalfSquares && key <= kWitness; }

// The factor in a row of a term. The row is a multiple of a huge number: whoever computes a norm of the gradient, which
// would lack the term, gets an infinity; whoever clips it leaves a small number, or a witness of 0.
float factor(const Table& table, const float* row, bool may_be_zero) {
  const bool same = std::all_of(row, row + table.dim(), [row](float value) { return value == *row; });
  const bool zero = may_be_zero && *row == 0.0F;
  if (same && (zero || (std::isfinite(*row) && std::fabs(*row) >= kLeast))) return *row / kScale;
  fail_invalid("the gradient of the term over all rows of table '" + table.name() +
               "' was clipped, divided by a norm that lacks it, or multiplied by 0, so no row was changed; leave the "
               "table's gradient out of the clipping, or multiply the loss by a number instead");
}

struct NormsKernel {
  std::int64_t size;
  std::int64_t every;
};

void* create_norms(TF_OpKernelConstruction* construction) noexcept {
  try {
    return new NormsKernel{int_attribute(construction, "size"), int_attribute(construction, "every")};
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

// Inputs are handle and anchor; the second is there for gradients. The output `read` is 0: an update that must come
// later reads it, because Grappler may drop control edges.
void norms(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const auto& own = *static_cast<const NormsKernel*>(kernel);
    const RowNorms found = find_table(Input(context, 0, "handle").scalar<std::int64_t>())->norms(own.size, own.every);
    const TensorPtr output = allocate_output(context, 0, TF_FLOAT, sizeof(float), {2});
    *writable<float>(allocate_output(context, 1, TF_FLOAT, sizeof(float), {})) = 0;
    writable<float>(output)[0] = static_cast<float>(found.half_squares);
    writable<float>(output)[1] = static_cast<float>(found.absolutes);
  });
}

void destroy_norms(void* kernel) noexcept { delete static_cast<NormsKernel*>(kernel); }

// Inputs are anchor [0, dim] and the gradient [2] of the norms.
void gradient(TF_OpKernelContext* context) {
  const Input anchor(context, 0, "anchor");
  const Input given(context, 1, "gradient");
  anchor.require_rank(2);
  given.require_shape({2});
  const std::int64_t dim = anchor.shape()[1];
  const TensorPtr values = allocate_output(context, 0, TF_FLOAT, sizeof(float), {kRows, dim});
  const TensorPtr keys = allocate_output(context, 1, TF_INT64, sizeof(std::int64_t), {kRows});
  const float factors[kRows] = {given.data<float>()[0], given.data<float>()[1], 1.0F};
  for (int i = 0; i < kRows; ++i) {
    std::fill_n(writable<float>(values) + i * dim, dim, factors[i] * kScale);
    writable<std::int64_t>(keys)[i] = kHalfSquares + i;
  }
}

void gradient_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {2, 1}, status); }
void norms_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {1, 0}, status); }

}  // namespace

Gradient without_terms(const Table& table, const std::int64_t* keys, std::size_t count, const float* grads) {
  Gradient result;
  result.keys = keys;
  result.count = count;
  result.grads = grads;
  const std::size_t dim = table.dim();
  std::vector<std::size_t> terms;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_term(keys[i])) terms.push_back(i);
  }
  for (const std::size_t i : terms) {
    result.term.present = true;
    const float found = factor(table, grads + i * dim, keys[i] != kWitness);
    if (keys[i] == kHalfSquares) result.term.l2 += found;
    if (keys[i] == kAbsolutes) result.term.l1 += found;
  }
  // Rows of terms at either end are cut off; others are rare.
  std::size_t first = 0;
  std::size_t end = count;
  while (first < end && is_term(keys[first])) ++first;
  while (end > first && is_term(keys[end - 1])) --end;
  if (first + (count - end) < terms.size()) {
    for (std::size_t i = first; i < end; ++i) {
      if (is_term(keys[i])) continue;
      result.kept_keys_.push_back(keys[i]);
      result.kept_grads_.insert(result.kept_grads_.end(), grads + i * dim, grads + (i + 1) * dim);
    }
    result.keys = result.kept_keys_.data();
    result.grads = result.kept_grads_.data();
    result.count = result.kept_keys_.size();
  } else {
    result.keys = keys + first;
    result.grads = grads + first * dim;
    result.count = end - first;
  }
  return result;
}

void register_term_ops() {
  register_op({"RecWholeTableNorms",
               {"handle: int64", "anchor: float"},
               {"norms: float", "read: float"},
               {"size: int = 0", "every: int = 1"},
               &norms_shape},
              {&create_norms, &norms, &destroy_norms});
  register_op({"RecWholeTableGradient",
               {"anchor: float", "gradient: float"},
               {"values: float", "keys: int64"},
               {},
               &gradient_shape,
               false},
              stateless<&gradient>());
}

}  // namespace recmigrate::ops
