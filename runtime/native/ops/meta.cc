// RecJoinMeta: the metadata of a table of which parts lie apart. Its inputs are tensors, not a table.
#include <algorithm>
#include <string>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/shapes.h"
#include "store/errors.h"
#include "store/snapshots/table_meta.h"

namespace recmigrate::ops {
namespace {

struct JoinKernel {
  explicit JoinKernel(TF_OpKernelConstruction* construction)
      : owner("table '" + string_attribute(construction, "table_name") + "'"),
        part(int_attribute(construction, "part")),
        parts(int_attribute(construction, "parts")) {
    if (parts < 1 || part < 0 || part >= parts) {
      fail_invalid(owner + " has no part " + std::to_string(part) + " of " + std::to_string(parts));
    }
  }
  std::string owner;
  std::int64_t part;  // whose keys are wanted
  std::int64_t parts;
};

// What the first part says that was trained, for one is trained later than another in the first step; counters of all.
void join(TF_OpKernelContext* context, const JoinKernel& kernel) {
  TableMeta joined;
  SeenKeys seen;
  for (int i = 0; i < TF_NumInputs(context); ++i) {
    const Input input(context, i, "metas");
    input.require_rank(1);
    TableMeta meta = TableMeta::from_vector(input.data<std::int64_t>(), input.elements(), kernel.owner);
    seen.join(meta.seen);
    if (i == 0 || (joined.kind == OptimizerKind::none && meta.kind != OptimizerKind::none)) joined = std::move(meta);
  }
  if (kernel.parts > 1) seen.keep_part(kernel.part, kernel.parts);
  joined.seen = std::move(seen);
  const std::vector<std::int64_t> entries = joined.to_vector();
  const TensorPtr meta =
      allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {static_cast<std::int64_t>(entries.size())});
  std::copy(entries.begin(), entries.end(), writable<std::int64_t>(meta));
}

void meta_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {1}, status); }

}  // namespace

void register_meta_op() {
  register_op({"RecJoinMeta",
               {"metas: N * int64"},
               {"meta: int64"},
               {"N: int >= 1", "table_name: string", "part: int = 0", "parts: int = 1"},
               &meta_shape,
               false},
              {&create_kernel<JoinKernel>,
               [](void* kernel, TF_OpKernelContext* context) {
                 guarded(context, [&] { join(context, *static_cast<const JoinKernel*>(kernel)); });
               },
               &destroy_kernel<JoinKernel>});
}

}  // namespace recmigrate::ops
