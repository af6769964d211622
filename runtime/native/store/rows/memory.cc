#include "store/rows/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

namespace recmigrate {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// From this size on, a region is mapped separately and returned to the system when it is freed: indexes are replaced by
// larger ones, and in the heap the holes they leave would add up to half their size.
constexpr std::size_t kMapped = std::size_t{128} << 10;
// The first chunks of a table use small pages, of which only touched ones cost memory.
constexpr std::size_t kFirstExtent = std::size_t{16} << 20;
constexpr std::size_t kExtent = std::size_t{32} << 20;
constexpr std::size_t kLine = 64;
constexpr std::align_val_t kCacheLine{kLine};

// Sanitizers track memory from operator new, not mapped memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMaps = false;
#else
constexpr bool kMaps = true;
#endif

Region from_heap(std::size_t bytes) {
  void* const memory = ::operator new(bytes, kCacheLine);
  std::memset(memory, 0, bytes);
  return Region(memory, FreeRegion{0});
}

Region map(std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return Region(memory, FreeRegion{bytes});
}

// Begins on a huge page and uses huge pages as far as it fills them; the rest of the last one would be wasted. Without
// huge pages in the kernel, the advice is ignored.
Region map_huge(std::size_t bytes) {
  Region larger = map(bytes + kHugePage);
  char* const begin = static_cast<char*>(larger.release());
  char* const aligned = begin + (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = (bytes + page - 1) / page * page;
  char* const end = begin + (bytes + kHugePage + page - 1) / page * page;
  if (aligned != begin) munmap(begin, static_cast<std::size_t>(aligned - begin));
  if (aligned + used < end) munmap(aligned + used, static_cast<std::size_t>(end - aligned) - used);
  static_cast<void>(madvise(aligned, used / kHugePage * kHugePage, MADV_HUGEPAGE));
  return Region(aligned, FreeRegion{used});
}

}  // namespace

void FreeRegion::operator()(void* memory) const noexcept {
  if (bytes == 0) {
    ::operator delete(memory, kCacheLine);
  } else {
    munmap(memory, bytes);
  }
}

Region allocate_region(std::size_t bytes) {
  if (!kMaps || bytes < kMapped) return from_heap(bytes);
  return bytes < kHugePage ? map(bytes) : map_huge(bytes);
}

Arena::Arena(std::size_t chunk_bytes) : chunk_bytes_(chunk_bytes) {}

float* Arena::Free::take(std::size_t bytes) noexcept {
  float* const taken = reinterpret_cast<float*>(next);
  next += bytes;
  left -= bytes;
  return taken;
}

float* Arena::chunk() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (chunks_.left < chunk_bytes_) {
    const bool first = large_ == 0;
    extents_.reserve(extents_.size() + 1);
    std::size_t wanted = chunk_bytes_;
    if (!kMaps) {
      extents_.push_back(from_heap(wanted));
    } else {
      wanted = std::max(first ? kFirstExtent : kExtent, chunk_bytes_);
      extents_.push_back(first ? map(wanted) : map_huge(wanted));
      if (first) static_cast<void>(madvise(extents_.back().get(), wanted, MADV_NOHUGEPAGE));
    }
    ++large_;
    chunks_ = {static_cast<char*>(extents_.back().get()), wanted};
  }
  return chunks_.take(chunk_bytes_);
}

float* Arena::block(std::size_t bytes) {
  const std::size_t lines = (bytes + kLine - 1) / kLine * kLine;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (blocks_.left < lines) {
    extents_.reserve(extents_.size() + 1);
    const std::size_t wanted = kMaps ? kBlockBytes : lines;
    extents_.push_back(kMaps ? map(wanted) : from_heap(wanted));
    blocks_ = {static_cast<char*>(extents_.back().get()), wanted};
  }
  return blocks_.take(lines);
}

}  // namespace recmigrate
