// Attributes of an op, read when its kernel is made.
#pragma once

#include <string>
#include <vector>

#include "ops/context.h"

namespace recmigrate::ops {

[[nodiscard]] inline std::int64_t int_attribute(TF_OpKernelConstruction* construction, const char* name) {
  std::int64_t value = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrInt64(construction, name, &value, status); });
  return value;
}

[[nodiscard]] inline bool bool_attribute(TF_OpKernelConstruction* construction, const char* name) {
  unsigned char value = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrBool(construction, name, &value, status); });
  return value != 0;
}

[[nodiscard]] inline float float_attribute(TF_OpKernelConstruction* construction, const char* name) {
  float value = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrFloat(construction, name, &value, status); });
  return value;
}

[[nodiscard]] inline std::string string_attribute(TF_OpKernelConstruction* construction, const char* name) {
  std::int32_t list_size = 0;
  std::int32_t bytes = 0;
  checked(
      [&](TF_Status* status) { TF_OpKernelConstruction_GetAttrSize(construction, name, &list_size, &bytes, status); });
  std::string value(static_cast<std::size_t>(bytes), '\0');
  checked([&](TF_Status* status) {
    TF_OpKernelConstruction_GetAttrString(construction, name, value.data(), value.size(), status);
  });
  return value;
}

[[nodiscard]] inline std::vector<std::string> strings_attribute(TF_OpKernelConstruction* construction,
                                                                const char* name) {
  std::int32_t count = 0;
  std::int32_t bytes = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrSize(construction, name, &count, &bytes, status); });
  std::vector<char*> texts(static_cast<std::size_t>(count));
  std::vector<std::size_t> lengths(texts.size());
  std::vector<char> storage(static_cast<std::size_t>(bytes) + 1);
  checked([&](TF_Status* status) {
    TF_OpKernelConstruction_GetAttrStringList(construction, name, texts.data(), lengths.data(), count, storage.data(),
                                              storage.size(), status);
  });
  std::vector<std::string> values;
  for (std::size_t i = 0; i < texts.size(); ++i) values.emplace_back(texts[i], lengths[i]);
  return values;
}

[[nodiscard]] inline std::vector<unsigned char> bools_attribute(TF_OpKernelConstruction* construction,
                                                                const char* name) {
  std::int32_t count = 0;
  std::int32_t bytes = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrSize(construction, name, &count, &bytes, status); });
  std::vector<unsigned char> values(static_cast<std::size_t>(count));
  checked([&](TF_Status* status) {
    TF_OpKernelConstruction_GetAttrBoolList(construction, name, values.data(), count, status);
  });
  return values;
}

[[nodiscard]] inline std::vector<std::int64_t> ints_attribute(TF_OpKernelConstruction* construction, const char* name) {
  std::int32_t count = 0;
  std::int32_t bytes = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrSize(construction, name, &count, &bytes, status); });
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  checked([&](TF_Status* status) {
    TF_OpKernelConstruction_GetAttrInt64List(construction, name, values.data(), count, status);
  });
  return values;
}

[[nodiscard]] inline std::vector<float> floats_attribute(TF_OpKernelConstruction* construction, const char* name) {
  std::int32_t count = 0;
  std::int32_t bytes = 0;
  checked([&](TF_Status* status) { TF_OpKernelConstruction_GetAttrSize(construction, name, &count, &bytes, status); });
  std::vector<float> values(static_cast<std::size_t>(count));
  checked([&](TF_Status* status) {
    TF_OpKernelConstruction_GetAttrFloatList(construction, name, values.data(), count, status);
  });
  return values;
}

}  // namespace recmigrate::ops
