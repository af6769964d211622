#include "store/exchange/boxes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "store/errors.h"

namespace recmigrate::exchange {
namespace {

constexpr std::size_t kLeast = std::size_t{1} << 16;
constexpr std::size_t kAtOnce = std::size_t{1} << 24;  // of a file that grows

// Sizes double, so a file seldom grows.
std::size_t rounded(std::size_t bytes) {
  std::size_t size = kLeast;
  while (size < bytes) size *= 2;
  return size;
}

}  // namespace

File::~File() {
  if (number_ >= 0) close(number_);
}

Mapping::~Mapping() { unmap(); }

Mapping::Mapping(Mapping&& other) noexcept
    : file_(std::move(other.file_)), at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)) {}

void Mapping::unmap() noexcept {
  if (at_ != nullptr) munmap(at_, size_);
  at_ = nullptr;
  size_ = 0;
}

void Mapping::map(std::size_t size, int protection) {
  unmap();
  void* const at = mmap(nullptr, size, protection, MAP_SHARED, file_.number(), 0);
  if (at == MAP_FAILED) {
    fail_limit("an exchange between ranks cannot map " + std::to_string(size) + " bytes of shared memory (" +
               std::strerror(errno) + "): raise the limit of its address space (ulimit -v), or use smaller batches");
  }
  at_ = static_cast<char*>(at);
  size_ = size;
}

char* Mapping::to_write(std::size_t bytes) {
  if (bytes <= size_) return at_;
  const std::size_t size = rounded(bytes);
  // Pages are taken now: a write to one that cannot be had would end the process by a signal.
  // Linux gives up what it has taken when a signal comes, as one of a profiler does every few milliseconds.
  int refused = 0;
  for (std::size_t at = size_; at < size && refused == 0;) {
    const std::size_t more = std::min(kAtOnce, size - at);
    refused = posix_fallocate(file_.number(), static_cast<off_t>(at), static_cast<off_t>(more));
    if (refused == 0) at += more;
    if (refused == EINTR) refused = 0;
  }
  if (refused != 0) {
    fail_limit("an exchange between ranks has no memory for " + std::to_string(size) + " bytes (" +
               std::strerror(refused) +
               "): give the machine or its container more memory, or use smaller batches or more ranks");
  }
  map(size, PROT_READ | PROT_WRITE);
  return at_;
}

const char* Mapping::to_read(std::size_t end) {
  if (end <= size_) return at_;
  struct stat found{};
  if (fstat(file_.number(), &found) != 0 || static_cast<std::size_t>(found.st_size) < end) {
    fail_invalid("the memory of another rank is shorter than its message, which ends at " + std::to_string(end));
  }
  map(static_cast<std::size_t>(found.st_size), PROT_READ);
  return at_;
}

}  // namespace recmigrate::exchange
