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
RECMIGRATE_RULE(proximal_adagrad);
RECMIGRATE_RULE(proximal_sgd);
RECMIGRATE_RULE(adagrad_da);

#undef RECMIGRATE_RULE

// With the sums of the squares of each row's gradients instead of the squares of their sums.
#define RECMIGRATE_RULE_APART(name)                                                                              \
  void name(const float* hyper, float* const* rows, const float* grads, const float* squares, std::size_t count, \
            std::size_t dim)

RECMIGRATE_RULE_APART(adagrad_apart);
RECMIGRATE_RULE_APART(keras_adam_apart);
RECMIGRATE_RULE_APART(keras_adamw_apart);

#undef RECMIGRATE_RULE_APART

}  // namespace recmigrate::rules
