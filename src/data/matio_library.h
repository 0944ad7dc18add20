// libmatio, loaded when the first MATLAB file is read: it comes with some forty libraries (HDF5,
// curl, Kerberos, …) that no other program should have to load.
#pragma once

#include <matio.h>

#include "base/status.h"

namespace carillon {

// The functions that we use of it.
struct MatioLibrary {
  decltype(&::Mat_Open) open = nullptr;
  decltype(&::Mat_Close) close = nullptr;
  decltype(&::Mat_VarRead) read = nullptr;
  decltype(&::Mat_VarFree) free = nullptr;
  decltype(&::Mat_CreateVer) create = nullptr;
  decltype(&::Mat_VarCreate) make = nullptr;
  decltype(&::Mat_VarWrite) write = nullptr;
};

// NotFound says which package it is in. Thread-safe; the library stays loaded.
StatusOr<MatioLibrary> LoadMatio();

}  // namespace carillon
