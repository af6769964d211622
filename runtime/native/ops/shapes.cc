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

void unknown_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
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
