#include "distributed/transport/ucx_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <initializer_list>
#include <utility>

namespace carillon {
namespace {

// UCX reads these when it is loaded. What the user has set stays.
void SetDefaults() {
  for (const auto& [name, value] : std::initializer_list<std::pair<const char*, const char*>>{
           {"UCX_LOG_LEVEL", "fatal"},              // what goes wrong is ours to say
           {"UCX_HANDLE_ERRORS", "none"},           // a crash of the program is not UCX's
           {"UCX_MEM_MMAP_HOOK_MODE", "none"},      // nothing of libc is to be patched
           {"UCX_MEM_MALLOC_HOOKS", "n"},           //
           {"UCX_MEM_MALLOC_RELOC", "n"},           //
           {"UCX_MEM_EVENTS", "n"},                 //
           {"UCX_MEM_DLOPEN_PROCESS_RPATH", "n"}})  //
    ::setenv(name, value, /*overwrite=*/0);
}

}  // namespace

StatusOr<UcxLibrary> LoadUcx() {
  // The thread-safe initialisation of a constant: all callers see the same answer.
  static const StatusOr<UcxLibrary> loaded = []() -> StatusOr<UcxLibrary> {
    SetDefaults();
    void* library = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
      return NotFound("UCX is not installed (Debian: apt install libucx0): ", ::dlerror());
    UcxLibrary ucx;
    const char* missing = nullptr;
    const auto find = [&](const char* name, auto* function) {
      *reinterpret_cast<void**>(function) = ::dlsym(library, name);
      if (*function == nullptr) missing = name;
    };
    find("ucp_config_read", &ucx.config_read);
    find("ucp_config_modify", &ucx.config_modify);
    find("ucp_config_release", &ucx.config_release);
    find("ucp_init_version", &ucx.init);
    find("ucp_cleanup", &ucx.cleanup);
    find("ucp_worker_create", &ucx.worker_create);
    find("ucp_worker_destroy", &ucx.worker_destroy);
    find("ucp_worker_get_address", &ucx.worker_get_address);
    find("ucp_worker_release_address", &ucx.worker_release_address);
    find("ucp_worker_get_efd", &ucx.worker_get_efd);
    find("ucp_worker_arm", &ucx.worker_arm);
    find("ucp_worker_signal", &ucx.worker_signal);
    find("ucp_worker_progress", &ucx.worker_progress);
    find("ucp_worker_set_am_recv_handler", &ucx.set_am_recv_handler);
    find("ucp_ep_create", &ucx.ep_create);
    find("ucp_ep_close_nbx", &ucx.ep_close);
    find("ucp_am_send_nbx", &ucx.am_send);
    find("ucp_am_recv_data_nbx", &ucx.am_recv_data);
    find("ucp_request_free", &ucx.request_free);
    find("ucp_request_check_status", &ucx.request_check_status);
    find("ucs_status_string", &ucx.status_string);
    if (missing != nullptr) return NotFound("the library of UCX lacks ", missing);
    return ucx;
  }();
  return loaded;
}

}  // namespace carillon
