// Runs the registered tests whose name contains the first argument, or all; exit status 1 when one fails or none ran.
#include <cstdio>
#include <exception>

#include "check.h"

int main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "";
  int ran = 0;
  int failures = 0;
  for (const check::Case& test : check::cases()) {
    if (std::string(test.name).find(part) == std::string::npos) continue;
    ++ran;
    try {
      test.body();
    } catch (const std::exception& error) {
      ++failures;
      std::printf("FAILED %s: %s\n", test.name, error.what());
    }
  }
  std::printf("%d tests, %d failed\n", ran, failures);
  return failures == 0 && ran > 0 ? 0 : 1;
}
