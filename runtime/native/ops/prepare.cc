// RecPrepareKeys: returns keys unchanged, and de-duplicates them for the lookup of a later step.
#include "ops/kernel.h"
#include "ops/shapes.h"
#include "store/lookup/prepared.h"

namespace recmigrate::ops {
namespace {

void prepare_keys(TF_OpKernelContext* context) {
  const Input keys(context, 0, "keys");
  keys.pass_to(context, 0);
  prepared::prepare(keys.data<std::int64_t>(), keys.elements());
}

}  // namespace

void register_prepare_op() {
  // Stateless as far as a graph is concerned: what it keeps affects no result.
  register_op({"RecPrepareKeys", {"keys: int64"}, {"same: int64"}, {}, &like_first_shape, false},
              stateless<&prepare_keys>());
}

}  // namespace recmigrate::ops
