// recmigrate_status: the data for `runtime.status()`, about every live table in the process, in whatever session.
#include <cstring>
#include <memory>
#include <string>

#include "ops/registry.h"
#include "store/parallel.h"

namespace recmigrate::ops {
namespace {

std::string status_text() {
  std::string text = std::to_string(parallel::thread_count());
  for (const std::shared_ptr<Table>& table : live_tables()) {
    text += "\n" + table->name() + "\t" + std::to_string(table->dim()) + "\t" + std::to_string(table->size()) + "\t" +
            std::to_string(table->bytes()) + "\t" + std::to_string(table->evicted());
  }
  return text;
}

}  // namespace
}  // namespace recmigrate::ops

// Writes a line with the number of threads and one `name<TAB>dim<TAB>rows<TAB>bytes<TAB>evicted` per table, ended by
// NUL, if they fit in `capacity` bytes. Returns the bytes needed, or 0 when memory is exhausted.
extern "C" __attribute__((visibility("default"))) std::size_t recmigrate_status(char* out, std::size_t capacity) {
  try {
    const std::string text = recmigrate::ops::status_text();
    if (text.size() < capacity) std::memcpy(out, text.c_str(), text.size() + 1);
    return text.size() + 1;
  } catch (...) {
    return 0;
  }
}
