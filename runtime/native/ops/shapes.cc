#include "ops/shapes.h"

#include <memory>

namespace recmigrate::ops {
namespace {

struct DeleteShape {
  void operator()(TF_ShapeHandle* shape) const noexcept { TF_DeleteShapeHandle(shape); }
};
using ShapePtr = std::unique_ptr<TF_ShapeHandle, DeleteShape>;

bool ok(const TF_Status* status) { return TF_GetCode(status) == TF_OK; }

}  // namespace

void scalar_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const ShapePtr scalar(TF_ShapeInferenceContextScalar(context));
  TF_ShapeInferenceContextSetOutput(context, 0, scalar.get(), status);
}

void no_shape(TF_ShapeInferenceContext* /*context*/, TF_Status* /*status*/) {}

void snapshot_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  constexpr int kRanks[] = {1, 2, 2, 1};
  // A handle that nothing has filled has unknown rank; giving it a rank yields a shape of that many unknown sizes.
  const ShapePtr unknown(TF_NewShapeHandle());
  for (int i = 0; i < 4 && ok(status); ++i) {
    const ShapePtr ranked(TF_NewShapeHandle());
    TF_ShapeInferenceContextWithRank(context, unknown.get(), kRanks[i], ranked.get(), status);
    if (ok(status)) TF_ShapeInferenceContextSetOutput(context, i, ranked.get(), status);
  }
}

void lookup_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const ShapePtr anchor(TF_NewShapeHandle());
  const ShapePtr matrix(TF_NewShapeHandle());
  const ShapePtr width(TF_NewShapeHandle());
  const ShapePtr keys(TF_NewShapeHandle());
  const ShapePtr values(TF_NewShapeHandle());
  TF_ShapeInferenceContextGetInput(context, 1, anchor.get(), status);
  if (ok(status)) TF_ShapeInferenceContextWithRank(context, anchor.get(), 2, matrix.get(), status);
  if (ok(status)) TF_ShapeInferenceContextSubshape(context, matrix.get(), 1, 2, width.get(), status);
  if (ok(status)) TF_ShapeInferenceContextGetInput(context, 2, keys.get(), status);
  if (ok(status)) TF_ShapeInferenceContextConcatenateShapes(context, keys.get(), width.get(), values.get(), status);
  if (ok(status)) TF_ShapeInferenceContextSetOutput(context, 0, values.get(), status);
}

}  // namespace recmigrate::ops
