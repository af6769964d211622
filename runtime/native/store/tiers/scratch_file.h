// A file without a name: its space is freed when the process ends, however that happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace recmigrate {

// Like `mkdir -p`. Throws StorageFailed.
void make_folders(const std::string& folder, const std::string& owner);

// Opens a file in a directory, without a name from the start or from the moment it is open, with further `flags` of
// open(2); returns -1 and sets errno on failure.
[[nodiscard]] int open_unnamed(const std::string& folder, int flags);

// Throws StorageFailed: `owner` `what` 'directory', the meaning of `error`, and the remedy.
[[noreturn]] void fail_storage(const std::string& owner, const std::string& what, const std::string& folder, int error);

// Reads and writes bypass the page cache if the file system supports it, so that memory use stays what the tiers above
// were given. RECMIGRATE_TIER_IO=buffered, or TF_SSDHASH_IO_SCHEME with another value than direct_io, uses the cache.
class ScratchFile {
 public:
  static constexpr std::size_t kSector = 512;  // alignment of direct reads, if the file system supports it
  static constexpr std::size_t kBlock = 4096;  // alignment of writes

  // Creates the directory if needed. Throws StorageFailed that names `owner`, the directory and what is wrong.
  ScratchFile(const std::string& folder, const std::string& owner);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // `data`, `at` and `bytes` are multiples of kBlock. If it throws StorageFailed, previous contents may be damaged.
  void write(std::uint64_t at, const void* data, std::size_t bytes);

  // Reads bytes at some places in ascending order; neighbours share one read of the medium. take(i, data) is called
  // once for each, in any order; data is valid during the call. Safe from many threads. Throws StorageFailed, also if
  // there are fewer bytes.
  class Taker {
   public:
    virtual void take(std::size_t i, const char* data) = 0;

   protected:
    ~Taker() = default;
  };
  void read(const std::uint64_t* at, std::size_t count, std::size_t bytes, Taker& taker) const;

  // Frees the space of a range; reading it then returns zeros. Has no effect if the file system does not support it.
  void release(std::uint64_t at, std::uint64_t bytes) noexcept;

  [[nodiscard]] bool direct() const noexcept { return direct_; }

 private:
  class Window;
  struct Range;

  [[nodiscard]] Range range(std::uint64_t at, std::size_t bytes) const noexcept;
  [[nodiscard]] std::vector<Range> ranges(const std::uint64_t* at, std::size_t count, std::size_t bytes) const;
  void read_range(const Range& range, char* to) const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string folder_;
  std::string owner_;
  int file_ = -1;
  bool direct_ = false;
};

}  // namespace recmigrate
