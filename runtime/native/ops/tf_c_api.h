// The part of TensorFlow's stable C interface that the adapters use, declared here: building needs no TensorFlow.
// A test compiles this header together with the real ones (RECMIGRATE_REAL_TF_TYPES), where any drift is an error.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

struct TF_DimensionHandle;
struct TF_OpDefinitionBuilder;
struct TF_ShapeHandle;
struct TF_ShapeInferenceContext;

#ifndef RECMIGRATE_REAL_TF_TYPES
typedef enum TF_DataType {
  TF_FLOAT = 1,
  TF_INT32 = 3,
  TF_UINT8 = 4,
  TF_INT64 = 9,
  TF_BOOL = 10,
  TF_RESOURCE = 20,
  TF_DATA_TYPE_LAST = 0x7fffffff
} TF_DataType;
typedef enum TF_Code {
  TF_OK = 0,
  TF_INVALID_ARGUMENT = 3,
  TF_DEADLINE_EXCEEDED = 4,
  TF_RESOURCE_EXHAUSTED = 8,
  TF_INTERNAL = 13,
  TF_UNAVAILABLE = 14,
  TF_DATA_LOSS = 15,
  TF_CODE_LAST = 0x7fffffff
} TF_Code;
typedef struct TF_Status TF_Status;
typedef struct TF_Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length);
} TF_Buffer;
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_AsyncOpKernelDoneCallback TF_AsyncOpKernelDoneCallback;
#endif

static_assert(TF_FLOAT == 1 && TF_INT32 == 3 && TF_UINT8 == 4 && TF_INT64 == 9 && TF_BOOL == 10 && TF_RESOURCE == 20,
              "the numbers are part of the binary interface");
static_assert(TF_OK == 0 && TF_INVALID_ARGUMENT == 3 && TF_DEADLINE_EXCEEDED == 4 && TF_RESOURCE_EXHAUSTED == 8 &&
                  TF_INTERNAL == 13 && TF_UNAVAILABLE == 14 && TF_DATA_LOSS == 15,
              "the numbers are part of the binary interface");

// Status and tensors.
extern TF_Status* TF_NewStatus(void);
extern void TF_DeleteStatus(TF_Status*);
extern void TF_SetStatus(TF_Status* s, TF_Code code, const char* msg);
extern TF_Code TF_GetCode(const TF_Status* s);
extern TF_Buffer* TF_NewBuffer(void);
extern void TF_DeleteBuffer(TF_Buffer*);
extern void TF_DeleteTensor(TF_Tensor*);
extern TF_DataType TF_TensorType(const TF_Tensor*);
extern int TF_NumDims(const TF_Tensor*);
extern int64_t TF_Dim(const TF_Tensor* tensor, int dim_index);
extern int64_t TF_TensorElementCount(const TF_Tensor* tensor);
extern void* TF_TensorData(const TF_Tensor*);
extern size_t TF_DataTypeSize(TF_DataType dt);

// Op definitions.
extern TF_OpDefinitionBuilder* TF_NewOpDefinitionBuilder(const char* op_name);
extern void TF_RegisterOpDefinition(TF_OpDefinitionBuilder* builder, TF_Status* status);
extern void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder* builder, const char* attr_spec);
extern void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder* builder, const char* input_spec);
extern void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder* builder, const char* output_spec);
extern void TF_OpDefinitionBuilderSetIsStateful(TF_OpDefinitionBuilder* builder, bool is_stateful);
extern void TF_OpDefinitionBuilderSetShapeInferenceFunction(TF_OpDefinitionBuilder* builder,
                                                            void (*shape_inference_func)(TF_ShapeInferenceContext* ctx,
                                                                                         TF_Status* status));

// Shape inference.
extern TF_ShapeHandle* TF_NewShapeHandle();
extern void TF_DeleteShapeHandle(TF_ShapeHandle* handle);
extern TF_ShapeHandle* TF_ShapeInferenceContextScalar(TF_ShapeInferenceContext* ctx);
extern int64_t TF_ShapeInferenceContextNumInputs(TF_ShapeInferenceContext* ctx);
extern void TF_ShapeInferenceContextGetInput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle,
                                             TF_Status* status);
