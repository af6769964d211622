// RecChangedRows: compares a snapshot with an earlier one. Its inputs are tensors, not a table.
#include "store/snapshots/increment.h"

#include <algorithm>

#include "ops/kernel.h"
#include "ops/shapes.h"

namespace recmigrate::ops {
namespace {

TensorPtr vector_output(TF_OpKernelContext* context, int index, std::size_t size) {
  return allocate_output(context, index, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(size)});
}

void put(TF_OpKernelContext* context, int index, const std::vector<std::int64_t>& numbers) {
  const TensorPtr output = vector_output(context, index, numbers.size());
  std::copy(numbers.begin(), numbers.end(), writable<std::int64_t>(output));
}

void changed_rows(TF_OpKernelContext* context) {
  const Input keys(context, 0, "keys");
  const Input values(context, 1, "values");
  const Input slots(context, 2, "slots");
  const Input before_keys(context, 3, "before_keys");
  const Input before(context, 4, "before");
  keys.require_rank(1);
  values.require_rank(2);
  slots.require_rank(2);
  before_keys.require_rank(1);
  const auto count = static_cast<std::int64_t>(keys.elements());
  const std::int64_t dim = values.shape()[1];
  const std::int64_t width = slots.shape()[1];
  values.require_shape({count, dim});
  slots.require_shape({count, width});
  before.require_shape({static_cast<std::int64_t>(before_keys.elements())});
  const TensorPtr output = vector_output(context, 2, keys.elements());
  auto* const now = writable<std::int64_t>(output);
  fingerprint_rows({keys.data<std::int64_t>(), values.data<float>(), slots.data<float>(), keys.elements(),
                    static_cast<std::size_t>(dim), static_cast<std::size_t>(width)},
                   now);
  const Changes changes = find_changes(before_keys.data<std::int64_t>(), before.data<std::int64_t>(),
                                       before_keys.elements(), keys.data<std::int64_t>(), now, keys.elements());
  put(context, 0, changes.changed);
  put(context, 1, changes.removed);
}

}  // namespace

void register_increment_ops() {
  register_op({"RecChangedRows",
               {"keys: int64", "values: float", "slots: float", "before_keys: int64", "before: int64"},
               {"changed: int64", "removed: int64", "fingerprints: int64"},
               {},
               &no_shape},
              stateless<&changed_rows>());
}

}  // namespace recmigrate::ops
