// The update rules, one to a file; each an ApplyRule (see store/optimizer.h). w is the value, g the gradient.
#pragma once

#include <cstddef>

namespace recmigrate::rules {

#define RECMIGRATE_RULE(name) \
  void name(const float* hyper, float* const* rows, const float* grads, std::size_t count, std::size_t dim)

RECMIGRATE_RULE(sgd);
RECMIGRATE_RULE(momentum);
RECMIGRATE_RULE(adagrad);
RECMIGRATE_RULE(adagrad_inside);
RECMIGRATE_RULE(adagrad_decay);
RECMIGRATE_RULE(lazy_adam);
RECMIGRATE_RULE(lazy_adamw);
RECMIGRATE_RULE(rmsprop);
RECMIGRATE_RULE(rmsprop_centered);
RECMIGRATE_RULE(ftrl);
RECMIGRATE_RULE(group_ftrl);
RECMIGRATE_RULE(adadelta);
RECMIGRATE_RULE(adam);
RECMIGRATE_RULE(adamax);
RECMIGRATE_RULE(adam_scaled);
RECMIGRATE_RULE(keras_adam);
RECMIGRATE_RULE(keras_adamw);
RECMIGRATE_RULE(keras_momentum);

#undef RECMIGRATE_RULE

}  // namespace recmigrate::rules
