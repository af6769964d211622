#include "ops/shapes.h"

#include <memory>

namespace recmigrate::ops {
namespace {

struct DeleteShape {
  void operator()(TF_ShapeHandle* shape) const noexcept { TF_DeleteShapeHandle(shape); }
};
using ShapePtr = std::unique_ptr<TF_ShapeHandle, DeleteShape>;

bool ok(const TF_Status* status) { return TF_GetCode(status) == TF_OK; }

// This many unknown sizes: an uninitialized handle has unknown rank, and setting it gives such a shape.
ShapePtr of_rank(TF_ShapeInferenceContext* context, int rank, TF_Status* status) {
  const ShapePtr unknown(TF_NewShapeHandle());
  ShapePtr ranked(TF_NewShapeHandle());
  TF_ShapeInferenceContextWithRank(context, unknown.get(), rank, ranked.get(), status);
  return ranked;
}

// Output `output` = shape + [width of the matrix in input `matrix`].
void set_wide(TF_ShapeInferenceContext* context, TF_ShapeHandle* shape, int matrix, int output, TF_Status* status) {
  const ShapePtr given(TF_NewShapeHandle());
  const ShapePtr ranked(TF_NewShapeHandle());
  const ShapePtr width(TF_NewShapeHandle());
  const ShapePtr wide(TF_NewShapeHandle());
  TF_ShapeInferenceContextGetInput(context, matrix, given.get(), status);
  if (ok(status)) TF_ShapeInferenceContextWithRank(context, given.get(), 2, ranked.get(), status);
  if (ok(status)) TF_ShapeInferenceContextSubshape(context, ranked.get(), 1, 2, width.get(), status);
  if (ok(status)) TF_ShapeInferenceContextConcatenateShapes(context, shape, width.get(), wide.get(), status);
  if (ok(status)) TF_ShapeInferenceContextSetOutput(context, output, wide.get(), status);
}

// Output `output` = the shape of input `keys` + [width of the anchor in input `anchor`].
void set_rows(TF_ShapeInferenceContext* context, int anchor, int keys, int output, TF_Status* status) {
  const ShapePtr shape(TF_NewShapeHandle());
  TF_ShapeInferenceContextGetInput(context, keys, shape.get(), status);
  if (ok(status)) set_wide(context, shape.get(), anchor, output, status);
}

// Whether the anchor of a lookup is a value, whose shape is known; else the input `like` has the shape.
bool has_value(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_DataType type = TF_FLOAT;
  TF_ShapeInferenceContext_GetAttrType(context, "Tanchor", &type, status);
  return type == TF_FLOAT;
}

}  // namespace

void scalar_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const ShapePtr scalar(TF_ShapeInferenceContextScalar(context));
  TF_ShapeInferenceContextSetOutput(context, 0, scalar.get(), status);
}

void no_shape(TF_ShapeInferenceContext* /*context*/, TF_Status* /*status*/) {}

void unknown_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeInferenceContextSetUnknownShape(context, status);
}

void matrix_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const ShapePtr ranked = of_rank(context, 2, status);
  if (ok(status)) TF_ShapeInferenceContextSetOutput(context, 0, ranked.get(), status);
}

void ranks(TF_ShapeInferenceContext* context, const std::vector<int>& of_outputs, TF_Status* status) {
  int output = 0;
  for (const int rank : of_outputs) {
    const ShapePtr ranked = of_rank(context, rank, status);
    if (ok(status)) TF_ShapeInferenceContextSetOutput(context, output++, ranked.get(), status);
  }
}

void snapshot_shape(TF_ShapeInferenceContext* context, TF_Status* status) { ranks(context, {1, 2, 2, 1}, status); }

void lookup_shape(TF_ShapeInferenceContext* context, TF_Status* status) { set_rows(context, 1, 2, 0, status); }

void lookup_like_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const bool read = has_value(context, status);
  if (ok(status)) set_rows(context, read ? 1 : 3, 2, 0, status);
}

void expand_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const ShapePtr distinct = of_rank(context, 1, status);
  const ShapePtr keys(TF_NewShapeHandle());
  if (ok(status)) set_wide(context, distinct.get(), 1, 0, status);
  if (ok(status)) TF_ShapeInferenceContextSetOutput(context, 1, distinct.get(), status);
  if (ok(status)) TF_ShapeInferenceContextGetInput(context, 2, keys.get(), status);
  if (ok(status)) TF_ShapeInferenceContextSetOutput(context, 2, keys.get(), status);
}

void grouped_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const bool read = has_value(context, status);
  const auto tables = static_cast<int>(TF_ShapeInferenceContextNumInputs(context) / (read ? 3 : 4));
  const int likes = (read ? 1 : 3) * tables;
  for (int i = 0; i < tables && ok(status); ++i) set_rows(context, likes + i, 2 * tables + i, i, status);
}

void pooled_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const auto tables = static_cast<int>(TF_ShapeInferenceContextNumInputs(context) / 7);
  const ShapePtr bags = of_rank(context, 1, status);
  for (int i = 0; i < tables && ok(status); ++i) set_wide(context, bags.get(), tables + i, i, status);
}

void pooled_gradient_shape(TF_ShapeInferenceContext* context, TF_Status* status) {
  const auto tables = static_cast<int>(TF_ShapeInferenceContextNumInputs(context) / 7);
  const ShapePtr vector = of_rank(context, 1, status);
  for (int i = 0; i < tables && ok(status); ++i) {
    TF_ShapeInferenceContextSetOutput(context, i, vector.get(), status);
    if (ok(status)) set_wide(context, vector.get(), 6 * tables + i, tables + i, status);
    if (ok(status)) TF_ShapeInferenceContextSetOutput(context, 2 * tables + i, vector.get(), status);
  }
}

void like_input_shape(TF_ShapeInferenceContext* context, int input, int output, TF_Status* status) {
  const ShapePtr given(TF_NewShapeHandle());
  TF_ShapeInferenceContextGetInput(context, input, given.get(), status);
  if (ok(status)) TF_ShapeInferenceContextSetOutput(context, output, given.get(), status);
}

void like_first_shape(TF_ShapeInferenceContext* context, TF_Status* status) { like_input_shape(context, 0, 0, status); }

void like_keys_shape(TF_ShapeInferenceContext* context, TF_Status* status) { like_input_shape(context, 1, 0, status); }

}  // namespace recmigrate::ops
