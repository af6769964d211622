// What the ops that update rows share: their attributes, this step's numbers, and the shapes of their gradients.
#pragma once

#include "ops/context.h"
#include "store/table.h"
#include "store/updates/optimizer.h"

namespace recmigrate::ops {

// The attributes `optimizer`, `starts` and `on_nonfinite`: which rule, what the slots of new rows start with, what to
// do about gradients that are not finite.
[[nodiscard]] Update read_update(TF_OpKernelConstruction* construction);
// The same with the attribute `slot_set`.
[[nodiscard]] Update read_update_of_set(TF_OpKernelConstruction* construction);

// The kernel's update with this step's hyper-parameters, input `index`. Two numbers after those of the rule are the
// factors l2 and l1 of a term over the whole table.
[[nodiscard]] Update with_hyper(const Update& kernel, TF_OpKernelContext* context, int index);

// Throws InvalidInput with the table's name unless ids are [n] and grads [n, dim].
void require_fitting(const Table& table, const Input& ids, const Input& grads);

}  // namespace recmigrate::ops
