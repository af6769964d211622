// Tables whose updates count keys: RecApplyAndCount, RecLookupPermitted (reads them), RecSightings and RecTableWaiting
// (data about keys), and RecInitialRows (a matrix with the initial values of new rows).
#include <algorithm>
#include <memory>
#include <vector>

#include "ops/anchor.h"
#include "ops/attributes.h"
#include "ops/bloom_counters.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "ops/update.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

std::shared_ptr<Table> table_of(TF_OpKernelContext* context) {
  return find_table(Input(context, 0, "handle").scalar<std::int64_t>());
}

struct ApplyKernel {
  explicit ApplyKernel(TF_OpKernelConstruction* construction) : update(read_update(construction)) {
    rules.threshold = int_attribute(construction, "threshold");
    rules.bloom = bloom_attributes(construction);
  }
  Update update;
  Admission rules;
};

struct ReadKernel {
  explicit ReadKernel(TF_OpKernelConstruction* construction)
      : refused(float_attribute(construction, "refused")), in_place(bool_attribute(construction, "in_place")) {}
  float refused;
  bool in_place;
};

struct RowsKernel {
  explicit RowsKernel(TF_OpKernelConstruction* construction) : keep(bool_attribute(construction, "keep")) {}
  bool keep;
};

// Inputs are handle, keys [n], grads [n, dim], hyper, now [0] or [1].
void run(const ApplyKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  const Input grads(context, 2, "grads");
  require_fitting(*table, keys, grads);
  Admission rules = kernel.rules;
  const Input now(context, 4, "now");
  now.require_rank(1);
  if (now.elements() > 0) rules.now = std::max<std::int64_t>(0, *now.data<std::int64_t>());
  table->apply_and_count(keys.data<std::int64_t>(), keys.elements(), grads.data<float>(),
                         with_hyper(kernel.update, context, 3), rules);
}

// Keys without a row read this number in all columns.
void run(const ReadKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  require_anchor(Input(context, 1, "anchor"), *table);
  const Input keys(context, 2, "keys");
  std::vector<std::int64_t> shape = keys.shape();
  shape.push_back(static_cast<std::int64_t>(table->dim()));
  const TensorPtr values = allocate_output(context, 0, TF_FLOAT, sizeof(float), shape);
  const std::unique_ptr<bool[]> permitted(new bool[keys.elements()]);
  float* const rows = writable<float>(values);
  table->lookup_permitted(keys.data<std::int64_t>(), keys.elements(), rows, permitted.get(), kernel.in_place);
  if (kernel.refused == 0) return;
  for (std::size_t i = 0; i < keys.elements(); ++i) {
    if (!permitted[i]) std::fill_n(rows + i * table->dim(), table->dim(), kernel.refused);
  }
}

void run(const RowsKernel& kernel, TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input rows(context, 1, "rows");
  const auto dim = static_cast<std::int64_t>(table->dim());
  if (rows.shape().size() != 2 || rows.shape()[1] != dim) {
    fail_invalid("the initial rows of table '" + table->name() + "' have shape " + shape_text(rows.shape()) +
                 "; it must be [n, " + std::to_string(dim) + "]");
  }
  table->set_initial_rows(rows.data<float>(), rows.elements() / table->dim(), kernel.keep);
}

template <typename Kernel>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] { run(*static_cast<const Kernel*>(kernel), context); });
}

template <typename Kernel>
[[nodiscard]] constexpr KernelFunctions kernel() {
  return {&create_kernel<Kernel>, &compute<Kernel>, &destroy_kernel<Kernel>};
}

void sightings(TF_OpKernelContext* context) {
  const std::shared_ptr<Table> table = table_of(context);
  const Input keys(context, 1, "keys");
  const TensorPtr counts = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), keys.shape());
  const TensorPtr times = allocate_output(context, 1, TF_INT64, sizeof(std::int64_t), keys.shape());
  table->sightings(keys.data<std::int64_t>(), keys.elements(), writable<std::int64_t>(counts),
                   writable<std::int64_t>(times));
}

void waiting(TF_OpKernelContext* context) {
  const TensorPtr output = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {});
  *writable<std::int64_t>(output) = static_cast<std::int64_t>(table_of(context)->waiting());
}

void sightings_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  like_input_shape(context, 1, 0, status);
  if (TF_GetCode(status) == TF_OK) like_input_shape(context, 1, 1, status);
}

}  // namespace

void register_counting_ops() {
  register_op({"RecApplyAndCount",
               {"handle: int64", "keys: int64", "grads: float", "hyper: float", "now: int64"},
               {},
               {"optimizer: string", "starts: list(float)", "on_nonfinite: string = 'error'", "threshold: int",
                "bloom_elements: int = 0", "bloom_rate: float = 0.01", "bloom_bits: int = 32"},
               &no_shape},
              kernel<ApplyKernel>());
  register_op({"RecLookupPermitted",
               {"handle: int64", "anchor: float", "keys: int64"},
               {"values: float"},
               {"refused: float = 0.0", "in_place: bool = false"},
               &lookup_shape},
              kernel<ReadKernel>());
  register_op({"RecInitialRows", {"handle: int64", "rows: float"}, {}, {"keep: bool = false"}, &no_shape},
              kernel<RowsKernel>());
  register_op(
      {"RecSightings", {"handle: int64", "keys: int64"}, {"counts: int64", "times: int64"}, {}, &sightings_shape},
      stateless<&sightings>());
  register_op({"RecTableWaiting", {"handle: int64"}, {"keys: int64"}, {}, &scalar_shape}, stateless<&waiting>());
}

}  // namespace recmigrate::ops
