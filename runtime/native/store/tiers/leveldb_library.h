// The LevelDB library, loaded when a table needs it.
#pragma once

#include <cstddef>
#include <string>

extern "C" {
typedef struct leveldb_t leveldb_t;
typedef struct leveldb_cache_t leveldb_cache_t;
typedef struct leveldb_filterpolicy_t leveldb_filterpolicy_t;
typedef struct leveldb_options_t leveldb_options_t;
typedef struct leveldb_readoptions_t leveldb_readoptions_t;
typedef struct leveldb_writebatch_t leveldb_writebatch_t;
typedef struct leveldb_writeoptions_t leveldb_writeoptions_t;
}

namespace recmigrate {

// The functions of its C interface that are used, under their names.
struct LevelDb {
  leveldb_t* (*open)(const leveldb_options_t*, const char* name, char** error);
  void (*close)(leveldb_t*);
  void (*write)(leveldb_t*, const leveldb_writeoptions_t*, leveldb_writebatch_t*, char** error);
  char* (*get)(leveldb_t*, const leveldb_readoptions_t*, const char* key, std::size_t, std::size_t* bytes,
               char** error);
  void (*compact_range)(leveldb_t*, const char* first, std::size_t, const char* last, std::size_t);
  void (*free)(void*);
  leveldb_writebatch_t* (*writebatch_create)();
  void (*writebatch_destroy)(leveldb_writebatch_t*);
  void (*writebatch_put)(leveldb_writebatch_t*, const char* key, std::size_t, const char* value, std::size_t);
  void (*writebatch_delete)(leveldb_writebatch_t*, const char* key, std::size_t);
  leveldb_options_t* (*options_create)();
  void (*options_destroy)(leveldb_options_t*);
  void (*options_set_create_if_missing)(leveldb_options_t*, unsigned char);
  void (*options_set_compression)(leveldb_options_t*, int);
  void (*options_set_filter_policy)(leveldb_options_t*, leveldb_filterpolicy_t*);
  leveldb_filterpolicy_t* (*filterpolicy_create_bloom)(int bits);
  void (*filterpolicy_destroy)(leveldb_filterpolicy_t*);
  leveldb_readoptions_t* (*readoptions_create)();
  void (*readoptions_destroy)(leveldb_readoptions_t*);
  leveldb_writeoptions_t* (*writeoptions_create)();
  void (*writeoptions_destroy)(leveldb_writeoptions_t*);

  // The first of: the file in RECMIGRATE_LEVELDB, the system's library, `beside`, which may be a library that depends
  // on it. Throws InvalidInput that names `owner` and the package if there is none.
  [[nodiscard]] static const LevelDb& load(const std::string& owner, const std::string& beside);
};

}  // namespace recmigrate
