// A table's own directory within another one: removed with the table, or by the next table after a crash.
#pragma once

#include <string>

namespace recmigrate {

class ScratchFolder {
 public:
  // Creates `folder` if needed, and a new directory in it, and removes those of ended processes. Throws StorageFailed.
  ScratchFolder(const std::string& folder, const std::string& owner);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const int process_;  // a forked copy must not remove it
  std::string path_;
  int lock_ = -1;  // held while the folder is in use
};

}  // namespace recmigrate
