// How the engine reports errors: exceptions with a one-sentence message that names the object. They never cross the C
// interface of `ops/`.
#pragma once

#include <stdexcept>
#include <string>

namespace recmigrate {

// The caller passed something unusable (shapes, values, texts); nothing was changed.
class InvalidInput : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A limit of the engine itself was reached; nothing was changed.
class LimitReached : public std::length_error {
 public:
  using std::length_error::length_error;
};

// A medium below memory failed: it is full, unreachable, or returned other data than was stored. Rows are unchanged,
// except those that the message names.
class StorageFailed : public std::runtime_error {
 public:
  explicit StorageFailed(const std::string& message, bool damaged = false)
      : std::runtime_error(message), damaged_(damaged) {}
  // Whether a stored row is lost.
  [[nodiscard]] bool damaged() const noexcept { return damaged_; }

 private:
  bool damaged_;
};

// The configured limit of the medium is used up.
class StorageFull : public StorageFailed {
 public:
  using StorageFailed::StorageFailed;
};

// Out of line and cold, so that a check in a hot loop costs only a compare.
[[noreturn, gnu::cold, gnu::noinline]] inline void fail_invalid(const std::string& message) {
  throw InvalidInput(message);
}

[[noreturn, gnu::cold, gnu::noinline]] inline void fail_limit(const std::string& message) {
  throw LimitReached(message);
}

}  // namespace recmigrate
