// Memory that one rank writes and others of the same machine read: files without a name, which Linux keeps in memory.
#pragma once

#include <cstddef>

namespace recmigrate::exchange {

// A file descriptor that is closed at the end.
class File {
 public:
  explicit File(int number = -1) noexcept : number_(number) {}
  ~File();
  File(File&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

// A mapped file. It grows by being mapped anew, so pointers into it are valid until then.
class Mapping {
 public:
  explicit Mapping(int file) noexcept : file_(file) {}
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  Mapping& operator=(Mapping&&) = delete;

  // The memory for this rank to write `bytes`; the file grows if it is too short. Throws LimitReached.
  [[nodiscard]] char* to_write(std::size_t bytes);
  // Memory of another rank, for reading up to `end`. Throws InvalidInput if its file is shorter, LimitReached if it
  // cannot be mapped.
  [[nodiscard]] const char* to_read(std::size_t end);

 private:
  void map(std::size_t size, int protection);
  void unmap() noexcept;

  File file_;
  char* at_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace recmigrate::exchange
