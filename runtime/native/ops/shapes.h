// Shape functions. The C context reads no int attributes, so a lookup takes its width from the anchor input.
#pragma once

#include <vector>

#include "ops/tf_c_api.h"

namespace recmigrate::ops {

// One scalar output.
void scalar_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// No outputs.
void no_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Outputs of unknown shapes.
void unknown_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// One output [?, ?].
void matrix_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Outputs of these ranks and of unknown sizes.
void ranks(TF_ShapeInferenceContext* context, const std::vector<int>& of_outputs, TF_Status* status);

// keys [?], values [?, ?], slots [?, ?], meta [?]
void snapshot_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Input 1 is the anchor [0, dim], input 2 the keys: keys.shape + [dim].
void lookup_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// The same where the anchor may be a resource: then the width is that of input 3, `like`.
void lookup_like_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Input 1 is the anchor [0, dim], input 2 the keys: rows [?, dim], addresses [?], numbers keys.shape.
void expand_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Inputs are N handles, N anchors [0, dim], N keys, and N `like` [0, dim] if anchors are resources: each output
// keys.shape + [dim].
void grouped_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Seven inputs for each of N tables, kind by kind, the second the anchors [0, dim]: each output [?, dim].
void pooled_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Likewise, the last the gradients: N keys [?], N values [?, width of the gradient], N weight_grads [?].
void pooled_gradient_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// Output `output` has the shape of input `input`.
void like_input_shape(TF_ShapeInferenceContext* context, int input, int output, TF_Status* status);

// The shape of input 0.
void like_first_shape(TF_ShapeInferenceContext* context, TF_Status* status);

// The shape of input 1.
void like_keys_shape(TF_ShapeInferenceContext* context, TF_Status* status);

}  // namespace recmigrate::ops
