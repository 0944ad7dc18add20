#include "data/matio_library.h"

#include <dlfcn.h>

namespace carillon {
namespace {

template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(::dlsym(library, name));
  return *function != nullptr;
}

}  // namespace

StatusOr<MatioLibrary> LoadMatio() {
  // The version that matio.h belongs to; dlopen itself counts and returns the same handle each
  // time.
  void* library = ::dlopen("libmatio.so.11", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return NotFound("MATLAB files need libmatio (Debian: apt install libmatio11): ", ::dlerror());
  }
  MatioLibrary matio;
  const bool complete =
      Find(library, "Mat_Open", &matio.open) && Find(library, "Mat_Close", &matio.close) &&
      Find(library, "Mat_VarRead", &matio.read) && Find(library, "Mat_VarFree", &matio.free) &&
      Find(library, "Mat_CreateVer", &matio.create) &&
      Find(library, "Mat_VarCreate", &matio.make) && Find(library, "Mat_VarWrite", &matio.write);
  if (!complete) return NotFound("libmatio lacks a function: ", ::dlerror());
  return matio;
}

}  // namespace carillon
