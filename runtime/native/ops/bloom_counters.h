// The Bloom counters of a table in checkpoints that keep them as tensors of their own.
#pragma once

#include <string>

#include "ops/attributes.h"
#include "ops/context.h"
#include "store/admission/bloom.h"
#include "store/admission/seen.h"

namespace recmigrate::ops {

// The attributes bloom_elements, bloom_rate and bloom_bits; without elements there is no filter.
[[nodiscard]] BloomConfig bloom_attributes(TF_OpKernelConstruction* construction);

// Outputs `first` and `first + 1`: what the filters are, int64 [7], and their counters, uint8 [bytes]. Without a filter
// both are empty.
void put_counters(TF_OpKernelContext* context, int first, const SeenKeys& seen);

// Reads inputs of as many parts of a variable, one after the other, into `seen`, for a table whose filters are made by
// `config`: of several parts the largest counters, so that no key is counted too low. Keys that `seen` has without a
// row, of number `waiting` or more, are counted in the filters instead. Filters of other settings are told of and left
// out. Throws InvalidInput when counters are damaged.
void take_counters(TF_OpKernelContext* context, int first, const BloomConfig& config, const std::string& owner,
                   std::size_t waiting, SeenKeys& seen);

}  // namespace recmigrate::ops
