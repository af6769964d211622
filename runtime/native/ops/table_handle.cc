// RecTableHandle: its kernel owns the table, so a table lives as long as the session that created it; with a server
// name the process owns it, and the kernels of all sessions that ask for the name give its handle. RecTableCreate: each
// run creates a table, which lives until RecTableDestroy; for eager mode, where kernels are shared.
// The attribute is not called `shared_name`: TensorFlow fills that in by itself where it loads a graph in eager mode.
#include <new>
#include <string>
#include <utility>

#include "ops/attributes.h"
#include "ops/kernel.h"
#include "ops/registry.h"
#include "ops/shapes.h"
#include "ops/threads.h"
#include "store/errors.h"

namespace recmigrate::ops {
namespace {

// What the Python code of this process is; set before it has any kernel.
std::string& release_here() {
  static auto* const text = new std::string;
  return *text;
}

// A table of this process is changed by ops that other processes put together: they must be of the same release.
void require_release(const std::string& server_name, const std::string& release) {
  const std::string& here = release_here();
  if (release == here || release.empty() || here.empty()) return;
  fail_invalid("the table '" + server_name + "' lies on a server with " + here + ", and this program has " + release +
               ": install the same version in all tasks");
}

// The configuration of a table.
struct Source {
  TableConfig config;
  std::string options;
  std::string instance;
  std::string server_name;  // empty: the kernel owns the table
  std::string release;      // of who asks for a table of the server

  [[nodiscard]] std::int64_t make() const {
    if (!server_name.empty()) {
      require_release(server_name, release);
      return shared_table(server_name, config, options, instance);
    }
    return register_table(std::make_shared<Table>(config), instance);
  }
};

// The output is made once: graphs of many small tables read it more often than anything else.
struct HandleKernel {
  explicit HandleKernel(const Source& source)
      : output(TF_AllocateTensor(TF_INT64, nullptr, 0, sizeof(std::int64_t))),
        handle(made(source, output)),
        owns(source.server_name.empty()) {}
  ~HandleKernel() {
    if (owns) unregister_table(handle);
  }
  HandleKernel(const HandleKernel&) = delete;
  HandleKernel& operator=(const HandleKernel&) = delete;

  static std::int64_t made(const Source& source, const TensorPtr& output) {
    if (output == nullptr) throw std::bad_alloc();
    return *writable<std::int64_t>(output) = source.make();
  }

  const TensorPtr output;
  const std::int64_t handle;
  const bool owns;
  SessionThreads threads;
};

struct CreateKernel {
  explicit CreateKernel(Source of) : source(std::move(of)) {}

  const Source source;
  SessionThreads threads;
};

Source source_of(TF_OpKernelConstruction* construction) {
  TableConfig config;
  config.name = string_attribute(construction, "table_name");
  config.dim = int_attribute(construction, "dim");
  config.seed = int_attribute(construction, "seed");
  config.initializer = string_attribute(construction, "initializer");
  config.reserve = int_attribute(construction, "reserve");
  const std::string options = string_attribute(construction, "options");
  config.parse_options(options);
  return {config, options, string_attribute(construction, "instance"), string_attribute(construction, "server_name"),
          string_attribute(construction, "release")};
}

// A kernel with a `State` that is created from the table's attributes.
template <typename State>
void* create(TF_OpKernelConstruction* construction) noexcept {
  try {
    return new State(source_of(construction));
  } catch (...) {
    TF_OpKernelConstruction_Failure(construction, current_failure().get());
    return nullptr;
  }
}

void give_handle(const HandleKernel& owner, TF_OpKernelContext* context) {
  checked([&](TF_Status* status) { TF_SetOutput(context, 0, owner.output.get(), status); });
}

void give_handle(const CreateKernel& kernel, TF_OpKernelContext* context) {
  const TensorPtr output = allocate_output(context, 0, TF_INT64, sizeof(std::int64_t), {});
  *writable<std::int64_t>(output) = kernel.source.make();
}

template <typename State>
void compute(void* kernel, TF_OpKernelContext* context) noexcept {
  guarded(context, [&] {
    auto& state = *static_cast<State*>(kernel);
    state.threads.follow(context);
    give_handle(state, context);
  });
}

template <typename State>
void destroy(void* kernel) noexcept {
  delete static_cast<State*>(kernel);
}

void forget_table(TF_OpKernelContext* context) { unregister_table(Input(context, 0, "handle").scalar<std::int64_t>()); }

template <typename State>
void register_source(const char* name) {
  register_op({name,
               {},
               {"handle: int64"},
               {"table_name: string", "dim: int", "seed: int = 0", "initializer: string", "reserve: int = 0",
                "options: string = ''", "instance: string = ''", "server_name: string = ''", "release: string = ''"},
               &scalar_shape},
              {&create<State>, &compute<State>, &destroy<State>});
}

}  // namespace

void register_handle_op() {
  register_source<HandleKernel>("RecTableHandle");
  register_source<CreateKernel>("RecTableCreate");
  register_op({"RecTableDestroy", {"handle: int64"}, {}, {}, &no_shape}, stateless<&forget_table>());
}

}  // namespace recmigrate::ops

extern "C" __attribute__((visibility("default"))) void recmigrate_set_release(const char* text) {
  recmigrate::ops::release_here() = text;
}
