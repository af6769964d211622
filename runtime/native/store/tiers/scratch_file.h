// A file without a name: its space goes back to the file system when the process ends, however that happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace recmigrate {

// As `mkdir -p`. Throws StorageFailed.
void make_folders(const std::string& folder, const std::string& owner);

// Opens a file in a folder that no folder names, from the start or from the moment it is open, with further `flags` of
// open(2); -1 and errno.
[[nodiscard]] int open_unnamed(const std::string& folder, int flags);

// Throws StorageFailed: `owner` `what` 'folder', what `error` means, and the remedy.
[[noreturn]] void fail_storage(const std::string& owner, const std::string& what, const std::string& folder, int error);

// Reads and writes go to the medium past the page cache where the file system can do so: memory stays what the tiers
// above were given. RECMIGRATE_TIER_IO=buffered, or TF_SSDHASH_IO_SCHEME with another value than direct_io, uses the
// cache.
class ScratchFile {
 public:
  static constexpr std::size_t kSector = 512;  // what direct reads are aligned to, if the file system agrees
  static constexpr std::size_t kBlock = 4096;  // and writes

  // Makes the folder if need be. Throws StorageFailed that names `owner`, the folder and what is wrong.
  ScratchFile(const std::string& folder, const std::string& owner);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // `data`, `at` and `bytes` are multiples of kBlock. Throws StorageFailed; what was there before may be damaged then.
  void write(std::uint64_t at, const void* data, std::size_t bytes);

  // Bytes at some places, which are in ascending order: neighbours come with one read of the medium. take(i, data) is
  // called once for each, in any order; the data are valid during the call. Safe from many threads. Throws
  // StorageFailed, also when less was there.
  class Taker {
   public:
    virtual void take(std::size_t i, const char* data) = 0;

   protected:
    ~Taker() = default;
  };
  void read(const std::uint64_t* at, std::size_t count, std::size_t bytes, Taker& taker) const;

  // Gives the space of a range back; reading it gives zeros. Does nothing where the file system cannot.
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
