#include "store/tiers/leveldb_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <type_traits>

#include "store/errors.h"

namespace recmigrate {
namespace {

// The library stays loaded: it has threads.
std::unique_ptr<LevelDb> functions_of(const char* file) {
  void* const library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto result = std::make_unique<LevelDb>();
  bool whole = true;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    whole = whole && function != nullptr;
  };
  find(result->open, "leveldb_open");
  find(result->close, "leveldb_close");
  find(result->write, "leveldb_write");
  find(result->get, "leveldb_get");
  find(result->compact_range, "leveldb_compact_range");
  find(result->free, "leveldb_free");
  find(result->writebatch_create, "leveldb_writebatch_create");
  find(result->writebatch_destroy, "leveldb_writebatch_destroy");
  find(result->writebatch_put, "leveldb_writebatch_put");
  find(result->writebatch_delete, "leveldb_writebatch_delete");
  find(result->options_create, "leveldb_options_create");
  find(result->options_destroy, "leveldb_options_destroy");
  find(result->options_set_create_if_missing, "leveldb_options_set_create_if_missing");
  find(result->options_set_compression, "leveldb_options_set_compression");
  find(result->options_set_filter_policy, "leveldb_options_set_filter_policy");
  find(result->filterpolicy_create_bloom, "leveldb_filterpolicy_create_bloom");
  find(result->filterpolicy_destroy, "leveldb_filterpolicy_destroy");
  find(result->readoptions_create, "leveldb_readoptions_create");
  find(result->readoptions_destroy, "leveldb_readoptions_destroy");
  find(result->writeoptions_create, "leveldb_writeoptions_create");
  find(result->writeoptions_destroy, "leveldb_writeoptions_destroy");
  return whole ? std::move(result) : nullptr;
}

}  // namespace

const LevelDb& LevelDb::load(const std::string& owner, const std::string& beside) {
  static std::mutex mutex;
  static std::unique_ptr<LevelDb> loaded;
  const std::lock_guard<std::mutex> lock(mutex);
  const char* const chosen = std::getenv("RECMIGRATE_LEVELDB");
  for (const char* const file : {chosen, "libleveldb.so.1", "libleveldb.so", beside.c_str()}) {
    if (!loaded && file != nullptr && *file != '\0') loaded = functions_of(file);
  }
  if (!loaded) {
    fail_invalid(owner +
                 " is to keep rows in LevelDB, which is not installed; `pip install plyvel` brings it, or name its "
                 "library in RECMIGRATE_LEVELDB");
  }
  return *loaded;
}

}  // namespace recmigrate
