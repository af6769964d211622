// A folder of a table's own within another: it goes with the table, or when the next one comes after a crash.
#pragma once

#include <string>

namespace recmigrate {

class ScratchFolder {
 public:
  // Makes `folder` if need be and a new one in it, and removes those there whose process has ended. Throws
  // StorageFailed.
  ScratchFolder(const std::string& folder, const std::string& owner);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const int process_;  // a copy of it that forked has no say
  std::string path_;
  int lock_ = -1;  // held while the folder is in use
};

}  // namespace recmigrate
