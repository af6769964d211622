// Compiled, never run: our declarations beside TensorFlow's own. A signature or number that drifted is an error here.
#include "tensorflow/c/c_api.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"

#define RECMIGRATE_REAL_TF_TYPES
#include "ops/tf_c_api.h"
