// Lookups that count keys and admit frequent ones, and ops that evict keys.
#include <algorithm>
#include <memory>
#include <vector>

#include "ops/anchor.h"
#include "ops/attributes.h"
#include "ops/bloom_counters.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

std::shared_ptr<Table> table_of(TF_OpKernelContext* context) {
  return find_table(Input(context, 0, "handle").scalar<std::int64_t>());
}

// An optional time: a vector of length zero or one.
std::int64_t time_of(TF_OpKernelContext* context, int index) {
  const Input now(context, index, "now");
  now.require_rank(1);
  if (now.elements() > 1) fail_invalid("now has " + std::to_string(now.elements()) + " values; give one or none");
  if (now.elements() == 0) return kNever;
  const std::int64_t time = *now.data<std::int64_t>();
  if (time < 0) fail_invalid("the time " + std::to_string(time) + " is negative; give seconds or steps from 0 on");
  return time;
}

struct AdmitKernel {
  explicit AdmitKernel(TF_OpKernelConstruction* construction) {
    rules.threshold = int_attribute(construction, "threshold");
    rules.coefficient = int_attribute(construction, "coefficient");
    rules.probability = float_attribute(construction, "probability");
    rules.bloom = bloom_attributes(construction);
  }
  Admission rules;
};

struct ReadKernel {
  explicit ReadKernel(TF_OpKernelConstruction* construction)
      : threshold(int_attribute(construction, "threshold")), in_place(bool_attribute(construction, "in_place")) {}
  std::int64_t threshold;
  bool in_place;
};

void read(Table& table, TF_OpKernelContext* context, const AdmitKernel& kernel, const Input& keys, float* out,
          bool* admitted) {
  Admission rules = kernel.rules;
  rules.now = time_of(context, 3);
  table.lookup_and_admit(keys.data<std::int64_t>(), keys.elements(), rules, out, admitted);
}

void read(Table& table, TF_OpKernelContext* /*context*/, const ReadKernel& kernel, const Input& keys, float* out,
          bool* admitted) {
  table.lookup_admitted(keys.data<std::int64_t>(), keys.elements(), kernel.threshold, out, admitted, kernel.in_place);
}

template <typename Kernel>
void look_up(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    const std::shared_ptr<Table> table = table_of(context);
    require_anchor(Input(context, 1, "anchor"), *table);
    const Input keys(context, 2, "keys");
    std::vector<std::int64_t> shape = keys.shape();
    const TensorPtr admitted = allocate_output(context, 1, TF_BOOL, sizeof(bool), shape);
    shape.push_back(static_cast<std::int64_t>(table->dim()));
    const TensorPtr values = allocate_output(context, 0, TF_FLOAT, sizeof(float), shape);
    read(*table, context, *static_cast<const Kernel*>(kernel), keys, writable<float>(values), writable<bool>(admitted));
  });
}

void set_threshold(TF_OpKernelContext* context) {
  table_of(context)->set_threshold(Input(context, 1, "threshold").scalar<std::int64_t>());
}

void put_count(TF_OpKernelContext* context, std::size_t count) {
  const TensorPtr output = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {});
  *writable<std::int64_t>(output) = static_cast<std::int64_t>(count);
}

void evict_unseen(TF_OpKernelContext* context) {
  const auto age = Input(context, 1, "age").scalar<std::int64_t>();
  put_count(context, table_of(context)->evict_unseen(age, time_of(context, 2)));
}

void evict_light(TF_OpKernelContext* context) {
  put_count(context, table_of(context)->evict_light(Input(context, 1, "least").scalar<float>()));
}

void admitted_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  lookup_shape(context, status);
  if (TF_GetCode(status) == TF_OK) like_input_shape(context, 2, 1, status);
}

}  // namespace

void register_admission_ops() {
  register_op({"RecLookupAndAdmit",
               {"handle: int64", "anchor: float", "keys: int64", "now: int64"},
               {"values: float", "admitted: bool"},
               {"threshold: int", "coefficient: int = 1", "bloom_elements: int = 0", "bloom_rate: float = 0.01",
                "bloom_bits: int = 32", "probability: float = 1.0"},
               &admitted_shape},
              {&create_kernel<AdmitKernel>, &look_up<AdmitKernel>, &destroy_kernel<AdmitKernel>});
  register_op({"RecLookupAdmitted",
               {"handle: int64", "anchor: float", "keys: int64"},
               {"values: float", "admitted: bool"},
               {"threshold: int", "in_place: bool = false"},
               &admitted_shape},
              {&create_kernel<ReadKernel>, &look_up<ReadKernel>, &destroy_kernel<ReadKernel>});
  register_op({"RecSetThreshold", {"handle: int64", "threshold: int64"}, {}, {}, &no_shape},
              stateless<&set_threshold>());
  register_op({"RecEvictUnseen", {"handle: int64", "age: int64", "now: int64"}, {"removed: int64"}, {}, &scalar_shape},
              stateless<&evict_unseen>());
  register_op({"RecEvictLight", {"handle: int64", "least: float"}, {"removed: int64"}, {}, &scalar_shape},
              stateless<&evict_light>());
}

}  // namespace recmigrate::ops
