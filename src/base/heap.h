// What the C library keeps of memory that was given back to it.
#pragma once

#include <cstdint>

namespace carillon {

// For a process whose memory has a limit: large pieces go back to the system at once, however often
// they come, and few threads have a heap of their own. To be called before there are threads.
void KeepHeapSmall();

// To be told of memory that was given back. From time to time what is free goes to the system: then
// this takes some milliseconds. Thread-safe.
void TrimHeapAfter(int64_t bytes_given_back);

}  // namespace carillon
