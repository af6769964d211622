#include "store/tiers/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>
#include <system_error>

#include "store/tiers/scratch_file.h"

namespace recmigrate {
namespace {

constexpr char kPrefix[] = "recmigrate-";
constexpr char kLock[] = ".lock";

bool starts_with(const std::string& text, const std::string& with) { return text.compare(0, with.size(), with) == 0; }
bool ends_with(const std::string& text, const std::string& with) {
  return text.size() >= with.size() && text.compare(text.size() - with.size(), with.size(), with) == 0;
}

// A lock file that this call created or found, locked and still existing; -1 with errno set, EWOULDBLOCK if another
// process has locked it.
int hold(const std::string& lock, int flags) noexcept {
  const int file = open(lock.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (file < 0) return -1;
  int error = 0;
  struct stat known{};
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    error = errno;
  } else if (fstat(file, &known) != 0 || known.st_nlink == 0) {
    error = EWOULDBLOCK;
  }
  if (error == 0) return file;
  close(file);
  errno = error;
  return -1;
}

// The lock is removed last, and kept while something of the directory remains, so that the next process tries again.
void remove_both(const std::string& path, int lock) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  struct stat left{};
  if (lstat(path.c_str(), &left) != 0) unlink((path + kLock).c_str());
  close(lock);
}

// Whether it has the form of the directories' names here, `recmigrate-PID-NUMBER`.
bool is_folder_of_process(const std::string& path, const std::string& name) noexcept {
  struct stat known{};
  const std::string numbers = name.substr(sizeof kPrefix - 1);
  return numbers.find('-') != std::string::npos && numbers.find_first_not_of("0123456789-") == std::string::npos &&
         lstat(path.c_str(), &known) == 0 && S_ISDIR(known.st_mode);
}

// Removes what ended processes left.
void remove_abandoned(const std::string& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (!starts_with(name, kPrefix)) continue;
    const std::string whole = at->path().string();
    const std::string path = ends_with(name, kLock) ? whole.substr(0, whole.size() - (sizeof kLock - 1)) : whole;
    // A directory has its lock before it is created, and until it is removed: one without a lock is left by a removal.
    if (path == whole && !is_folder_of_process(path, name)) continue;
    const int lock = hold(path + kLock, path == whole ? O_CREAT | O_EXCL : 0);
    if (lock >= 0) remove_both(path, lock);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& folder, const std::string& owner) : process_(getpid()) {
  make_folders(folder, owner);
  remove_abandoned(folder);
  std::random_device random;
  // Another process may lock it as abandoned, and remove it, before it is locked here.
  for (int attempt = 0; attempt < 100 && lock_ < 0; ++attempt) {
    path_ = folder + "/" + kPrefix + std::to_string(getpid()) + "-" + std::to_string(random());
    lock_ = hold(path_ + kLock, O_CREAT | O_EXCL);
    if (lock_ < 0 && errno != EEXIST && errno != EWOULDBLOCK) break;
  }
  if (lock_ < 0) fail_storage(owner, "cannot make a file in its folder", folder, errno);
  if (mkdir(path_.c_str(), 0700) == 0) return;
  const int error = errno;
  remove_both(path_, lock_);
  fail_storage(owner, "cannot make a folder in its folder", folder, error);
}

ScratchFolder::~ScratchFolder() { process_ == getpid() ? remove_both(path_, lock_) : static_cast<void>(close(lock_)); }

}  // namespace recmigrate
