// What the pooled lookups and their gradients share: the kernel, for one table or a group, and the divisors of bags.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "ops/attributes.h"
#include "ops/bags.h"
#include "ops/kernel.h"
#include "store/errors.h"

namespace recmigrate::ops {

// A greatest norm when one was given: a vector of one float, else of none.
[[nodiscard]] inline const float* max_norm_of(const Input& input) {
  if (input.elements() > 1) fail_invalid("max_norm has " + std::to_string(input.elements()) + " values; give one");
  return input.elements() == 0 ? nullptr : input.data<float>();
}

[[nodiscard]] inline float bag_divisor(const PoolingRules& rules, const Bags& bags, std::size_t bag) {
  const float* weights = bags.weights() == nullptr ? nullptr : bags.weights() + bags.begin(bag);
  return divisor(rules.combiner, weights, bags.size(bag));
}

// What a kernel was made with; of one member where the op is no group.
struct PoolingKernel {
  std::vector<PoolingRules> members;
  std::vector<unsigned char> weight_gradients;  // of a gradient: which weights get one

  [[nodiscard]] Ports ports(std::size_t member) const noexcept {
    return {static_cast<int>(member), static_cast<int>(members.size())};
  }
};

template <bool kGroup, bool kGradient>
void* create_pooling(TF_OpKernelConstruction* construction) noexcept {
  try {
    auto kernel = std::make_unique<PoolingKernel>();
    if constexpr (kGroup) {
      kernel->members = PoolingRules::of_group(construction);
      if (kGradient) kernel->weight_gradients = bools_attribute(construction, "weight_gradients");
    } else {
      kernel->members.push_back(PoolingRules(construction));
      if (kGradient) kernel->weight_gradients = {bool_attribute(construction, "weight_gradient")};
    }
    if (kGradient && kernel->weight_gradients.size() != kernel->members.size()) {
      fail_invalid("weight_gradients must have " + std::to_string(kernel->members.size()) + " values, one per table");
    }
    return kernel.release();
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

inline void destroy_pooling(void* kernel) noexcept { delete static_cast<PoolingKernel*>(kernel); }

template <bool kGroup, bool kGradient>
[[nodiscard]] KernelFunctions pooling_kernel(void (*compute)(void*, TF_OpKernelContext*)) {
  return {&create_pooling<kGroup, kGradient>, compute, &destroy_pooling};
}

// The attributes that all pooled ops have beside their own.
[[nodiscard]] inline std::vector<const char*> pooling_attributes(std::initializer_list<const char*> own) {
  std::vector<const char*> all(own);
  for (const char* attribute :
       {"prune: bool = false", "negative_keys: bool = false", "fill_empty: bool = false", "default_id: int = 0"}) {
    all.push_back(attribute);
  }
  return all;
}

void register_pooled_gradients();

}  // namespace recmigrate::ops
