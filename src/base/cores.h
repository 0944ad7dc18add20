// How many threads this process should compute with.
#pragma once

namespace carillon {

// $CARILLON_THREADS if that is a number from 1 to 1024, else the cores that the process may run on.
int AvailableCores();

}  // namespace carillon
