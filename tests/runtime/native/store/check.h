// The smallest test harness that does: TEST registers a function, CHECK throws with the place and the text.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Case {
  const char* name;
  void (*body)();
};

inline std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

struct Registered {
  Registered(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

[[noreturn]] inline void failed(const char* file, int line, const std::string& what) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

// The message of the exception of type Error that `body` throws; any other outcome fails the test.
template <typename Error, typename Body>
std::string message_of(const char* file, int line, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  failed(file, line, "nothing was thrown");
}

// FNV-1a over the bits of numbers, for golden values.
struct Digest {
  std::uint64_t value = 0xcbf29ce484222325ULL;

  template <typename Number>
  Digest& add(const std::vector<Number>& numbers) {
    for (const Number& number : numbers) {
      unsigned char bytes[sizeof number];
      std::memcpy(bytes, &number, sizeof number);
      for (const unsigned char byte : bytes) value = (value ^ byte) * 0x100000001b3ULL;
    }
    return *this;
  }
};

}  // namespace check

#define TEST(name)                                                       \
  static void test_##name();                                             \
  static const check::Registered registered_##name{#name, &test_##name}; \
  static void test_##name()

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) check::failed(__FILE__, __LINE__, #condition); \
  } while (false)

// For digests of golden bits; a failure prints the new ones.
#define CHECK_GOLDEN(digest, golden)                                                              \
  do {                                                                                            \
    const std::uint64_t got = (digest);                                                           \
    if (got != (golden)) check::failed(__FILE__, __LINE__, #digest " is " + std::to_string(got)); \
  } while (false)

#define CHECK_THROWS(Error, statement, part)                                                                  \
  do {                                                                                                        \
    const std::string got = check::message_of<Error>(__FILE__, __LINE__, [&] { statement; });                 \
    if (got.find(part) == std::string::npos) check::failed(__FILE__, __LINE__, "unexpected message: " + got); \
  } while (false)
