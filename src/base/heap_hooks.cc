// operator new and delete of the program, which count for WorkScope. The linker takes this file
// from the archive only where nobody else defines them; the other forms of the standard library
// call these two. Sanitizers bring their own.
#include <cstdlib>
#include <malloc.h>
#include <new>

#include "base/work_scope.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* operator new(std::size_t bytes) {
  for (;;) {
    if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) [[likely]] {
      try {
        carillon::CountTaken(malloc_usable_size(memory));
      } catch (...) {
        std::free(memory);
        throw;
      }
      return memory;
    }
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) return;
  carillon::CountFreed(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

#endif