extern void TF_ShapeInferenceContextSetOutput(TF_ShapeInferenceContext* ctx, int i, TF_ShapeHandle* handle,
                                              TF_Status* status);
extern void TF_ShapeInferenceContextWithRank(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* handle, int64_t rank,
                                             TF_ShapeHandle* result, TF_Status* status);
extern void TF_ShapeInferenceContextSubshape(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* shape_handle, int64_t start,
                                             int64_t end, TF_ShapeHandle* result, TF_Status* status);
extern void TF_ShapeInferenceContextConcatenateShapes(TF_ShapeInferenceContext* ctx, TF_ShapeHandle* first,
                                                      TF_ShapeHandle* second, TF_ShapeHandle* result,
                                                      TF_Status* status);
extern void TF_ShapeInferenceContext_GetAttrType(TF_ShapeInferenceContext* ctx, const char* attr_name, TF_DataType* val,
                                                 TF_Status* status);
extern void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext* ctx, TF_Status* status);

// Kernels.
extern TF_KernelBuilder* TF_NewKernelBuilder(const char* op_name, const char* device_name,
                                             void* (*create_func)(TF_OpKernelConstruction*),
                                             void (*compute_func)(void*, TF_OpKernelContext*),
                                             void (*delete_func)(void*));
extern TF_KernelBuilder* TF_NewAsyncKernelBuilder(const char* kernel_name, const char* device_name,
                                                  void* (*create_func)(TF_OpKernelConstruction*),
                                                  void (*compute_async_func)(void*, TF_OpKernelContext*,
                                                                             TF_AsyncOpKernelDoneCallback* done),
                                                  void (*delete_func)(void*));
extern void TF_KernelBuilder_TypeConstraint(TF_KernelBuilder* kernel_builder, const char* attr_name,
                                            const TF_DataType type, TF_Status* status);
extern void TF_RegisterKernelBuilder(const char* kernel_name, TF_KernelBuilder* builder, TF_Status* status);
extern void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction* ctx, TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction* ctx, const char* attr_name, int32_t* list_size,
                                                int32_t* total_size, TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction* ctx, const char* attr_name, int64_t* val,
                                                 TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrBool(TF_OpKernelConstruction* ctx, const char* attr_name, unsigned char* val,
                                                TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrFloat(TF_OpKernelConstruction* ctx, const char* attr_name, float* val,
                                                 TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction* ctx, const char* attr_name, int64_t* vals,
                                                     int max_vals, TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrFloatList(TF_OpKernelConstruction* ctx, const char* attr_name, float* vals,
                                                     int max_vals, TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrBoolList(TF_OpKernelConstruction* ctx, const char* attr_name,
                                                    unsigned char* vals, int max_vals, TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrStringList(TF_OpKernelConstruction* ctx, const char* attr_name, char** vals,
                                                      size_t* lengths, int max_values, void* storage,
                                                      size_t storage_size, TF_Status* status);
extern void TF_OpKernelConstruction_GetAttrString(TF_OpKernelConstruction* ctx, const char* attr_name, char* val,
                                                  size_t max_length, TF_Status* status);
extern void TF_GetSerializedConfigProto(TF_OpKernelContext* ctx, TF_Buffer* serialized_config_proto, TF_Status* status);
extern void TF_OpKernelContext_Failure(TF_OpKernelContext* ctx, TF_Status* status);
extern int64_t TF_StepId(TF_OpKernelContext* ctx);
extern int TF_NumInputs(TF_OpKernelContext* ctx);
extern void TF_GetInput(TF_OpKernelContext* ctx, int i, TF_Tensor** tensor, TF_Status* status);
extern void TF_SetOutput(TF_OpKernelContext* ctx, int i, const TF_Tensor* tensor, TF_Status* status);
extern TF_Tensor* TF_AllocateTensor(TF_DataType dtype, const int64_t* dims, int num_dims, size_t len);
extern TF_Tensor* TF_AllocateOutput(TF_OpKernelContext* context, int index, TF_DataType dtype, const int64_t* dims,
                                    int num_dims, size_t len, TF_Status* status);

}  // extern "C"
